import { expect, type Page, test } from '@playwright/test';
import { expectAccessible, expectFits, smallest } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { subscribed, unsubscribeAll } from '../../../../test/contract/notifications/fixtures.ts';
import { type Listener, listen } from '../../../../test/contract/notifications/listener.ts';
import { MINUTE_LIMIT } from '../../../../test/lib/time-scale.ts';
import { bookedBy, calendarOf, jan, settle, visitDesk } from './desk.ts';

let listener: Listener;

// A portal that is told of offers.
test.beforeAll(async () => {
  listener = await listen();
  await subscribed(listener, { topic: 'appointment-offer' });
});

test.afterAll(async () => {
  await unsubscribeAll();
  await listener.close();
});

const card = (page: Page, doctor: string) => page.getByRole('region', { name: doctor }).filter({ visible: true });

/** A doctor with two appointments and a colleague who is free at the first of their times. */
async function aDoctorWhoIsIll(doctor: string) {
  const own = await aService({ starts: halfHours(morning(6), 2), doctor });
  const testService = await aService({
    starts: halfHours(morning(6), 1),
    doctor: `${doctor} Vertretung`,
    like: own.schedule,
  });
  await bookedBy('portal-a', own, 0, 'Gleich');
  await bookedBy('portal-a', own, 1, 'Später');
  return { own, other: testService };
}

test('an absence is blocked, planned and confirmed in three clicks, followed after a reload, and ended early', async ({
  page,
}) => {
  test.slow();
  const doctor = `Dr. Krank ${Date.now()}`;
  const { own } = await aDoctorWhoIsIll(doctor);
  await visitDesk(page, calendarOf(own));
  await page.getByRole('link', { name: 'Somebody is absent' }).click();
  const form = page.getByRole('form', { name: 'Somebody is absent' });
  await expect(form.getByRole('checkbox', { name: doctor, exact: true })).toBeChecked();
  await form.getByText('Who may step in (0)').click();
  await form
    .getByRole('group', { name: 'Calendars that offer the same' })
    .getByRole('checkbox', { name: `${doctor} Vertretung` })
    .check();
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Block and plan' }).click();

  const shown = card(page, doctor);
  await expect(shown.getByRole('heading', { name: doctor })).toBeFocused();
  await expect(shown).toContainText('2 appointments cannot take place');
  const same = shown.getByRole('listitem').filter({ hasText: 'Kim Gleich' });
  await expect(same).toContainText(`same time, ${doctor} Vertretung`);
  await expect(same).toContainText('told by the portal');
  await expect(shown.getByRole('listitem').filter({ hasText: 'Kim Später' })).toContainText('somebody calls');
  await expectAccessible(page);
  await shown.getByLabel('If nobody answers').selectOption('move');
  await shown.getByRole('button', { name: 'Confirm the plan' }).click();
  await expect(shown.getByRole('status')).toHaveText('1 waiting · 0 moved · 0 declined · 1 to call');
  await expect(same).toContainText('asked, no answer yet');
  await expectAccessible(page);

  await page.reload();
  await expect(shown.getByRole('status')).toHaveText('1 waiting · 0 moved · 0 declined · 1 to call');
  await shown.getByRole('button', { name: 'End it early' }).click();
  await shown.getByRole('button', { name: 'End the absence' }).click();
  const blocked = `schedule=Schedule/${own.schedule.id}&status=busy-unavailable`;
  await expect.poll(() => stored('Slot', blocked)).toEqual([]);
});

