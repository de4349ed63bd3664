import { expect, type Page, test } from '@playwright/test';
import { DAY, instantOf } from '../../../../core/time/time-zone.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, nextChange, zone } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { calendarOf, dayOf, visitDesk } from './desk.ts';

const HOUR = 3_600_000;

/** What each free entry says, from the top to the bottom of its column. */
async function freeTimes(page: Page): Promise<string[]> {
  const entries = page.locator('.grid').getByRole('button', { name: /free$/ });
  await expect(entries.first()).toBeVisible();
  const placed = await entries.evaluateAll((all) =>
    all.map((one) => ({
      text: one.getAttribute('aria-label') ?? '',
      top: one.getBoundingClientRect().top,
    })),
  );
  return placed.toSorted((one, other) => one.top - other.top).map(({ text }) => text.replace(/, free$/, ''));
}

test('in the night in which an hour comes twice, its times are told apart, and the second one is booked', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(nextChange(false) - HOUR, 5) });
  await visitDesk(page, calendarOf(service));
  expect(await freeTimes(page)).toEqual([
    '02:00 CEST–02:30 CEST',
    '02:30 CEST–02:00 CET',
    '02:00 CET–02:30 CET',
    '02:30 CET–03:00',
    '03:00–03:30',
  ]);
  const hours = await page.locator('.hours span').allTextContents();
  expect(hours.slice(0, 3)).toEqual(['02:00 CEST', '02:00 CET', '03:00']);
  await expectAccessible(page);
  await page.getByRole('button', { name: '02:30 CET–03:00, free' }).click();
  const form = page.getByRole('dialog');
  await expect(form).toContainText('02:30 CET–03:00');
  await form.getByText('New patient').click();
  await form.getByLabel('First names').fill('Nina');
  await form.getByLabel('Family name').fill('Nacht');
  await form.getByRole('button', { name: 'Book', exact: true }).click();
  await expect(form.locator('.facts')).toContainText('02:30 CET–03:00');
  const [booked] = await stored('Appointment', `slot=Slot/${service.slots[3]?.id}`);
  expect(Date.parse(booked?.start ?? '')).toBe(Date.parse(service.slots[3]?.start ?? ''));
});

test('in the night in which an hour is left out, the times go on after it', async ({ page }) => {
  const service = await aService({ starts: halfHours(nextChange(true) - HOUR, 4) });
  await visitDesk(page, calendarOf(service));
  expect(await freeTimes(page)).toEqual(['01:00–01:30', '01:30–03:00', '03:00–03:30', '03:30–04:00']);
  const hours = await page.locator('.hours span').allTextContents();
  expect(hours.slice(0, 3)).toEqual(['01:00', '03:00', '04:00']);
});

for (const isForward of [true, false]) {
  test(`in the week in which the clocks go ${isForward ? 'forward' : 'back'}, the same hour stands at the same height`, async ({
    page,
  }) => {
    const sunday = dayOf(nextChange(isForward));
    const nine = (days: number) => instantOf(zone, Date.parse(`${sunday}T09:00:00Z`) + days * DAY);
    const service = await aService({ starts: [nine(-1), nine(0)] });
    await visitDesk(page, calendarOf(service, '&span=week'));
    const entries = page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' });
    await expect(entries).toHaveCount(2);
    const [saturday, changed] = await entries.evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
    expect(Math.abs((saturday?.top ?? 0) - (changed?.top ?? Number.NaN))).toBeLessThan(2);
    const label = page.locator('.hours span').filter({ hasText: '09:00' });
    await expect(label).toHaveCount(1);
    const { y = Number.NaN } = (await label.boundingBox()) ?? {};
    expect(Math.abs(y - (changed?.top ?? 0))).toBeLessThan(4);
  });
}

test.describe('in a browser in New York', () => {
  test.use({ timezoneId: 'America/New_York' });
  test('days and times are the clinic’s', async ({ page }) => {
    // Half past midnight at the clinic is the day before in New York.
    const midnight = instantOf(zone, Date.parse(`${dayOf(morning(6))}T00:00:00Z`));
    const service = await aService({ starts: [midnight + HOUR / 2, morning(6)] });
    await visitDesk(page, calendarOf(service));
    expect(await freeTimes(page)).toEqual(['00:30–01:00', '09:00–09:30']);
    await expect(page.getByLabel('Date', { exact: true }).last()).toHaveValue(dayOf(morning(6)));
  });
});
