/** What somebody sees first: the demo clinic of `npm start`, and a booking there as a film. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { signInThere } from '../../apps/front-desk/test/browser/desk.ts';
import { pictureKind } from '../../packages/web/picture-kind.ts';
import { loadConfig } from '../../scripts/cli/load-config.ts';
import { DEMO_CLINIC } from '../../scripts/demo/clinic.ts';
import { start } from '../../scripts/start.ts';
import { freePort } from '../lib/free-port.ts';
import { expectAccessible } from './axe.ts';
import { origin } from './clinic.ts';
import { filmOf } from './film.ts';

/** Where the pictures go: `PICTURES=docs/pictures` renews the film of the README, and the pictures of the demo clinic. */
const folder = process.env.PICTURES ?? 'dist/test-browser/pictures';
const drawings = 'scripts/demo/pictures';

test('the pictures of the demo clinic are drawn from their sources', async ({ page }) => {
  const names = readdirSync(drawings).flatMap((name) => (name.endsWith('.svg') ? name.slice(0, -4) : []));
  expect(names.length).toBeGreaterThan(4);
  await page.setViewportSize({ width: 192, height: 192 });
  for (const name of names) {
    const svg = readFileSync(join(drawings, `${name}.svg`), 'utf8');
    await page.setContent(`<style>body{margin:0}svg{display:block;width:192px}</style>${svg}`);
    const drawn = await page.screenshot({ omitBackground: true });
    if (process.env.PICTURES) {
      writeFileSync(join(drawings, `${name}.png`), drawn);
    }
    const stored = readFileSync(join(drawings, `${name}.png`));
    expect(pictureKind(stored)).toEqual({ mediaType: 'image/png', width: 192, height: 192 });
    expect(stored.length).toBeLessThan(10_000);
  }
});

test('npm start opens on a clinic with a name, a logo and a busy day', async ({ page }) => {
  test.slow();
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  const running = await start({
    config: loadConfig(),
    ports: { gateway: await freePort(), medplum: await freePort() },
    pages: true,
    developer: { folder, settings: {} },
    log: () => undefined,
  });
  try {
    const own = new URL(running.baseUrl).origin;
    await page.goto(own);
    await page.getByRole('link', { name: 'Book an appointment' }).click();
    const clinic = page.getByRole('banner');
    await expect(clinic).toContainText(DEMO_CLINIC);
    await expect
      .poll(() => clinic.locator('img').evaluate((logo: HTMLImageElement) => logo.naturalWidth))
      .toBeGreaterThan(0);
    await page.goto(own);
    await page.getByRole('link', { name: 'Front desk' }).click();
    await signInThere(page);
    const grid = page.locator('.grid');
    await expect.poll(() => grid.getByRole('button', { name: /, (booked|pending)/ }).count()).toBeGreaterThan(20);
    await expect(page.getByRole('link', { name: /^Requests [1-9]\d*$/ })).toBeVisible();
    await expectAccessible(page);
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true });
  }
});

test.describe('on a small screen', () => {
  test.use({ locale: 'en-GB', viewport: { width: 820, height: 560 }, reducedMotion: 'reduce', colorScheme: 'light' });

  test('a booking at the demo clinic is a film of less than a megabyte', async ({ page }) => {
    const frames: { png: Buffer; stay: number }[] = [];
    const take = async (stay: number): Promise<void> => {
      frames.push({ png: await page.screenshot(), stay });
    };
    const type = async (name: string, text: string): Promise<void> => {
      await page.locator(`[name=${name}]`).fill(text);
    };
    await page.goto(`${origin}/portal/`);
    await expect(page.getByRole('banner').getByRole('img', { includeHidden: true })).toBeVisible();
    await take(1_800);
    await page.getByRole('link', { name: 'General medical consultation' }).hover();
    await take(500);
    await page.getByRole('link', { name: 'General medical consultation' }).click();
    await expect(page.locator('[name=time]').first()).toBeVisible();
    // What patients of a clinic in Berlin are told is Berlin's time.
    await expect(page.locator('[data-zone]')).toHaveAttribute('data-zone', 'Europe/Berlin');
    await expect(page.locator('footer')).not.toContainText('UTC');
    await take(1_800);
    const time = page.locator('[name=time]').last();
    await time.scrollIntoViewIfNeeded();
    await take(900);
    await time.click();
    await expect(page.locator('[name=given]')).toBeVisible();
    await take(1_500);
    await page.locator('[name=given]').scrollIntoViewIfNeeded();
    await type('given', 'Kim');
    await take(500);
    await type('family', 'Muster');
    await type('birthDate', '1990-05-17');
    await page.locator('[name=email]').scrollIntoViewIfNeeded();
    await type('email', 'kim@example.org');
    await take(1_000);
    await page.locator('button.primary').scrollIntoViewIfNeeded();
    await take(900);
    await page.locator('button.primary').click();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.getByText(/Muster/).first()).toBeVisible();
    await take(3_500);
    const film = filmOf(frames);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'booking.png'), film);
    expect(film.length).toBeLessThan(1_000_000);
    // A browser plays it: all of its frames can be read.
    expect(await played(page, film)).toBe(true);
  });
});

/** Whether the browser can decode the picture. */
async function played(page: Page, film: Buffer): Promise<boolean> {
  return page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    return image.decode().then(
      () => image.naturalWidth === 820,
      () => false,
    );
  }, film.toString('base64'));
}
