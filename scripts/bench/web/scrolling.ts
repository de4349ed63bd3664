import type { Browser, Page } from '@playwright/test';
import { quantile } from '../measure.ts';
import { person, takeNotes } from './browser.ts';
import type { Week } from './calendars.ts';
import { ENTRY, PATIENCE, type SignedIn, weekAddress } from './front-desk.ts';
import type { Sample } from './report.ts';

/** How fast a person scrolls, in pixels per second. */
const SPEED = 3_000;

/** What is scrolled. */
const BOX = '.grid';

/** Scrolls a box with the wheel from one end to the other; returns how long each frame took, in milliseconds. */
async function scrollAcross(page: Page): Promise<number[]> {
  const box = await page.locator(BOX).boundingBox();
  if (!box) {
    throw new Error('There is nothing to scroll.');
  }
  const room = await page.locator(BOX).evaluate((grid) => grid.scrollWidth - grid.clientWidth);
  const devtools = await page.context().newCDPSession(page);
  await page.evaluate(() => {
    const frames: number[] = [];
    let last = performance.now();
    const step = (now: number): void => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    Object.assign(window, { frames });
  });
  await devtools.send('Input.synthesizeScrollGesture', {
    x: box.x + box.width / 2,
    y: box.y + Math.min(box.height, 300) / 2,
    xDistance: -(room + 100),
    speed: SPEED,
    gestureSourceType: 'mouse',
  });
  const frames = await page.evaluate(() => (window as unknown as { frames: number[] }).frames);
  const left = await page.locator(BOX).evaluate((grid) => grid.scrollWidth - grid.clientWidth - grid.scrollLeft);
  await devtools.detach();
  if (!(room > 1_000) || !(left < 2)) {
    throw new Error(`The box was not scrolled to its end: ${left} of ${room} pixels are left.`);
  }
  return frames.slice(1);
}

/** Scrolling through a week of many calendars. */
export async function measureScrolling(
  browser: Browser,
  origin: string,
  state: SignedIn,
  week: Week,
): Promise<Sample[]> {
  const context = await browser.newContext({ ...person, storageState: state });
  await takeNotes(context, ENTRY);
  const page = await context.newPage();
  await page.goto(weekAddress(origin, week));
  await page.locator(ENTRY).first().waitFor({ timeout: PATIENCE });
  await page.waitForLoadState('networkidle');
  const frames = await scrollAcross(page);
  await context.close();
  const of = `front desk, ${week.schedules.length} calendars × a week, scrolling`;
  return [
    { page: of, measure: 'frame', value: quantile(frames, 0.5) },
    { page: of, measure: 'frame, 95 %', value: quantile(frames, 0.95) },
    { page: of, measure: 'longest frame', value: Math.max(...frames) },
  ];
}
