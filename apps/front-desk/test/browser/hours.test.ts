import type { HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { expect, test } from '@playwright/test';
import { serviceTypeOf } from '../../../../core/fhir/reference.ts';
import { changeService } from '../../../../core/fhir/scheduling/change-hours.ts';
import { localTimeOf } from '../../../../core/time/time-zone.ts';
import { parseHours } from '../../../../scripts/calendar/hours-text.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { origin, zone } from '../../../../test/browser/clinic.ts';
import { aSchedule, book, proposed, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum, request } from '../../../../test/contract/http.ts';
import { MINUTE_LIMIT } from '../../../../test/lib/time-scale.ts';
import { visitDesk } from './desk.ts';

/** A service that is open on Monday mornings, and the calendar that offers it. */
async function aMonday(): Promise<{ readonly service: HealthcareService; readonly schedule: Schedule }> {
  const empty: HealthcareService = { resourceType: 'HealthcareService', active: true, name: `Monday ${Date.now()}` };
  const hours = { hours: parseHours('mon 09:00-12:00'), duration: 60, timeZone: 'Europe/Berlin' };
  const body = changeService(empty, hours);
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  const actor = succeeded(
    'Practitioner',
    await medplum('front-desk', 'POST', '/Practitioner', {
      body: { resourceType: 'Practitioner', name: [{ family: 'Montag' }] },
    }),
  );
  const schedule = await aSchedule({
    serviceType: serviceTypeOf({ ...service, id: service.id ?? '' }),
    actor: [{ reference: `Practitioner/${actor.id}`, display: 'Dr. Montag' }],
  });
  return { service, schedule };
}

const freeOf = ({ id }: Schedule) => stored('Slot', `schedule=Schedule/${id}&status=free&_sort=start`);

/** The free times of a calendar that begin at nine o'clock at the clinic, the first one first. */
const freeAtNine = async (schedule: Schedule): Promise<Slot[]> =>
  (await freeOf(schedule)).filter(({ start }) => new Date(localTimeOf(zone, Date.parse(start))).getUTCHours() === 9);

const isFreeAtNine = async (schedule: Schedule): Promise<boolean> => (await freeAtNine(schedule)).length > 0;

test('staff see what other hours would change, which bookings would lie outside, and save them', async ({ page }) => {
  test.slow();
  const { service, schedule } = await aMonday();
  await expect.poll(async () => (await freeOf(schedule)).length, { timeout: MINUTE_LIMIT }).toBeGreaterThan(20);
  const [first] = await freeAtNine(schedule);
  if (!first) {
    throw new Error('Nothing was published.');
  }
  const made = await request('portal-a', 'POST', '/Patient', {
    body: { resourceType: 'Patient', name: [{ family: 'Montag', given: ['Kim'] }] },
  });
  const wanted = proposed(succeeded('Patient', made), [first]);
  succeeded('Appointment', await book({ ...wanted, start: first.start, end: first.end, serviceType: undefined }));

  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await expect(page.getByLabel('From')).toHaveValue('09:00');
  await expectAccessible(page);
  await page.getByLabel('From').fill('10:00');
  await page.getByLabel('To').fill('13:00');
  await page.getByRole('button', { name: 'Show what that would change' }).click();
  const preview = page.getByRole('status', { name: 'What would change' });
  await expect(preview).toContainText(/\d+ free times would be added, \d+ removed/);
  await expect(preview).toContainText('1 booking would be outside these hours');
  await expectAccessible(page);
  expect(await isFreeAtNine(schedule)).toBe(true);

  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByText('Saved. The free times follow within seconds.')).toBeVisible();
  await expect.poll(() => isFreeAtNine(schedule), { timeout: MINUTE_LIMIT }).toBe(false);
  const [kept] = await stored('Appointment', `slot=Slot/${first.id}`);
  expect(kept?.status).toBe('booked');
});

test('hours that a colleague has changed meanwhile are not overwritten, and what was typed stays', async ({ page }) => {
  const { service } = await aMonday();
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  const saved = await page.getByLabel('To').inputValue();
  await page.getByLabel('To').fill('11:30');
  // What comes back after a reload is not taken for what is stored.
  await page.reload();
  await expect(page.getByText('What you have typed is not saved yet.')).toBeVisible();
  await page.getByRole('button', { name: 'Discard it' }).click();
  await expect(page.getByLabel('To')).toHaveValue(saved);
  await page.getByLabel('To').fill('11:00');
  const [before] = await stored('HealthcareService', `_id=${service.id}`);
  const body = { ...before, comment: 'Second floor' };
  expect((await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body })).status).toBe(200);
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByRole('alert')).toContainText('Someone else was faster');
  await page.getByRole('button', { name: 'Load again' }).click();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(page.getByLabel('To')).toHaveValue('11:00');
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByText('Saved. The free times follow within seconds.')).toBeVisible();
  const [after] = await stored('HealthcareService', `_id=${service.id}`);
  expect(after).toMatchObject({ comment: 'Second floor', availableTime: [{ availableEndTime: '11:00:00' }] });
});

