/** What the eye finds: names first, many calendars at once, and all of it in the dark and in the typeface that ships with it. */
import { expect, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { bookedBy, calendarOf, visitDesk } from './desk.ts';

test.use({ colorScheme: 'dark', viewport: { width: 1280, height: 800 } });

test('in the dark, and with twenty calendars, everything can be read, sideways with the hours in sight', async ({
  page,
}) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(6), 3), doctor: 'Dr. Nora Nacht' });
  await bookedBy('portal-a', service, 0, 'Dunkel');
  await visitDesk(page, calendarOf(service));
  const booked = page.locator('.grid').getByRole('button', { name: /Dunkel/ });
  await expect(booked).toBeVisible();
  const [r = 255] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g) ?? [];
  expect(Number(r)).toBeLessThan(60);
  const drawn = await page.evaluate(async () => [...(await document.fonts.ready)].map((one) => one.status));
  expect(drawn).toContain('loaded');
  await expectAccessible(page);
  await booked.click();
  await expect(page.getByRole('dialog').locator('.history li')).toHaveCount(1);
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  const others: string[] = [];
  for (let index = 1; index < 20; index += 1) {
    others.push((await aService({ starts: [], doctor: `Dr. Zoe Zwanzigste ${index}` })).schedule.id ?? '');
  }
  await page.goto(`${calendarOf(service)},${others.join(',')}`);
  await expect(page.locator('.column')).toHaveCount(20);
  // Wide enough to be read, sideways, with the hours in sight.
  const last = page.locator('.column').last();
  expect((await last.boundingBox())?.width).toBeGreaterThanOrEqual(139);
  await last.scrollIntoViewIfNeeded();
  await expect(page.locator('.hours')).toBeInViewport({ ratio: 0.1 });
});
