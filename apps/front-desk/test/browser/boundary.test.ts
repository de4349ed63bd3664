import { expect, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { calendarOf, visitDesk } from './desk.ts';

test('a page that cannot be drawn says so, and the others can still be used', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await visitDesk(page, calendarOf(service));
  await expect(page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' })).toBeVisible();
  await page.evaluate(() => {
    const { get } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format') ?? {};
    Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
      get() {
        if (location.pathname.endsWith('/calendar')) {
          throw new RangeError('Invalid time value');
        }
        return get?.call(this);
      },
    });
  });
  await page.getByRole('button', { name: 'Later' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('This page cannot be shown');
  await expect(page.getByRole('alert')).toContainText('Invalid time value');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Requests' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Requests \(\d+\)$/);
  await page.goBack();
  await page.getByRole('alert').getByRole('button', { name: 'Load again' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
});