test('staff close days of the whole clinic, and open them again', async ({ page }) => {
  await visitDesk(page, `${origin}/front-desk/hours?of=closed-days`);
  await page.getByLabel('First day').fill('2027-12-24');
  await page.getByLabel('Last day').fill('2027-12-23');
  await page.getByRole('button', { name: 'Close these days' }).click();
  await expect(page.getByRole('alert')).toContainText('a last day that is not before it');
  await page.getByLabel('Last day').fill('2027-12-26');
  await page.getByLabel('Reason').fill('Christmas');
  await page.getByRole('button', { name: 'Close these days' }).click();
  await expect(page.getByText('24 Dec 2027–26 Dec 2027: Christmas')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Open again: 24 Dec 2027' }).click();
  await expect(page.getByText(': Christmas')).toHaveCount(0);
});

test('one calendar gets hours of its own, and an end, and follows its service again', async ({ page }) => {
  test.slow();
  const { schedule } = await aMonday();
  await expect.poll(async () => (await freeOf(schedule)).length, { timeout: MINUTE_LIMIT }).toBeGreaterThan(20);
  await visitDesk(page, `${origin}/front-desk/hours?of=${schedule.id}`);
  await expect(page.getByLabel('Hours of', { exact: true })).toHaveValue(schedule.id ?? '');
  await expect(page.getByLabel('From')).toHaveCount(0);
  await page.getByLabel('Hours of its own').check();
  await expect(page.getByLabel('From')).toHaveValue('09:00');
  await page.getByLabel(/^To\b/).fill('11:00');
  const last = new Date(Date.now() + 14 * 86_400_000).toISOString().slice(0, 10);
  await page.getByLabel('Published until').fill(last);
  await page.getByRole('button', { name: 'Show what that would change' }).click();
  await expect(page.getByRole('status', { name: 'What would change' })).toContainText(
    /0 free times would be added, \d+ removed/,
  );
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByText('Saved. The free times follow within seconds.')).toBeVisible();
  await expect.poll(async () => (await freeOf(schedule)).length, { timeout: MINUTE_LIMIT }).toBeLessThan(7);
  const free = await freeOf(schedule);
  expect(free.every(({ start }) => start.slice(0, 10) <= last)).toBe(true);

  await page.reload();
  await expect(page.getByLabel('Published until')).toHaveValue(last);
  await page.getByLabel('Hours of its own').uncheck();
  await page.getByLabel('Published until').fill('');
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByText('Saved. The free times follow within seconds.')).toBeVisible();
  await expect.poll(async () => (await freeOf(schedule)).length, { timeout: MINUTE_LIMIT }).toBeGreaterThan(20);
  const [after] = await stored('Schedule', `_id=${schedule.id}`);
  expect([after?.extension, after?.planningHorizon]).toEqual([undefined, undefined]);
});

test('what a colleague has changed in another field meanwhile stays as the colleague has it', async ({ page }) => {
  const { service } = await aMonday();
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await page.getByLabel(/^To\b/).fill('11:00');
  const [before] = await stored('HealthcareService', `_id=${service.id}`);
  const body = changeService(before ?? service, { bufferAfter: 15 });
  expect((await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body })).status).toBe(200);
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await page.getByRole('alert').getByRole('button', { name: 'Load again' }).click();
  await expect(page.getByLabel('Free minutes after')).toHaveValue('15');
  await expect(page.getByLabel(/^To\b/)).toHaveValue('11:00');
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByText('Saved. The free times follow within seconds.')).toBeVisible();
  const [after] = await stored('HealthcareService', `_id=${service.id}`);
  expect(JSON.stringify(after)).toContain('"value":15');
});

test('staff find the public holidays of a state, leave one out, see what closing them changes, and close them', async ({
  page,
}) => {
  test.slow();
  await visitDesk(page, `${origin}/front-desk/hours?of=closed-days`);
  await page.getByLabel('Country').selectOption({ label: 'Germany' });
  await page.getByLabel('State').selectOption({ label: 'Bayern' });
  await page.getByLabel('Year').fill('2028');
  await page.getByRole('button', { name: 'Find the holidays' }).click();
  await expect(page.getByText(/^1\d holidays found/)).toBeVisible();
  await page.getByRole('button', { name: 'Leave out: 6 Jan 2028' }).click();
  await expect(page.getByText('Heilige Drei Könige')).toHaveCount(0);
  await expectAccessible(page);
  await page.reload();
  await expect(page.getByText('Tag der Deutschen Einheit')).toBeVisible();
  await page.getByRole('button', { name: 'Show what that would change' }).click();
  await expect(page.getByRole('status', { name: 'What would change' })).toBeVisible();
  await page.getByRole('button', { name: 'Close these days' }).click();
  await expect(page.getByText('3 Oct 2028: Tag der Deutschen Einheit')).toBeVisible();
  await expect(page.getByText(/holidays found/)).toHaveCount(0);
  const [list] = await stored('HealthcareService', 'name=Closed%20days');
  const days = list?.notAvailable?.map(({ during }) => during?.start) ?? [];
  expect([days.includes('2028-10-03'), days.includes('2028-01-06')]).toEqual([true, false]);
  const { notAvailable: _, ...reopened } = list ?? { notAvailable: [] };
  expect((await medplum('front-desk', 'PUT', `/HealthcareService/${list?.id}`, { body: reopened })).status).toBe(200);
});

test('staff make a secret link to a calendar, which is shown once, and end it', async ({ page }) => {
  const { schedule } = await aMonday();
  await visitDesk(page, `${origin}/front-desk/hours?of=${schedule.id}`);
  await page.getByRole('button', { name: 'Make a link' }).click();
  const link = page.getByLabel('Secret link');
  await expect(link).toHaveValue(/\/portal\/calendar\/.*\.ics$/);
  await expectAccessible(page);
  const address = await link.inputValue();
  expect((await page.request.get(address)).status()).toBe(200);
  await page.reload();
  await expect(page.getByText('There is a link.')).toBeVisible();
  await expect(link).toHaveCount(0);
  await page.getByRole('button', { name: 'End the link' }).click();
  await expect(page.getByText('There is no link.')).toBeVisible();
  expect((await page.request.get(address)).status()).toBe(404);
});
