import { expect, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, later, morning, origin } from '../../../../test/browser/clinic.ts';
import { bookedBy, calendarOf, visitDesk } from './desk.ts';

test('a page that is cut off says so, and catches up by itself', async ({ page }) => {
  await page.clock.install();
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await visitDesk(page, calendarOf(service));
  await expect(page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' })).toBeVisible();
  const behind = page.getByText('Changes do not appear at the moment');
  await expect(behind).toHaveCount(0);
  await page.route(/\/fhir\/R4/, (route) => route.abort());
  await bookedBy('portal-a', service, 0, 'Netzer');
  await later(page, () => expect(behind).toBeVisible({ timeout: 1_000 }));
  await expect(page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' })).toBeVisible();
  await expectAccessible(page);
  await page.unroute(/\/fhir\/R4/);
  const netzer = page.locator('.grid').getByRole('button', { name: /^09:00–09:30, booked, Kim Netzer/ });
  await later(page, () => expect(netzer).toBeVisible({ timeout: 1_000 }));
  await expect(behind).toHaveCount(0);

  for (const path of ['requests', 'notifications']) {
    await page.goto(`${origin}/front-desk/${path}`);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.waitForLoadState('networkidle');
    await page.route(/\/fhir\/R4/, (route) => route.abort());
    await later(page, () => expect(behind).toBeVisible({ timeout: 1_000 }));
    await page.unroute(/\/fhir\/R4/);
  }
});
