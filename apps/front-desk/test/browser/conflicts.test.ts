import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { bookedBy, calendarOf, settle, visitDesk } from './desk.ts';

const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });
const panel = (page: Page) => page.getByRole('dialog');

/** The page does not hear of what others change. */
const cutOff = (page: Page) => page.route(/_total=accurate/, (route) => route.abort());

test('a telephone booking of a time that was taken meanwhile says so, keeps what was typed, and offers others', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 3) });
  await visitDesk(page, calendarOf(service));
  await entry(page, '09:00–09:30, free').click();
  await panel(page).getByText('New patient').click();
  await panel(page).getByLabel('First names').fill('Toni');
  await panel(page).getByLabel('Family name').fill('Besetzt');
  await cutOff(page);
  await bookedBy('portal-a', service, 0, 'Schneller');
  await panel(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(entry(page, /^09:00–09:30, booked, Kim Schneller/)).toHaveCount(1);
  await expect(panel(page).getByRole('alert')).toContainText('The time is taken');
  await expect(panel(page).getByLabel('Family name')).toHaveValue('Besetzt');
  await expectAccessible(page);
  await panel(page).getByRole('alert').getByRole('button', { name: /09:30/ }).click();
  await expect(panel(page).locator('.facts')).toContainText('Toni Besetzt');
  expect((await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`))[0]?.status).toBe('booked');

  // It has not begun yet.
  await expect(panel(page).getByRole('button', { name: 'Did not come' })).toHaveCount(0);
});

test('a move to a time that was taken meanwhile says so, and offers others', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 4) });
  const { id } = await bookedBy('portal-a', service, 0, 'Umzug');
  await visitDesk(page, calendarOf(service));
  await entry(page, /Umzug/).click();
  await panel(page).getByRole('button', { name: 'Move' }).click();
  await entry(page, /^10:00–10:30/).click();
  await cutOff(page);
  await bookedBy('portal-b', service, 2, 'Schneller');
  await panel(page).getByRole('button', { name: 'Move' }).click();
  // The service is asked first: nothing is said to be moved.
  await expect(panel(page).getByRole('alert')).toContainText('The time is taken');
  await expect(entry(page, /^10:00–10:30, booked, Kim Schneller/)).toHaveCount(1);
  await expectAccessible(page);
  await panel(page).getByRole('alert').getByRole('button', { name: /10:30/ }).click();
  await expect(entry(page, /^10:30–11:00, booked, Kim Umzug, .*not stored yet/)).toBeVisible();
  await settle(page);
  await expect(entry(page, /^10:30–11:00, booked, Kim Umzug/)).toBeVisible();
  await expect
    .poll(async () => (await stored('Appointment', `_id=${id}`))[0]?.slot?.[0]?.reference)
    .not.toBe(`Slot/${service.slots[0]?.id}`);
  const [moved] = await stored('Appointment', `_id=${id}`);
  expect([moved?.status, moved?.slot?.[0]?.reference]).toEqual(['booked', `Slot/${service.slots[3]?.id}`]);
});

test('a time that a colleague books while somebody types there is said to be gone, and what is typed stays', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await visitDesk(page, calendarOf(service));
  await entry(page, '09:00–09:30, free').click();
  await panel(page).getByText('New patient').click();
  await panel(page).getByLabel('Family name').fill('Besetzt');
  await bookedBy('portal-a', service, 0, 'Schneller');
  await expect(panel(page).getByText('This time is no longer in the calendar')).toBeVisible();
  await expect(panel(page).getByLabel('Family name')).toHaveValue('Besetzt');
  await expect(panel(page).getByLabel('Family name')).toBeFocused();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await entry(page, '09:30–10:00, free').click();
  await expect(panel(page).getByLabel('Family name')).toHaveValue('Besetzt');
});
