import { expect, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { cancellation, patch } from '../../../../test/contract/patch/fixtures.ts';
import { aFullClinic, aWaiting, offerFor } from '../../../../test/contract/waitlist/fixtures.ts';
import { MINUTE_LIMIT } from '../../../../test/lib/time-scale.ts';
import { bookedBy, settle, visitDesk } from './desk.ts';

const statusOf = async (id: string | undefined) => (await stored('Appointment', `_id=${id}`))[0];

// Between the deadlines there are none of other tests: the next request is the test's own.
test('requests are answered one after the other from the keyboard, the earliest deadline first', async ({ page }) => {
  const later = await aService({ starts: halfHours(morning(6), 1), confirmation: 'manual', confirmWithin: 16 });
  const sooner = await aService({ starts: halfHours(morning(7), 2), confirmation: 'manual', confirmWithin: 15 });
  const last = await bookedBy('portal-b', later, 0, 'Zuletzt');
  const first = await bookedBy('portal-a', sooner, 0, 'Zuerst');
  const second = await bookedBy('portal-b', sooner, 1, 'Danach');
  await visitDesk(page, `${origin}/front-desk/requests?open=${first.id}`);
  const row = (name: string) => page.getByRole('list', { name: 'Requests' }).getByRole('button', { name });
  const order = async () =>
    (await page.locator('.request .name').allTextContents()).filter((name) => /Zuerst|Danach|Zuletzt/.test(name));
  await expect.poll(order).toEqual(['Kim Zuerst', 'Kim Danach', 'Kim Zuletzt']);
  await expect(row('Kim Zuerst')).toContainText(/portal.a/i);
  await expect(row('Kim Zuerst')).toContainText('answer by');
  await expect(page.locator('.history li')).toHaveCount(1);
  await expectAccessible(page);

  await row('Kim Zuerst').focus();
  await page.keyboard.press('c');
  await expect(row('Kim Danach')).toBeFocused();
  expect(await order()).toEqual(['Kim Danach', 'Kim Zuletzt']);
  // Nobody has been told yet, and it can be taken back.
  expect((await statusOf(first.id))?.status).toBe('pending');
  await expect(page.getByRole('status').getByText('Kim Zuerst: Confirmed.')).toBeVisible();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(row('Kim Zuerst')).toBeFocused();
  expect(await order()).toEqual(['Kim Zuerst', 'Kim Danach', 'Kim Zuletzt']);
  await page.keyboard.press('c');
  await expect(row('Kim Danach')).toBeFocused();

  // The next act writes the one before.
  await page.keyboard.press('d');
  await expect(page.getByLabel('Reason')).toBeFocused();
  await page.keyboard.type('Full that day');
  await expectAccessible(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(row('Kim Zuletzt')).toBeFocused();
  await expect.poll(async () => (await statusOf(first.id))?.status).toBe('booked');
  expect(await order()).toEqual(['Kim Zuletzt']);
  await settle(page);
  await expect.poll(async () => (await statusOf(second.id))?.status).toBe('cancelled');
  expect(await statusOf(second.id)).toMatchObject({
    status: 'cancelled',
    cancelationReason: { text: 'Full that day' },
  });

  // A colleague answers the last one: it goes by itself.
  const pending = await statusOf(last.id);
  await medplum('front-desk', 'PUT', `/Appointment/${last.id}`, { body: { ...pending, status: 'booked' } });
  await expect(page.getByText('Kim Zuletzt')).toHaveCount(0);
});

test('what is open stays open: neither a more urgent request nor a colleague’s answer puts another one under the hand', async ({
  page,
}) => {
  const calm = await aService({ starts: halfHours(morning(6), 1), confirmation: 'manual', confirmWithin: 18 });
  const urgent = await aService({ starts: halfHours(morning(7), 1), confirmation: 'manual', confirmWithin: 6 });
  const open = await bookedBy('portal-a', calm, 0, 'Offen');
  await visitDesk(page, `${origin}/front-desk/requests`);
  await expect(page).toHaveURL(/\/requests\?open=./);
  await page.goto(`${origin}/front-desk/requests?open=${open.id}`);
  const row = (name: string) => page.getByRole('list', { name: 'Requests' }).getByRole('button', { name });
  const title = page.locator('#open-request');
  await expect(title).toHaveText('Kim Offen');
  const eager = await bookedBy('portal-b', urgent, 0, 'Eilig');
  await expect(row('Kim Eilig')).toBeVisible();
  const names = await page.locator('.request .name').allTextContents();
  expect(names.filter((name) => /Eilig|Offen/.test(name))).toEqual(['Kim Eilig', 'Kim Offen']);
  await expect(title).toHaveText('Kim Offen');

  await page.getByRole('button', { name: 'Confirm' }).focus();
  const pending = await statusOf(open.id);
  await medplum('front-desk', 'PUT', `/Appointment/${open.id}`, { body: { ...pending, status: 'booked' } });
  await expect(page.getByText('This request is no longer waiting')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Confirm' })).toHaveCount(0);
  await expect(page.locator('[data-request][tabindex="0"]')).toBeFocused();
  await expectAccessible(page);
  await row('Kim Eilig').focus();
  await page.keyboard.press('c');
  await page.keyboard.press('Enter');
  await expect(title).toHaveText('Kim Eilig');
  expect((await statusOf(eager.id))?.status).toBe('pending');
  await page.keyboard.press('c');
  await expect(page.getByRole('status').getByText('Confirmed.')).toBeVisible();
  await settle(page);
  await expect.poll(async () => (await statusOf(eager.id))?.status).toBe('booked');
});

test('a request that a colleague has changed at the same moment is not answered over it, and nothing typed is lost', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 1), confirmation: 'manual', confirmWithin: 180 });
  const request = await bookedBy('portal-a', service, 0, 'Zugleich');
  await visitDesk(page, `${origin}/front-desk/requests?open=${request.id}`);
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.getByLabel('Reason').fill('We are closed');
  // The page does not hear of the change.
  await page.route('**/fhir/R4/Appointment?*_total*', (route) => route.abort());
  const pending = await statusOf(request.id);
  const body = { ...pending, comment: 'Wheelchair' };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${request.id}`, { body })).status).toBe(200);
  await page.getByRole('button', { name: 'Decline' }).click();
  await settle(page);
  await expect(page.getByText('Not done: “Kim Zugleich: Declined.” Someone else was faster.')).toBeVisible();
  await expectAccessible(page);
  expect((await statusOf(request.id))?.status).toBe('pending');
  await page.locator('.request', { hasText: 'Kim Zugleich' }).click();
  await expect(page.locator('.facts')).toContainText('Wheelchair');
  await page.getByRole('button', { name: 'Decline' }).click();
  await expect(page.getByLabel('Reason')).toHaveValue('We are closed');
  await page.getByRole('button', { name: 'Decline' }).click();
  await settle(page);
  await expect.poll(async () => (await statusOf(request.id))?.status).toBe('cancelled');
});

test('a confirmation that Medplum refuses says so, and what the service does then appears by itself', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(9), 1), confirmation: 'manual', confirmWithin: 240 });
  const request = await bookedBy('portal-a', service, 0, 'Verzogen');
  const reference = request.participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'))?.actor?.reference;
  const patient = (await stored('Patient', `_id=${reference?.split('/')[1]}`))[0];
  await visitDesk(page, `${origin}/front-desk/requests?open=${request.id}`);
  // While the confirmation is on its way, a colleague closes the patient's record; the service then cancels the request.
  await page.route(`**/fhir/R4/Appointment/${request.id}`, async (route) => {
    if (route.request().method() === 'PUT') {
      const body = { ...patient, active: false };
      expect((await medplum('front-desk', 'PUT', `/${reference}`, { body })).status).toBe(200);
    }
    await route.continue();
  });
  await page.getByRole('button', { name: 'Confirm' }).click();
  await settle(page);
  await expect(page.getByText(/Not done:.*(That is not possible|Someone else was faster)/)).toBeVisible();
  await expectAccessible(page);
  await expect.poll(async () => (await statusOf(request.id))?.status, { timeout: MINUTE_LIMIT }).toBe('cancelled');
  await expect(page.locator('.request', { hasText: 'Kim Verzogen' })).toHaveCount(0);
});

test('who waits is seen in order, and who is offered a time', async ({ page }) => {
  const { service, booked } = await aFullClinic();
  const [first, second] = [await aWaiting(service), await aWaiting(service, 'portal-b')];
  expect((await patch(booked.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  await offerFor(first.entry, first.patient);
  await visitDesk(page, `${origin}/front-desk/requests`);
  const list = page.getByRole('region', { name: /Waiting for a time/ });
  const code = service.coding?.[0]?.code ?? '';
  await expect(list.getByRole('listitem').filter({ hasText: code })).toHaveText([/since/, /Offered: /]);
  await list.getByRole('button', { name: 'What was filled this week' }).click();
  await expect(list.getByRole('status').last()).toHaveText(/this week/);
  await expectAccessible(page);
  // Who leaves is no longer there, by itself.
  expect((await patch(second.entry.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  await expect(list.getByRole('listitem').filter({ hasText: code })).toHaveCount(1);
});
