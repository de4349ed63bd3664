/** The portal in a frame of the clinic's own site, which has another origin. */
import { createServer } from 'node:http';
import { type BrowserContext, expect, type FrameLocator, type Page } from '@playwright/test';
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
import { slotsOf } from '../../../../test/contract/fixtures.ts';

const site = process.env.CLINIC_SITE ?? '';
let address = '';

/** The clinic's page, as docs/portal.md shows it. */
const clinic = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(`<!doctype html><title>Clinic</title><h1>Clinic by the lake</h1>
<iframe src="${address}" title="Book an appointment" style="width: 100%; height: 40rem; border: 0"></iframe>
<script src="${origin}/portal/embed.js"></script>`);
});

test.skip(site === '', 'Set CLINIC_SITE to a free http://127.0.0.1:… that PORTAL_EMBEDDED_IN names.');
test.beforeAll(() => new Promise<void>((resolve) => clinic.listen(Number(new URL(site).port), resolve)));
test.afterAll(() => void clinic.close());

/** Opens the clinic's page, which shows the free times of a service. */
async function open(context: BrowserContext, service: TestService, from = site): Promise<[Page, FrameLocator]> {
  const page = await context.newPage();
  await visit(page, service);
  await context.clearCookies();
  address = service.address;
  await page.goto(from);
  return [page, page.frameLocator('iframe')];
}

/** Books the first time, or asks for it. */
async function bookIn(frame: FrameLocator, state = 'Confirmed'): Promise<void> {
  await frame.locator('.times .time').first().click();
  await expect(frame.locator('h1')).toHaveText('Your details');
  for (const [name, value] of [
    ['given', 'Kim'],
    ['family', 'Muster'],
    ['birthDate', '1990-05-17'],
    ['email', 'kim@example.org'],
  ]) {
    await frame.locator(`[name=${name}]`).fill(value ?? '');
  }
  await frame.locator('button.primary').click();
  await expect(frame.locator('.state')).toHaveText(state);
}

for (const javaScriptEnabled of [true, false]) {
  test(`books in the frame ${javaScriptEnabled ? 'with' : 'without'} scripts, with cookies of that site alone`, async ({
    browser,
  }) => {
    const service = await aService({ starts: halfHours(morning(8), 6) });
    const context = await browser.newContext({ javaScriptEnabled });
    const [page, frame] = await open(context, service);
    await bookIn(frame);
    const cookies = (await context.cookies()).filter(({ name }) => name === 'portal_session');
    expect(cookies).toMatchObject([{ sameSite: 'None', secure: true, httpOnly: true }]);
    if (javaScriptEnabled) {
      const body = page.frames()[1]?.locator('body');
      await expect(async () => {
        const height = Math.ceil((await body?.evaluate((one) => one.getBoundingClientRect().height)) ?? 0);
        await expect(page.locator('iframe')).toHaveCSS('height', `${height}px`, { timeout: 500 });
      }).toPass();
    }
    // The browser keeps them apart: the portal in a tab of its own knows nothing of them.
    await page.goto(`${origin}/portal/appointments`);
    await expect(page.locator('h1')).toHaveText('Open your personal link');
  });
}

test('a site of the portal’s own domain: the frame and a tab have one session, which one of them ends', async ({
  browser,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 6) });
  const [page, frame] = await open(await browser.newContext(), service);
  await page.goto(service.address);
  await page.locator('.times .time').last().click();
  await expect(page.locator('h1')).toHaveText('Your details');
  await page.goto(site.replace('127.0.0.1', 'localhost'));
  await bookIn(frame);
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('h1')).toHaveText('My appointments');
  await page.goto(`${origin}/portal/leave`);
  await page.locator('main form button').click();
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('h1')).toHaveText('Open your personal link');
});

test('nobody else can show it, send its forms, or learn from it', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(8), 2) });
  const context = await browser.newContext();
  const [page, frame] = await open(context, service);
  await expect(frame.locator('h1')).toHaveText('Choose a day and a time');
  // A form of the clinic's own site, in the same partition of cookies.
  await page.evaluate((action) => {
    document.body.innerHTML += `<form method="post" target="other" action="${action}"></form><iframe name="other"></iframe>`;
    document.querySelector('form')?.submit();
  }, `${origin}/portal/hold`);
  await expect(page.frameLocator('iframe[name=other]').locator('h1')).toHaveText('This did not come from this page');
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
  await page.goto(site.replace('127.0.0.1', '127.0.0.2'));
  await refused;
});

test('a browser that keeps no cookies in frames: a link leads to a tab of its own', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(8), 2) });
  const context = await browser.newContext();
  const [page, frame] = await open(context, service);
  await page.route(`${origin}/portal/hold`, async (route) => {
    const response = await route.fetch({ maxRedirects: 0 });
    const { 'set-cookie': _, ...headers } = response.headers();
    await route.fulfill({ response: response, headers });
  });
  await frame.locator('.times .time').first().click();
  await expect(frame.locator('h1')).toHaveText('This form belongs to another browser');
  const [tab] = await Promise.all([
    page.waitForEvent('popup'),
    frame.getByRole('link', { name: /tab of its own/ }).click(),
  ]);
  await tab.goto(service.address);
  await tab.locator('.times .time').last().click();
  await fillPerson(tab);
  await tab.locator('button.primary').click();
  await expect(tab.locator('.state')).toHaveText('Confirmed');
  expect((await slotsOf(service.schedule)).some((one) => one.startsWith('busy'))).toBe(true);
});
