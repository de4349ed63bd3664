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
  for (const path of ['', '/portal/', '/front-desk/']) {
    await page.goto(`${origin}${path}`);
    await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', /^data:image\/svg\+xml,%3Csvg/);
  }
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

test('developers of portals try a call, and nothing is fetched from elsewhere', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  await page.goto(origin);
  const way = page.getByRole('link', { name: 'Try the interface' });
  test.skip((await way.count()) === 0, 'only npm start has the page, as its tokens are public');
  await way.click();
  await page.getByRole('link', { name: 'Slot' }).first().click();
  const token = page.waitForResponse(/\/oauth2\/token/);
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  expect((await token).status()).toBe(200);
  await page.getByRole('button', { name: /Test Request.*get \/Slot\)/ }).click();
  const response = page.waitForResponse(/\/fhir\/R4\/Slot/);
  await page.getByRole('button', { name: /^Send get request/ }).click();
  expect((await response).status()).toBe(200);
  expect(new Set(asked)).toEqual(new Set([origin]));
  const guide = await page.request.get(new URL('docs/portals.md', `${origin}/developers/`).href);
  expect(await guide.text()).toContain('# For portal developers');
});
