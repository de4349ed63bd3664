/** Safari 15, Chrome 100 and Firefox 102: what they lack of the language and of style sheets is taken away. */
import { expect, type Page, test } from '@playwright/test';
import { calendarOf, visitDesk } from '../../apps/front-desk/test/browser/desk.ts';
import { contrast } from '../../apps/portal/clinic/clinic.ts';
import { aService, fillPerson, halfHours, morning, origin, visit } from './clinic.ts';

/** Declarations and at-rules that the oldest of the three does not read. */
const tooNew =
  /[\w-]+:[^;{}]*(?:light-dark\(|color-mix\(|oklch\(|\d(?:dvh|svh|lvh)\b|content-visibility|" ?\/ ?")[^;{}]*;?|text-wrap:[^;{}]*;?|@property[^{]*\{[^}]*\}/g;

async function asOlder(page: Page): Promise<void> {
  await page.addInitScript(() => {
    for (const [owner, names] of [
      [Array.prototype, ['at', 'toSorted', 'toReversed', 'toSpliced', 'with', 'findLast']],
      [Object, ['hasOwn', 'groupBy']],
      [Map, ['groupBy']],
      [AbortSignal, ['timeout', 'any']],
      [Crypto.prototype, ['randomUUID']],
      [Promise, ['withResolvers', 'try']],
      [window, ['structuredClone']],
    ] as const) {
      for (const name of names) {
        Reflect.deleteProperty(owner, name);
      }
    }
  });
  await page.route(/\.css$/, async (route) => {
    const response = await route.fetch();
    // A selector list that holds `:has()` is dropped as a whole.
    const body = (await response.text()).replace(tooNew, '').replace(/[^{}]*:has\([^{}]*\{[^{}]*\}/g, '');
    await route.fulfill({ response, body });
  });
}

test('a patient books in a browser of 2022', async ({ page }) => {
  await asOlder(page);
  const service = await aService({ starts: halfHours(morning(6), 2) });
  const failed: string[] = [];
  page.on('pageerror', (error) => failed.push(error.message));
  await visit(page, service);
  await page.getByRole('button', { name: /09:00/ }).click();
  await fillPerson(page);
  await expect(page.locator('[name=given]')).toHaveCSS('border-top-width', '1px');
  const submit = page.getByRole('button', { name: 'Book this appointment' });
  // In the colour of the portal or of the clinic, which can be read.
  const [back = [], ink = []] = await submit.evaluate((one) => {
    const { backgroundColor, color } = getComputedStyle(one);
    return [backgroundColor, color].map((text) => text.match(/[\d.]+/g)?.map(Number) ?? []);
  });
  expect(ink).toEqual([255, 255, 255]);
  expect(back).toHaveLength(3);
  expect(contrast(back, ink)).toBeGreaterThanOrEqual(4.5);
  await submit.click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointment is booked');
  await visit(page, service);
  await page.getByRole('button', { name: /09:30/ }).click();
  await expect(page.locator('[name=family]')).toBeVisible();
  await page.getByRole('radio', { name: 'Kim Muster' }).check();
  await expect(page.locator('[name=family]')).toBeHidden();
  await page.goto(origin);
  const body = await page.locator('body').evaluate((one) => getComputedStyle(one).backgroundColor);
  expect(body).not.toBe('rgba(0, 0, 0, 0)');
  expect(failed).toEqual([]);
});

test('the front desk books and blocks in a browser of 2022', async ({ page }) => {
  await asOlder(page);
  const service = await aService({ starts: halfHours(morning(6), 3) });
  const failed: string[] = [];
  page.on('pageerror', (error) => failed.push(error.message));
  await visitDesk(page, calendarOf(service));
  const drawer = page.getByRole('dialog');
  await page.getByRole('button', { name: '09:00–09:30, free' }).click();
  await drawer.getByText('New patient').click();
  await drawer.getByLabel('First names').fill('Toni');
  await drawer.getByLabel('Family name').fill('Alt');
  await drawer.getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer.locator('.facts')).toContainText('Toni Alt');
  const [one, other] = await page.locator('.entry').evaluateAll((all) => all.map((it) => it.getBoundingClientRect().y));
  expect(one).toBeLessThan(other ?? 0);
  expect(failed).toEqual([]);
});
