import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { expect, type Page, test } from '@playwright/test';
import { aSchedule, aSlot, slotsOf } from '../contract/fixtures.ts';
import { base, tokenOf } from '../contract/installation.ts';

const program = readFileSync('test/clients/fetch.js', 'utf8');
const allowed = process.env.OTHER_ORIGIN ?? '';

/** A portal's own server: an empty page, and the program. */
const portal = createServer((request, response) => {
  const isProgram = request.url === '/fetch.js';
  response.setHeader('content-type', isProgram ? 'text/javascript' : 'text/html');
  response.end(isProgram ? program : '<!doctype html><title>Portal</title>');
});

const listening = (server: Server, port: number) => new Promise<void>((resolve) => server.listen(port, resolve));

// Never with the installation that the tests start themselves (start.ts).
test.skip(
  allowed === '',
  'The installation was started by somebody else: set OTHER_ORIGIN to a free http://localhost:… that its CORS_ORIGINS name.',
);
test.beforeAll(() => listening(portal, Number(new URL(allowed).port)));
test.afterAll(() => void portal.close());

/** Runs the program in a page; what it tells, or the browser's refusal. */
async function run(page: Page, origin: string, schedule: string): Promise<unknown> {
  const settings = { base, token: await tokenOf('portal-a'), schedule };
  await page.goto(origin);
  return page.evaluate(async (given) => {
    const { bookAndCancel } = await import(`${location.origin}/fetch.js`);
    return bookAndCancel(given).catch((error: unknown) => String(error));
  }, settings);
}

test('a page of an origin that is configured books, reads and cancels', async ({ page }) => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  expect(await run(page, allowed, `${schedule.id}`)).toEqual(['booked', 'booked', 'cancelled']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

test('a page of another origin is stopped by the browser', async ({ page }) => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  const other = allowed.replace('localhost', '127.0.0.1');
  expect(await run(page, other, `${schedule.id}`)).toContain('Failed to fetch');
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
