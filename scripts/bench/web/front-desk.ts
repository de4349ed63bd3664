import type { Browser, BrowserContext, Page } from '@playwright/test';
import { demoStaff } from '../../start/staff.ts';
import { quantile } from '../measure.ts';
import { loadBy, notesOf, person, takeNotes } from './browser.ts';
import type { Week } from './calendars.ts';
import type { Sample } from './report.ts';

/** What the calendar is there for. */
const ENTRY = '.grid [data-entry]';

/** How long anything may take, in milliseconds; what takes longer is broken, not slow. */
const PATIENCE = 60_000;

/** What a browser keeps of a person who has signed in. */
export type SignedIn = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Signs somebody of the demo clinic in. */
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

/** Until a click on an entry is answered by its panel, in milliseconds. */
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

/** A working day, with the calendars that are shown where nobody has chosen any. */
export const measureDay = (browser: Browser, origin: string, state: SignedIn, { monday }: Week): Promise<Sample[]> =>
  measureLoad(browser, 'front desk, day', `${origin}/front-desk/calendar?date=${monday}`, state);

const weekAddress = (origin: string, { monday, schedules }: Week): string =>
  `${origin}/front-desk/calendar?date=${monday}&span=week&calendars=${schedules.join(',')}`;

/** A week of many calendars. */
export const measureWeek = (browser: Browser, origin: string, state: SignedIn, week: Week): Promise<Sample[]> =>
  measureLoad(browser, `front desk, ${week.schedules.length} calendars × a week`, weekAddress(origin, week), state);

/** How fast a person scrolls, in pixels of a second. */
const SPEED = 3_000;

interface Scrolled {
  readonly frames: readonly number[];
  readonly tasks: readonly number[];
  /** Processor time of the page, in milliseconds of a second of scrolling: other programs hardly change it. */
  readonly busy: number;
}

/** Scrolls the calendars by the wheel from one end to the other, and notes each frame. */
async function scrollAcross(page: Page): Promise<Scrolled> {
  const box = await page.locator('.grid').boundingBox();
  if (!box) {
    throw new Error('There are no calendars to scroll.');
  }
  const room = await page.locator('.grid').evaluate((grid) => grid.scrollWidth - grid.clientWidth);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const used = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const before = await used();
  await page.evaluate(() => {
    const frames: number[] = [];
    let last = performance.now();
    const step = (now: number): void => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    Object.assign(window, { frames, from: last });
  });
  await devtools.send('Input.synthesizeScrollGesture', {
    x: box.x + box.width / 2,
    y: box.y + Math.min(box.height, 300) / 2,
    xDistance: -(room + 100),
    speed: SPEED,
    gestureSourceType: 'mouse',
  });
  const busy = ((await used()) - before) * SPEED;
  const result = await page.evaluate(() => {
    const { frames, from, notes } = window as unknown as {
      frames: number[];
      from: number;
      notes: { tasks: { start: number; length: number }[] };
    };
    const grid = document.querySelector('.grid');
    return {
      frames: frames.slice(1),
      tasks: notes.tasks.filter(({ start }) => start >= from).map(({ length }) => length),
      left: grid ? grid.scrollWidth - grid.clientWidth - grid.scrollLeft : Number.NaN,
    };
  });
  await devtools.detach();
  if (!(room > 1_000) || !(result.left < 2)) {
    throw new Error(`The calendars were not scrolled to their end: ${result.left} of ${room} pixels are left.`);
  }
  return { ...result, busy: (busy / room) * 1_000 };
}

/** A frame that took longer than two of a screen with 60 of them a second was seen as a jerk. */
const JERK = 1_000 / 30 + 1;

/** Scrolling through a week of many calendars. */
export async function measureScrolling(
  browser: Browser,
  origin: string,
  state: SignedIn,
  week: Week,
): Promise<Sample[]> {
  const context = await browser.newContext({ ...person, storageState: state });
  await takeNotes(context, ENTRY);
  const page = await context.newPage();
  await page.goto(weekAddress(origin, week));
  await page.locator(ENTRY).first().waitFor({ timeout: PATIENCE });
  await page.waitForLoadState('networkidle');
  const { frames, tasks, busy } = await scrollAcross(page);
  await context.close();
  const of = `front desk, ${week.schedules.length} calendars × a week, scrolling`;
  return [
    { page: of, measure: 'frame', value: quantile(frames, 0.5) },
    { page: of, measure: 'frame, 95 %', value: quantile(frames, 0.95) },
    { page: of, measure: 'longest frame', value: Math.max(...frames) },
    { page: of, measure: 'jerks', value: (frames.filter((length) => length > JERK).length / frames.length) * 100 },
    { page: of, measure: 'longest task', value: Math.max(0, ...tasks) },
    { page: of, measure: 'processor', value: busy },
  ];
}
