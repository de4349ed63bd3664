import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, expect, type Page, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, visit } from '../../../../test/browser/clinic.ts';
import { launchOptions } from '../../../../test/browser/launch.ts';

test('what is typed stays through a reload, the ways back and forward, and another language', async ({ page }) => {
  const service = await aService({
    starts: halfHours(morning(8), 2),
    questionnaire: { item: [{ linkId: 'a', text: 'Any allergies?', type: 'boolean' }] },
  });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page, 'Renate', 'Bleibt');
  await page
    .getByRole('group', { name: /allergies/ })
    .getByLabel('Yes')
    .check();
  // In no browser a month can be taken for a day.
  const day = page.locator('#field-birthDate + output');
  await expect(day).toHaveText('17 May 1990');
  const check = async () => {
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await expect(page.locator('[name="q.0"][value=true]')).toBeChecked();
  };
  await page.reload();
  await check();
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Choose a day and a time');
  await page.goForward();
  await check();
  await page.locator('.language summary').click();
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ihre Angaben');
  await check();
  await expect(day).toHaveText('17. Mai 1990');
  await expectAccessible(page);
  await page.locator('[name=email]').press('Enter');
  await expect(page.locator('.state')).toHaveText('Bestätigt');
  expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
});

/** A browser of its own, to which nothing is attached while nobody looks: Chromium discards no tab that is being debugged. */
async function aBrowser(folder: string) {
  const extension = join(folder, 'extension');
  mkdirSync(extension);
  const manifest = { manifest_version: 3, name: 'Discards tabs', version: '1', permissions: ['tabs'] };
  writeFileSync(
    join(extension, 'manifest.json'),
    JSON.stringify({ ...manifest, background: { service_worker: 'worker.js' } }),
  );
  writeFileSync(join(extension, 'worker.js'), '');
  const own = [`--user-data-dir=${join(folder, 'profile')}`, `--load-extension=${extension}`];
  const allowed = '--disable-features=DisableLoadExtensionCommandLineSwitch';
  const args = ['--headless', ...(launchOptions.args ?? []), ...own, allowed, '--remote-debugging-port=0'];
  const child = spawn(launchOptions.executablePath ?? '', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  for await (const piece of child.stderr) {
    said += piece;
    if (/listening on ws:\S+\n/.test(said)) {
      break;
    }
  }
  const address = `http://${/ws:\/\/([^/]+)/.exec(said)?.[1]}`;
  /** Does something on a new page, which stays. */
  const visited = async (act: (page: Page) => Promise<void>): Promise<void> => {
    // A browser that is still starting may leave the first one unanswered.
    const connected = () => chromium.connectOverCDP(address, { timeout: 10_000 });
    const browser = await connected().catch(connected);
    await act((await browser.contexts()[0]?.newPage()) as Page);
    await browser.close();
  };
  /** What an expression is in the page, or the worker of the extension, whose address holds a text. */
  const evaluate = async (part: string, expression: string): Promise<unknown> => {
    const targets = (await (await fetch(`${address}/json/list`)).json()) as Record<string, string>[];
    const target = targets.find(({ url }) => url?.includes(part));
    if (!target?.webSocketDebuggerUrl) {
      return undefined;
    }
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    try {
      await once(socket, 'open');
      const params = { expression, awaitPromise: true, returnByValue: true };
      socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }));
      for await (const [{ data }] of on(socket, 'message', { close: ['close'] })) {
        const { id, result } = JSON.parse(data);
        if (id === 1) {
          return result?.result?.value;
        }
      }
      return undefined;
    } finally {
      socket.close();
    }
  };
  return { child, visited, evaluate };
}

test('what is typed outlives a tab that the browser discards, and is gone once it is booked', async () => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(8), 2) });
  const folder = mkdtempSync(join(tmpdir(), 'discard-'));
  const { child, visited, evaluate } = await aBrowser(folder);
  const onPage = (expression: string) => expect.poll(() => evaluate('/portal/', expression));
  try {
    await visited(async (page) => {
      await visit(page, service);
      await page.locator('.time').first().click();
      await fillPerson(page, 'Renate', 'Bleibt');
    });
    const discard = `chrome.tabs.query({}).then(async (all) => {
      const { discarded, id } = await chrome.tabs.discard(all.find(({ url }) => url.includes('/details?')).id);
      await chrome.tabs.reload(id);
      return discarded;
    })`;
    expect(await evaluate('/worker.js', discard)).toBe(true);
    await onPage(`document.wasDiscarded && document.querySelector('[name=family]')?.value`).toBe('Bleibt');
    await evaluate('/portal/', `document.querySelector('button.primary').click()`);
    await onPage(`document.querySelector('.state')?.textContent`).toBe('Confirmed');
    await onPage(`Object.keys(sessionStorage).length`).toBe(0);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }
});

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false });
  test('what is typed stays in another language, and the way back over a mistake asks nothing', async ({ page }) => {
    const service = await aService({ starts: halfHours(morning(8), 1) });
    await visit(page, service);
    await page.getByRole('button', { name: '09:00' }).click();
    await fillPerson(page, 'Renate', 'Bleibt');
    await page.locator('.language summary').click();
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ihre Angaben');
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await page.locator('[name=birthDate]').fill('2999-01-01');
    await page.locator('[name=email]').press('Enter');
    await expect(page.getByRole('alert')).toContainText('Dieses Datum liegt in der Zukunft.');
    await page.goBack();
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await page.goForward();
    await expect(page.getByRole('alert')).toContainText('Dieses Datum liegt in der Zukunft.');
    await page.locator('[name=birthDate]').fill('1990-05-17');
    await page.locator('[name=email]').press('Enter');
    await expect(page.locator('.state')).toHaveText('Bestätigt');
  });
});
