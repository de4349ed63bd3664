import { expect, test } from '@playwright/test';
import { expectAccessible } from './axe.ts';

const origin = new URL(process.env.BOOKING_BASE_URL ?? '').origin;

test('the start page leads to the interface, without a script and without anything from elsewhere', async ({
  page,
}) => {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  const response = await page.goto(origin);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Appointment booking');
  await expect(page.getByRole('link', { name: 'what it can do' })).toHaveAttribute('href', /\/fhir\/R4\/metadata$/);
  await expectAccessible(page);
  expect(new Set(asked)).toEqual(new Set([origin]));
  const policy = (await response?.headerValue('content-security-policy')) ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(policy).not.toContain('unsafe');
});

test.describe('in a German browser', () => {
  test.use({ locale: 'de-DE' });
  test('the start page is German', async ({ page }) => {
    await page.goto(origin);
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Terminbuchung');
  });
});
