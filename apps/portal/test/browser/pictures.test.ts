import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page } from '@playwright/test';
import { aService, fillPerson, halfHours, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';

/** Where the pictures go: `PICTURES=docs/pictures` renews those of docs/portal.md. */
const folder = process.env.PICTURES ?? 'dist/test-browser/pictures';

const devices = {
  desktop: { viewport: { width: 900, height: 640 }, locale: 'en-GB' },
  phone: { viewport: { width: 360, height: 640 }, locale: 'de-DE', colorScheme: 'dark' },
} as const;

for (const [device, options] of Object.entries(devices)) {
  test(`the way of a patient in pictures, ${device}`, async ({ browser }) => {
    mkdirSync(folder, { recursive: true });
    const page = await (await browser.newContext({ ...options, reducedMotion: 'reduce' })).newPage();
    const take = async (name: string): Promise<void> => {
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.screenshot({ path: join(folder, `portal-${name}-${device}.png`), fullPage: true });
    };
    const isGerman = options.locale === 'de-DE';
    const service = await aService({
      name: isGerman ? 'Hausärztliche Sprechstunde' : 'General consultation',
      starts: [6, 7, 8, 9].flatMap((day) => halfHours(morning(day), 7)),
      confirmation: isGerman ? 'manual' : 'automatic',
      questionnaire: {
        title: isGerman ? 'Vor Ihrem Besuch' : 'Before your visit',
        item: [
          {
            linkId: 'a',
            text: isGerman ? 'Waren Sie schon bei uns?' : 'Have you been here before?',
            type: 'boolean',
            required: true,
          },
        ],
      },
    });
    await page.goto(`${origin}/portal/`);
    await take('services');
    await visit(page, service);
    await take('times');
    await page.locator('.time').nth(2).click();
    await expect(page.locator('.remaining')).toHaveText(/^\d+:\d\d$/);
    await fillPerson(page);
    await page.locator('input[type=radio]').last().check();
    await take('details');
    await page.locator('button.primary').click();
    await expect(page.locator('#state')).toBeVisible();
    await take('appointment');
    const { pathname } = new URL(page.url());
    await page.goto(`${origin}/portal/appointments`);
    await take('appointments');
    await page.goto(`${origin}${pathname}`);
    await page.locator('#actions a[href*="move="]').click();
    await page.locator('.time').nth(4).click();
    await expect(page.locator('form[action$="/move"] .primary')).toBeVisible();
    await take('move');
    await page.goto(`${origin}${pathname}/cancel`);
    await take('cancel');
    await gone(page, service);
    await take('gone');
  });
}

/** The page of a time that someone else has taken meanwhile. */
async function gone(page: Page, service: Awaited<ReturnType<typeof aService>>): Promise<void> {
  await visit(page, service);
  const time = await page.locator('.time').nth(2).getAttribute('value');
  const browserContext = await page.context().browser()?.newContext();
  const taken = await browserContext?.request.post(`${origin}/portal/hold`, {
    headers: { origin },
    form: { service: new URL(service.address).searchParams.get('service') ?? '', time: time ?? '' },
  });
  expect(taken?.ok()).toBe(true);
  await page.locator('.time').nth(2).click();
  await expect(page.getByRole('alert')).toBeVisible();
}
