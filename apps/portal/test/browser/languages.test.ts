import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page } from '@playwright/test';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import {
  aService,
  fillPerson,
  halfHours,
  morning,
  origin,
  type TestService,
  visit,
} from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { languages, textsOf } from '../../texts/texts.ts';

const folder = process.env.PICTURES ?? 'dist/test-browser/pictures';

/** Expects a page that fits, and that costs at most 10 kB besides the pictures of the clinic, which are fetched once. */
async function expectSmall(page: Page): Promise<void> {
  await expectFits(page);
  const size = await page.evaluate(() =>
    performance.getEntries().reduce((sum, one) => {
      const { transferSize = 0, encodedBodySize } = one as PerformanceResourceTiming;
      return transferSize > 0 && !one.name.includes('/pictures/') ? sum + encodedBodySize : sum;
    }, 0),
  );
  expect(size, page.url()).toBeGreaterThan(1_000);
  expect(size, page.url()).toBeLessThanOrEqual(10_240);
}

let second: TestService;
test.beforeAll(async () => {
  const first = await aService({ starts: halfHours(morning(8), 10), doctor: 'Dr. Mira Lindner' });
  const starts = halfHours(morning(8), 2 + languages.length);
  second = await aService({ starts, doctor: 'Dr. Jonas Weber', like: first.schedule, hasWaitlist: true });
});

for (const [index, language] of languages.entries()) {
  test(`the way of a patient fits into 320 pixels in ${textsOf[language].languageName}`, async ({ browser }) => {
    test.slow();
    // Contrast is judged in both schemes.
    const colorScheme = index % 2 === 0 ? 'light' : 'dark';
    mkdirSync(folder, { recursive: true });
    const context = await browser.newContext({ viewport: smallest, reducedMotion: 'reduce', colorScheme });
    await context.addCookies([{ name: 'portal_language', value: language, url: `${origin}/portal` }]);
    const page = await context.newPage();
    const texts = textsOf[language];
    const take = (name: string) =>
      page.screenshot({ path: join(folder, `portal-${name}-${language}.png`), fullPage: true });
    await page.goto(`${origin}/portal/`);
    await expectSmall(page);
    await visit(page, second);
    await expect(page.locator('html')).toHaveAttribute('dir', language === 'ar' ? 'rtl' : 'ltr');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(texts.times.title);
    // The portal remembers the services for some seconds, maybe without the second doctor.
    await expect(async () => {
      await page.reload();
      expect(await page.locator('.earliest button').count()).toBeGreaterThan(0);
    }).toPass();
    await expectSmall(page);
    await take('times');
    await page.getByRole('link', { name: texts.times.month }).click();
    await expect(page.locator('table.month').last()).toBeVisible();
    await page.locator('.language summary').click();
    await expectSmall(page);
    await visit(page, second);
    await page.getByRole('link', { name: texts.wait.title }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(texts.wait.title);
    await expectSmall(page);
    await visit(page, second);
    await page.locator('.times .time').first().click();
    const digits = language === 'ar' ? /^[٠-٩]+:[٠-٩]{2}$/ : /^[0-9]+:[0-9]{2}$/;
    await expect(page.locator('.remaining')).toHaveText(digits);
    await page.locator('#for-care').check();
    await page.locator('button.primary').evaluate((button: HTMLButtonElement) => {
      button.formNoValidate = true;
    });
    await page.locator('button.primary').click();
    await expect(page.getByRole('alert')).toContainText(texts.problemsTitle);
    await expectSmall(page);
    await fillPerson(page);
    await page.locator('#for-').check();
    await page.locator('button.primary').click();
    await expect(page.locator('.state')).toHaveText(texts.states.confirmed);
    await expectSmall(page);
    await take('appointment');
    expect(await page.locator('body').innerText()).not.toMatch(/\{\w+\}/);
    expect(await page.locator('#link-title + p').innerText()).not.toContain('..');
  });
}
