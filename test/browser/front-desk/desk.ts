import { expect, type Page } from '@playwright/test';
import { book, proposed, succeeded } from '../../contract/fixtures.ts';
import { request } from '../../contract/http.ts';
import { origin, type TestService } from '../clinic.ts';

/** The people of the demo clinic. */
export const maria = { email: 'maria@clinic.example', password: 'front-desk' };
export const jan = { email: 'jan@clinic.example', password: 'front-desk' };

/** The day of a moment in the clinic, as addresses name it. */
export const dayOf = (time: number): string =>
  new Date(time).toLocaleDateString('sv-SE', { timeZone: 'Europe/Berlin' });

/** The address of a service's calendar on the day of its first time. */
export function calendarOf({ schedule, slots }: TestService, more = ''): string {
  const day = dayOf(Date.parse(slots[0]?.start ?? ''));
  return `${origin}/front-desk/calendar?date=${day}&calendars=${schedule.id}${more}`;
}

/** Signs somebody in on the page that Medplum shows. */
export async function signInThere(page: Page, { email, password } = maria): Promise<void> {
  await page.getByRole('button', { name: /Sign in with Medplum|Mit Medplum anmelden/ }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens a page of the front desk, signed in. */
export async function visitDesk(page: Page, address: string, person = maria): Promise<void> {
  await page.goto(address);
  await signInThere(page, person);
  await expect(page.getByRole('button', { name: /Sign out|Abmelden/ })).toBeVisible();
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
