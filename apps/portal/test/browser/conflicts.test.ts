import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, type TestService, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { book, proposed, stored } from '../../../../test/contract/fixtures.ts';
import { medplum, request } from '../../../../test/contract/http.ts';

const open = async (page: Page, service: TestService, time: string): Promise<void> => {
  await visit(page, service);
  await page.getByRole('button', { name: time }).click();
};

test('of two browsers on one time one holds it, and the other gets the next best with one click', async ({
  browser,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 4) });
  const [first, second] = await Promise.all([0, 1].map(async () => (await browser.newContext()).newPage()));
  if (!first || !second) {
    throw new Error('Two pages are needed.');
  }
  await Promise.all([visit(first, service), visit(second, service)]);
  await Promise.all([first, second].map((page) => page.getByRole('button', { name: '09:30' }).click()));
  await Promise.all([first, second].map((page) => page.waitForURL(/details|hold/)));
  const isRefused = (page: Page) => page.getByRole('alert').isVisible();
  const [winner, refused] = (await isRefused(first)) ? [second, first] : [first, second];
  expect(await isRefused(winner)).toBe(false);
  await expect(refused.getByRole('alert')).toContainText('Someone else was faster');
  // It is only held.
  await expect(refused.locator('main')).not.toContainText('booked');
  await expect(refused.getByRole('alert')).toBeFocused();
  await expect(refused.getByRole('link', { name: 'See all free times' })).toBeVisible();
  await expect(refused).toHaveTitle(/^Error: /);
  await expectAccessible(refused);
  await fillPerson(winner, 'Wina');
  await winner.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(winner.locator('.state')).toHaveText('Confirmed');

  await expect(refused.locator('.alternatives button')).toHaveText([/^09:00/, /^10:00/, /^10:30/]);
  await refused.getByRole('button', { name: /^10:00/ }).click();
  await fillPerson(refused, 'Lou');
  await refused.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(refused.locator('.state')).toHaveText('Confirmed');
  await expect(refused.locator('#state')).toContainText('10:00–10:30');
  await expect(refused.locator('dl')).toContainText('Lou Muster');
  const taken = await Promise.all(
    service.slots.map(({ id }) => stored('Appointment', `slot=Slot/${id}&status=booked`)),
  );
  expect(taken.map(({ length }) => length)).toEqual([0, 1, 1, 0]);
});

test('where a time is gone, the same time with a colleague is offered first', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(9), 4) });
  await aService({ starts: halfHours(morning(9), 4), like: service.schedule, doctor: 'Dr. Kollege' });
  const [first, second] = [await browser.newPage(), await browser.newPage()];
  const time = (page: Page) => page.locator('#group-0 + ul').getByRole('button', { name: '10:00' });
  await expect(async () => {
    await visit(first, service);
    await expect(first.locator('.person')).toHaveCount(3, { timeout: 500 });
  }).toPass();
  await visit(second, service);
  await time(first).click();
  await first.waitForURL(/details/);
  await time(second).click();
  await expect(second.locator('.alternatives button').first()).toHaveText(/^10:00.*Dr\. /);
});

test('a time that was lost while the form was filled in costs nothing that was typed', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(9), 3) });
  await open(page, service, '09:00');
  await fillPerson(page);
  await page.locator('[name=comment]').fill('Second floor, please');
  // The clinic's staff end the hold, and another portal is faster.
  const [slot] = service.slots;
  const [hold] = await stored('Appointment', `slot=Slot/${slot?.id}`);
  expect(
    (await medplum('front-desk', 'PUT', `/Appointment/${hold?.id}`, { body: { ...hold, status: 'cancelled' } })).status,
  ).toBe(200);
  await expect
    .poll(async () => (await stored('Slot', `_id=${slot?.id}`)).map(({ status }) => status))
    .toEqual(['free']);
  const made = await request('portal-b', 'POST', '/Patient', {
    body: { resourceType: 'Patient', name: [{ family: 'Schnell' }] },
  });
  const other = { ...proposed(JSON.parse(made.text), slot ? [slot] : []), start: slot?.start, end: slot?.end };
  expect((await book({ ...other, serviceType: service.schedule.serviceType }, 'portal-b')).status).toBe(201);

  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.getByRole('alert')).toContainText('no longer free');
  await expect(page.locator('[name=comment]')).toHaveValue('Second floor, please');
  await expect(page.getByRole('button', { name: 'Book this appointment' })).toHaveCount(0);
  await expectAccessible(page);
  await page.getByRole('button', { name: /^09:30/ }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await expect(page.locator('#state')).toContainText('09:30–10:00');
  await expect(page.locator('dl')).toContainText('Second floor, please');
});

test('another time can be chosen with what was typed, and the first one is free at once', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(9), 2) });
  await open(page, service, '09:00');
  await fillPerson(page, 'Dora', 'Draft');
  await page.getByRole('button', { name: 'Choose another time' }).click();
  await expect(page.getByRole('button', { name: '09:00' })).toBeVisible();
  await page.getByRole('button', { name: '09:30' }).click();
  await expect(page.locator('[name=given]')).toHaveValue('Dora');
  await expect(page.locator('[name=family]')).toHaveValue('Draft');
});

test('a time that was taken while it was looked at cannot be moved to; another is one click away', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(9), 4) });
  await open(page, service, '09:00');
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await page.getByRole('link', { name: 'Move' }).click();
  await page.getByRole('button', { name: '10:00' }).click();
  const [, , slot] = service.slots;
  expect(
    (await medplum('front-desk', 'PUT', `/Slot/${slot?.id}`, { body: { ...slot, status: 'busy-unavailable' } })).status,
  ).toBe(200);
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await expect(page.getByRole('alert')).toContainText('no longer free');
  await expectAccessible(page);
  await page.getByRole('button', { name: /^10:30/ }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointment was moved.');
  await expect(page.locator('#state')).toContainText('10:30–11:00');
});
