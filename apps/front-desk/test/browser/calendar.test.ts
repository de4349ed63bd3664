import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin, type TestService } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { bookedBy, calendarOf, dayOf, jan, settle, signedInName, visitDesk } from './desk.ts';

const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });
const drawer = (page: Page) => page.getByRole('dialog');
const statusOf = async ({ slots }: TestService, index: number) =>
  (await stored('Slot', `_id=${slots[index]?.id}`))[0]?.status;

/** Fails the test when the page has thrown, or was refused. */
function watch(page: Page): string[] {
  const failed: string[] = [];
  page.on('pageerror', (error) => failed.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) {
      failed.push(message.text());
    }
  });
  return failed;
}

test('staff book by telephone, see who asked, confirm, decline; axe finds nothing', async ({ page }) => {
  test.slow();
  const failed = watch(page);
  const service = await aService({ starts: halfHours(morning(6), 5), confirmation: 'manual' });
  const asked = await bookedBy('portal-a', service, 0, 'Albers');
  await bookedBy('portal-b', service, 1, 'Bruns');
  await visitDesk(page, calendarOf(service));
  await expect(page.locator('.column h2')).toHaveText('Dr. Mira Lindner');
  await expect(entry(page, '09:00–09:30, requested, Kim Albers')).toBeVisible();
  await expectAccessible(page);

  await entry(page, /Albers/).click();
  await expect(drawer(page)).toContainText(/portal.a/i);
  await expect(drawer(page)).toContainText('17 May 1990');
  await expect(drawer(page)).toContainText('Dr. Mira Lindner');
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Confirm' }).click();
  await expect(page.getByRole('status').getByText('Confirmed.')).toBeVisible();
  await settle(page);
  await expect(drawer(page).getByRole('button', { name: 'Move' })).toBeVisible();
  await expect(drawer(page).locator('.history li')).toHaveCount(2);
  expect((await stored('Appointment', `_id=${asked.id}`))[0]?.status).toBe('booked');
  await expect(drawer(page).locator('.history li').first()).toContainText(await signedInName(page));
  await page.keyboard.press('Escape');
  await expect(entry(page, '09:00–09:30, booked, Kim Albers')).toBeFocused();

  await entry(page, /Bruns/).click();
  await drawer(page).getByRole('button', { name: 'Decline' }).click();
  await drawer(page).getByLabel('Reason').fill('The practitioner is ill');
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Decline' }).click();
  await settle(page);
  await expect(drawer(page).locator('.facts')).toContainText('The practitioner is ill');
  await page.getByRole('button', { name: 'Close' }).last().click();
  await expect(entry(page, '09:30–10:00, free')).toBeVisible();

  await entry(page, '10:00–10:30, free').click();
  await expect(drawer(page)).toContainText('Dr. Mira Lindner');
  await drawer(page).getByText('New patient').click();
  await drawer(page).getByLabel('First names').fill('Toni');
  await drawer(page).getByLabel('Family name').fill('Telefon');
  await drawer(page).getByLabel('Date of birth').fill('1970-02-03');
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(page).locator('.facts')).toContainText('Toni Telefon');
  await expect(drawer(page).locator('.facts')).toContainText('booked');
  await expect.poll(() => statusOf(service, 2)).toBe('busy');
  await page.keyboard.press('Escape');

  await entry(page, '10:30–11:00, free').click();
  await drawer(page).getByLabel('Name, date of birth or telephone').fill('Telefon 03.02.1970');
  await drawer(page).getByRole('radio', { name: 'Toni Telefon, 3 Feb 1970' }).first().check();
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(page).locator('.facts')).toContainText('Toni Telefon');
  expect(failed).toEqual([]);
});

test('staff block a time and offer it again', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await visitDesk(page, calendarOf(service));
  await entry(page, '09:00–09:30, free').click();
  await drawer(page).getByRole('tab', { name: 'Block' }).click();
  await drawer(page).getByLabel('Reason').fill('Team meeting');
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Block' }).click();
  await settle(page);
  await expect(drawer(page)).toContainText('Team meeting');
  expect(await statusOf(service, 0)).toBe('busy-unavailable');
  await drawer(page).getByRole('button', { name: 'Offer this time again' }).click();
  await expect(drawer(page).getByRole('tab', { name: 'Book' })).toBeVisible();
  expect(await statusOf(service, 0)).toBe('free');
});

