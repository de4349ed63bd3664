import type { Browser, BrowserContext, Page } from '@playwright/test';
import { quantile } from '../measure.ts';
import { person, takeNotes } from './browser.ts';
import type { Week } from './calendars.ts';
import { ENTRY, PATIENCE, type SignedIn, weekAddress } from './front-desk.ts';
import type { Measure, Sample } from './report.ts';

/** How fast a person scrolls, in pixels per second. */
const SPEED = 3_000;

/** What is scrolled. */
const BOX = '.grid';

interface Scrolled {
  readonly frames: readonly number[];
  readonly tasks: readonly number[];
  /** Processor time of the page, in milliseconds per second of scrolling: other programs hardly change it. */
  readonly busy: number;
}

/** Scrolls a box with the wheel from one end to the other, and records each frame. */
async function scrollAcross(page: Page): Promise<Scrolled> {
  const box = await page.locator(BOX).boundingBox();
  if (!box) {
    throw new Error('There is nothing to scroll.');
  }
  const room = await page.locator(BOX).evaluate((grid) => grid.scrollWidth - grid.clientWidth);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const used = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const before = await used();
  await page.evaluate(() => {
    const frames: number[] = [];
    let last = performance.now();
    const step = (now: number): void => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    Object.assign(window, { frames, from: last });
  });
  await devtools.send('Input.synthesizeScrollGesture', {
    x: box.x + box.width / 2,
    y: box.y + Math.min(box.height, 300) / 2,
    xDistance: -(room + 100),
    speed: SPEED,
    gestureSourceType: 'mouse',
  });
  const busy = ((await used()) - before) * SPEED;
  const result = await page.evaluate((selector) => {
    const { frames, from, notes } = window as unknown as {
      frames: number[];
      from: number;
      notes: { tasks: { start: number; length: number }[] };
    };
    const grid = document.querySelector(selector);
    return {
      frames: frames.slice(1),
      tasks: notes.tasks.filter(({ start }) => start >= from).map(({ length }) => length),
      left: grid ? grid.scrollWidth - grid.clientWidth - grid.scrollLeft : Number.NaN,
    };
  }, BOX);
  await devtools.detach();
  if (!(room > 1_000) || !(result.left < 2)) {
    throw new Error(`The box was not scrolled to its end: ${result.left} of ${room} pixels are left.`);
  }
  return { ...result, busy: (busy / room) * 1_000 };
}

/** A page with nothing but a white box of the same size, which scrolls as smoothly as this machine and browser can. */
async function emptyLike(page: Page, context: BrowserContext): Promise<Page> {
  const { left, top, width, height, across, down } = await page.locator(BOX).evaluate((grid) => {
    const { left, top, width, height } = grid.getBoundingClientRect();
    return { left, top, width, height, across: grid.scrollWidth, down: grid.scrollHeight };
  });
  const empty = await context.newPage();
  const outer = `position:fixed;overflow:auto;background:#fff;left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
  const markup = `<div class="grid" style="${outer}"><div style="width:${across}px;height:${down}px"></div></div>`;
  await empty.goto(`data:text/html,${encodeURIComponent(`<!doctype html>${markup}`)}`);
  return empty;
}

/** A frame that took longer than two frames of a 60 Hz screen is visible as a jerk. */
const JERK = 1_000 / 30 + 1;

const valuesOf = ({ frames, tasks, busy }: Scrolled) =>
  ({
    frame: quantile(frames, 0.5),
    'frame, 95 %': quantile(frames, 0.95),
    'longest frame': Math.max(...frames),
    jerks: (frames.filter((length) => length > JERK).length / frames.length) * 100,
    'longest task': Math.max(0, ...tasks),
    processor: busy,
  }) satisfies Partial<Record<Measure, number>>;

const samplesOf = (page: string, values: Partial<Record<Measure, number>>): Sample[] =>
  Object.entries(values).map(([measure, value]) => ({ page, measure: measure as Measure, value }));

/**
 * Scrolling through a week of many calendars, and right after it through an empty page of the same size: what the empty page
 * needs is due to the machine and the browser, without a graphics card.
 */
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
  const calendars = valuesOf(await scrollAcross(page));
  const empty = await emptyLike(page, context);
  await page.close();
  const nothing = valuesOf(await scrollAcross(empty));
  await context.close();
  return [
    ...samplesOf(`front desk, ${week.schedules.length} calendars × a week, scrolling`, {
      ...calendars,
      'frame, 95 %, to an empty page': calendars['frame, 95 %'] / nothing['frame, 95 %'],
    }),
    ...samplesOf('an empty page of that size, scrolling', nothing),
  ];
}
