import type { Browser, BrowserContext, Page } from '@playwright/test';
import { demoStaff } from '../../start/staff.ts';
import { loadBy, notesOf, person, takeNotes } from './browser.ts';
import type { Week } from './calendars.ts';
import type { Sample } from './report.ts';

/** The entries, which the calendar exists to show. */
export const ENTRY = '.grid [data-entry]';

/** How long anything may take, in milliseconds; what takes longer is broken, not slow. */
export const PATIENCE = 60_000;

/** What a browser stores for a person who has signed in. */
export type SignedIn = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Signs in a member of the demo clinic's staff. */
export async function signIn(browser: Browser, origin: string): Promise<SignedIn> {
  const [someone] = demoStaff;
  const context = await browser.newContext(person);
  const page = await context.newPage();
  await page.goto(`${origin}/front-desk/calendar`);
  await page.getByRole('button', { name: 'Sign in with Medplum' }).click();
  await page.getByLabel('E-mail').fill(someone?.email ?? '');
  await page.getByLabel('Password').fill(someone?.password ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** How long it takes until a click on an entry has opened its panel, in milliseconds. */
async function answerTo(page: Page): Promise<number> {
  return page.evaluate(
    ([entry, limit]) =>
      new Promise<number>((resolve, reject) => {
        const start = performance.now();
        const look = (): void => {
          if (document.querySelector('[role=dialog]')) {
            resolve(performance.now() - start);
          } else if (performance.now() - start > limit) {
            reject(new Error('A click on an entry opens nothing.'));
          } else {
            requestAnimationFrame(look);
          }
        };
        document.querySelector<HTMLElement>(entry)?.click();
        requestAnimationFrame(look);
      }),
    [ENTRY, PATIENCE] as const,
  );
}

async function measureLoad(browser: Browser, name: string, address: string, state: SignedIn): Promise<Sample[]> {
  const context = await browser.newContext({ ...person, storageState: state });
  await takeNotes(context, ENTRY);
  const samples: Sample[] = [];
  for (const cache of ['first visit', 'again'] as const) {
    const page = await context.newPage();
    const { bytes, firstPaint, longestTask } = await loadBy(page, async () => {
      await page.goto(address);
      await page.waitForFunction(() => (window as unknown as { notes: { shown?: number } }).notes.shown, undefined, {
        timeout: PATIENCE,
      });
    });
    const { shown = Number.NaN } = await notesOf(page);
    const of = `${name}, ${cache}`;
    samples.push(
      { page: of, measure: 'transferred', value: bytes / 1_000 },
      { page: of, measure: 'first paint', value: firstPaint },
      { page: of, measure: 'interactive', value: shown },
      { page: of, measure: 'longest task', value: longestTask },
      { page: of, measure: 'a click is answered', value: await answerTo(page) },
    );
    await page.close();
  }
  await context.close();
  return samples;
}

/** A working day, with the calendars that are shown by default. */
export const measureDay = (browser: Browser, origin: string, state: SignedIn, { monday }: Week): Promise<Sample[]> =>
  measureLoad(browser, 'front desk, day', `${origin}/front-desk/calendar?date=${monday}`, state);

/** The address of a week of many calendars. */
export const weekAddress = (origin: string, { monday, schedules }: Week): string =>
  `${origin}/front-desk/calendar?date=${monday}&span=week&calendars=${schedules.join(',')}`;

/** A week of many calendars. */
export const measureWeek = (browser: Browser, origin: string, state: SignedIn, week: Week): Promise<Sample[]> =>
  measureLoad(browser, `front desk, ${week.schedules.length} calendars × a week`, weekAddress(origin, week), state);