test('an appointment is moved by keyboard alone', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 4) });
  const made = await bookedBy('portal-a', service, 0, 'Umzug');
  await visitDesk(page, calendarOf(service));
  await entry(page, /Umzug/).focus();
  await page.keyboard.press('Enter');
  await drawer(page).getByRole('button', { name: 'Move' }).press('Enter');
  await expect(page.getByText('Moving: Kim Umzug')).toBeVisible();
  await expectAccessible(page);
  await entry(page, /Umzug/).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await expect(entry(page, /^10:00–10:30/)).toBeFocused();
  await page.keyboard.press('Enter');
  await drawer(page).getByRole('button', { name: 'Move' }).press('Enter');
  await settle(page);
  await expect(entry(page, /^10:00–10:30, booked, Kim Umzug/)).toBeVisible();
  const [moved] = await stored('Appointment', `_id=${made.id}`);
  expect([moved?.status, moved?.slot?.[0]?.reference]).toEqual(['booked', `Slot/${service.slots[2]?.id}`]);
  expect(await statusOf(service, 0)).toBe('free');
});

test('what others change appears by itself, and the focus stays', async ({ page, browser }) => {
  const service = await aService({ starts: halfHours(morning(6), 3) });
  await visitDesk(page, calendarOf(service));
  await entry(page, '10:00–10:30, free').focus();
  const other = await (await browser.newContext()).newPage();
  await visitDesk(other, calendarOf(service), jan);
  await entry(other, '09:00–09:30, free').click();
  await drawer(other).getByText('New patient').click();
  await drawer(other).getByLabel('First names').fill('Nele');
  await drawer(other).getByLabel('Family name').fill('Neu');
  await drawer(other).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(other).locator('.facts')).toContainText('Nele Neu');
  await expect(entry(page, '09:00–09:30, booked, Nele Neu')).toBeVisible();
  await expect(entry(page, '10:00–10:30, free')).toBeFocused();
});

test('signing in comes back to the same place, and needs the answer to the own question', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await visitDesk(page, calendarOf(service, '&span=week'));
  await expect(page).toHaveURL(/span=week/);
  await expect(page.locator('.column h2')).toHaveCount(7);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('button', { name: 'Sign in with Medplum' })).toBeVisible();
  await expectAccessible(page);
  const { pathname, origin } = new URL(page.url());
  await page.goto(`${origin}/front-desk/signed-in?code=stolen&state=forged`);
  await expect(page.getByRole('button', { name: 'Sign in with Medplum' })).toBeVisible();
  expect(pathname).toBe('/front-desk/calendar');
});

test('chosen calendars and the chosen day stay when the page changes, and paper says who is missing', async ({
  page,
}) => {
  const [first, second] = [
    await aService({ starts: halfHours(morning(6), 2), doctor: 'Dr. Ada Zuletzt' }),
    await aService({ starts: halfHours(morning(6), 2), doctor: 'Dr. Bo Zuletzt' }),
  ];
  const cancelled = await bookedBy('portal-a', second, 0, 'Fremd');
  await medplum('front-desk', 'PUT', `/Appointment/${cancelled.id}`, { body: { ...cancelled, status: 'cancelled' } });
  const day = dayOf(Date.parse(first.slots[0]?.start ?? ''));
  await visitDesk(page, `${origin}/front-desk/calendar?date=${day}`);
  const columns = page.locator('.column');
  // Nobody is left out because of their name.
  await expect(page.locator('.column h2').filter({ hasText: 'Zuletzt' })).not.toHaveCount(0);
  await page.getByRole('button', { name: /^Calendars \(/ }).click();
  await page.getByRole('textbox', { name: 'Find a calendar' }).fill('zuletzt');
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.goto(calendarOf(first));
  await expect(columns).toHaveCount(1);
  await page.getByRole('link', { name: 'Requests' }).click();
  await page.getByRole('link', { name: 'Calendar', exact: true }).click();
  await expect(columns).toHaveCount(1);
  await expect(page.locator('.column h2')).toContainText('Ada Zuletzt');
  await expect(page.getByRole('toolbar').getByLabel('Date')).toHaveValue(day);
  await expect(page.getByRole('region', { name: /^Cancelled/ }).getByText('Fremd')).toHaveCount(0);
  await page.emulateMedia({ media: 'print' });
  await expect(page.locator('.on-paper')).toContainText(/Calendars \(1 of \d+\) Not on this list: .*Dr\. Bo Zuletzt/);
});
