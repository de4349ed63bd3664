import { expect } from '@playwright/test';
import { aService, fillPerson, halfHours, morning, nextChange, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';

for (const [browserZone, isNamed] of [
  ['America/New_York', true],
  ['Europe/Paris', false],
] as const) {
  test(`in a browser in ${browserZone} times are the clinic's, and its zone is ${isNamed ? '' : 'not '}named`, async ({
    browser,
  }) => {
    const service = await aService({ starts: halfHours(morning(8), 1) });
    const page = await (await browser.newContext({ timezoneId: browserZone, locale: 'en-GB' })).newPage();
    await visit(page, service);
    await expect(page.getByRole('button', { name: '09:00' })).toBeVisible();
    await expect(page.getByText('(Europe/Berlin)')).toBeVisible({ visible: isNamed });
    await page.getByRole('button', { name: '09:00' }).click();
    await fillPerson(page);
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.locator('#state')).toContainText('09:00–09:30');
  });
}

test('in the night in which an hour comes twice, its times are told apart', async ({ page }) => {
  const change = nextChange(false);
  const service = await aService({ starts: halfHours(change - 3_600_000, 5) });
  await visit(page, service);
  await page.getByRole('link', { name: /next free time/ }).click();
  await expect(page.locator('.day')).toHaveCount(1);
  await expect(page.locator('.time')).toHaveText(['02:00 CEST', '02:30 CEST', '02:00 CET', '02:30 CET', '03:00']);
  await page.getByRole('button', { name: '02:30 CET', exact: true }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('#state')).toContainText('02:30 CET–03:00');
});

test('in the night in which an hour is left out, the times go on after it', async ({ page }) => {
  const change = nextChange(true);
  const service = await aService({ starts: halfHours(change - 3_600_000, 4) });
  await visit(page, service);
  await page.getByRole('link', { name: /next free time/ }).click();
  await expect(page.locator('.day')).toHaveCount(1);
  await expect(page.locator('.time')).toHaveText(['01:00', '01:30', '03:00', '03:30']);
});
