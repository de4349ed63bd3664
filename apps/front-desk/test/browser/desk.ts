import { expect, type Page } from '@playwright/test';
import { origin, type TestService } from '../../../../test/browser/clinic.ts';
import { book, proposed, succeeded } from '../../../../test/contract/fixtures.ts';
import { request } from '../../../../test/contract/http.ts';

/** Somebody who can sign in. */
interface Person {
  readonly email: string;
  readonly password: string;
}

/**
 * Two people of the clinic. For another installation set DESK_PEOPLE, `email:password` of both, separated by a comma;
 * they are signed in past the page of Medplum's app, which need not run.
 */
const others = process.env.DESK_PEOPLE?.split(',').map((one): Person => {
  const [email = '', password = ''] = one.split(':');
  return { email, password };
});

const [first, second] = others ?? [
  { email: 'maria@clinic.example', password: 'front-desk' },
  { email: 'jan@clinic.example', password: 'front-desk' },
];
if (!first || !second) {
  throw new Error('DESK_PEOPLE must name two people.');
}
export const [maria, jan] = [first, second];

// A request that follows a redirect is not asked: the one before is.
const signInPage = ({ pathname }: URL): boolean => pathname === '/oauth2/authorize';

/** Does what the sign-in page of Medplum's app does: a login by `auth/login`, and back to the client with its code. */
async function answerForApp(page: Page, { email, password }: Person): Promise<void> {
  await page.route(signInPage, async (route) => {
    const { searchParams: asked } = new URL(route.request().url());
    const response = await fetch(new URL('auth/login', process.env.MEDPLUM_BASE_URL), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        email,
        password,
        clientId: asked.get('client_id'),
        scope: asked.get('scope'),
        codeChallenge: asked.get('code_challenge'),
        codeChallengeMethod: asked.get('code_challenge_method'),
      }),
    });
    const { code } = (await response.json()) as { code?: string };
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code: code ?? '', state: asked.get('state') ?? '' }).toString();
    await route.fulfill({ status: 302, headers: { location: back.href } });
  });
}

/** The day of a moment in the clinic, as addresses name it. */
export const dayOf = (time: number): string =>
  new Date(time).toLocaleDateString('sv-SE', { timeZone: 'Europe/Berlin' });

/** The address of a service's calendar on the day of its first time. */
export function calendarOf({ schedule, slots }: TestService, more = ''): string {
  const day = dayOf(Date.parse(slots[0]?.start ?? ''));
  return `${origin}/front-desk/calendar?date=${day}&calendars=${schedule.id}${more}`;
}

/** Signs somebody in on the page that Medplum shows. */
export async function signInThere(page: Page, person = maria): Promise<void> {
  if (others) {
    await answerForApp(page, person);
  }
  await page.getByRole('button', { name: /Sign in with Medplum|Mit Medplum anmelden/ }).click();
  if (!others) {
    await page.getByLabel('E-mail').fill(person.email);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
}

/** Opens a page of the front desk, signed in. */
export async function visitDesk(page: Page, address: string, person = maria): Promise<void> {
  await page.goto(address);
  await signInThere(page, person);
  await expect(page.getByRole('button', { name: /Sign out|Abmelden/ })).toBeVisible();
  // A page whose requests are looked at loses those that it sends as it is left.
  await page.unroute(signInPage);
}

/** Does not take back what was done last: it is written at once. */
export const settle = (page: Page) => page.locator('.announcer').getByRole('button', { name: 'Close' }).click();

/** The name of who is signed in, as the page shows it. */
export async function signedInName(page: Page): Promise<string> {
  const name = (await page.locator('header .person span').first().textContent()) ?? '';
  expect(name).toMatch(/\w+ \w+/);
  return name;
}

/** What a portal books for a new patient of its own. */
export async function bookedBy(
  role: 'portal-a' | 'portal-b',
  { slots, schedule }: TestService,
  index: number,
  family: string,
) {
  const made = await request(role, 'POST', '/Patient', {
    body: { resourceType: 'Patient', name: [{ family, given: ['Kim'] }], birthDate: '1990-05-17' },
  });
  const slot = slots[index];
  if (!slot) {
    throw new Error(`There is no slot ${index}.`);
  }
  const patient = succeeded('Patient', made);
  const wanted = { ...proposed(patient, [slot]), start: slot.start, end: slot.end, serviceType: schedule.serviceType };
  return succeeded('Appointment', await book(wanted, role));
}