test('who is called is called with a time that is held, and nothing closes the case before the appointment has gone', async ({
  page,
}) => {
  test.slow();
  const doctor = `Dr. Anruf ${Date.now()}`;
  const own = await aService({ starts: halfHours(morning(6), 2), doctor });
  const testService = await aService({
    starts: halfHours(morning(6), 2),
    doctor: `${doctor} Vertretung`,
    like: own.schedule,
  });
  const [moved, cancelled] = [
    await bookedBy('portal-b', own, 0, 'Verlegt'),
    await bookedBy('portal-b', own, 1, 'Abgesagt'),
  ];
  await visitDesk(page, calendarOf(own));
  await page.getByRole('link', { name: 'Somebody is absent' }).click();
  await page.getByText('Who may step in (0)').click();
  await page
    .getByRole('group', { name: 'Calendars that offer the same' })
    .getByRole('checkbox', { name: `${doctor} Vertretung` })
    .check();
  await page.getByRole('button', { name: 'Block and plan' }).click();
  await card(page, doctor).getByRole('button', { name: 'Confirm the plan' }).click();
  await expect(card(page, doctor).getByRole('status')).toHaveText('0 waiting · 0 moved · 0 declined · 2 to call', {
    timeout: MINUTE_LIMIT,
  });
  // Nobody else can book what is offered to them.
  const states = testService.slots.map(async ({ id }) => (await stored('Slot', `_id=${id}`))[0]?.status);
  expect(await Promise.all(states)).toEqual(['busy-tentative', 'busy-tentative']);
  await page.getByRole('link', { name: 'Whom to call' }).click();
  const call = (family: string) => page.getByRole('listitem').filter({ hasText: `Kim ${family}` });
  await expect(call('Verlegt')).toContainText(doctor);
  await expect(call('Verlegt')).toContainText(/09:00 → .*09:00, .*Vertretung/);
  await expect(call('Verlegt').getByRole('button', { name: 'The patient knows' })).toHaveCount(0);
  await expectAccessible(page);
  await call('Verlegt')
    .getByRole('button', { name: /^Moved to .*09:00/ })
    .click();
  await expect.poll(async () => (await stored('Appointment', `_id=${moved.id}`))[0]?.status).toBe('cancelled');
  await call('Abgesagt').getByRole('link', { name: /09:30/ }).click();
  await expect(page.getByRole('dialog').getByRole('heading').first()).toContainText('Kim Abgesagt');
  await page.goBack();
  await call('Abgesagt').getByRole('button', { name: 'Cancelled' }).click();
  await settle(page);
  await expect.poll(async () => (await stored('Appointment', `_id=${cancelled.id}`))[0]?.status).toBe('cancelled');
});

test('staff offer another time than is proposed', async ({ page }) => {
  test.slow();
  const doctor = `Dr. Anders ${Date.now()}`;
  const own = await aService({ starts: [morning(6)], doctor });
  const testService = await aService({
    starts: [morning(6), morning(9)],
    doctor: `${doctor} Vertretung`,
    like: own.schedule,
  });
  await bookedBy('portal-a', own, 0, 'Anders');
  await visitDesk(page, calendarOf(own));
  await page.getByRole('link', { name: 'Somebody is absent' }).click();
  await page.getByText('Who may step in (0)').click();
  await page
    .getByRole('group', { name: 'Calendars that offer the same' })
    .getByRole('checkbox', { name: `${doctor} Vertretung` })
    .check();
  await page.getByRole('button', { name: 'Block and plan' }).click();
  const shown = card(page, doctor);
  await expect(shown.getByRole('checkbox', { name: /^Offer to Kim Anders: same time/ })).toBeChecked();
  await shown.getByRole('button', { name: 'Another time for Kim Anders' }).click();
  // The time that is proposed is not among them.
  await expect(shown.getByLabel('Another time for Kim Anders').locator('option')).toHaveCount(2);
  await expectAccessible(page);
  await shown.getByLabel('Another time for Kim Anders').selectOption({ index: 1 });
  await expect(shown.getByRole('checkbox', { name: /^Offer to Kim Anders: (?!same time)/ })).toBeChecked();
  await shown.getByRole('button', { name: 'Confirm the plan' }).click();
  await expect(shown).toContainText('asked, no answer yet');
  const states = testService.slots.map(async ({ id }) => (await stored('Slot', `_id=${id}`))[0]?.status);
  expect(await Promise.all(states)).toEqual(['free', 'busy-tentative']);
});

test.describe('on a small screen, in German', () => {
  test.use({ viewport: smallest, locale: 'de-DE' });

  test('a plan fits, and what is taken out of it is called', async ({ page }) => {
    test.slow();
    const doctor = `Dr. Klein ${Date.now()}`;
    const { own, other } = await aDoctorWhoIsIll(doctor);
    await visitDesk(page, calendarOf(own), jan);
    await page.getByRole('link', { name: 'Jemand ist abwesend' }).click();
    await expectFits(page);
    await page.getByText('Wer vertreten darf (0)').click();
    await page
      .getByRole('group', { name: 'Kalender, die dasselbe anbieten' })
      .getByRole('checkbox', { name: `${doctor} Vertretung` })
      .check();
    await page.getByRole('button', { name: 'Sperren und planen' }).click();
    await card(page, doctor)
      .getByRole('checkbox', { name: /^Anbieten: Kim Gleich/ })
      .uncheck();
    await expectFits(page);
    await card(page, doctor).getByRole('button', { name: 'Plan bestätigen' }).click();
    await expect(card(page, doctor).getByRole('status')).toHaveText('0 offen · 0 verlegt · 0 abgelehnt · 2 anzurufen');
    await expectFits(page);
    expect((await stored('Slot', `schedule=Schedule/${other.schedule.id}`)).map(({ status }) => status)).toEqual([
      'free',
    ]);
  });
});
