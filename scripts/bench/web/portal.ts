import type { Browser } from '@playwright/test';
import { type Load, loadBy, person, takeNotes } from './browser.ts';
import type { Sample } from './report.ts';

const samplesOf = (page: string, { bytes, firstPaint, complete }: Load): Sample[] => [
  { page, measure: 'transferred', value: bytes / 1_000 },
  { page, measure: 'first paint', value: firstPaint },
  { page, measure: 'complete', value: complete },
];

/**
 * A person's first visit to the portal, with an empty cache: the services, the free times of one, the details.
 *
 * @param origin - of the pages
 */
export async function measurePortal(browser: Browser, origin: string): Promise<Sample[]> {
  const context = await browser.newContext(person);
  await takeNotes(context, 'h1');
  const page = await context.newPage();
  const services = await loadBy(page, () => page.goto(`${origin}/portal/`));
  const link = await page.locator('.cards a').first().getAttribute('href');
  if (!link) {
    throw new Error('The portal offers no service.');
  }
  const again = await browser.newContext(person);
  await takeNotes(again, 'h1');
  const times = await again.newPage();
  const ofTimes = await loadBy(times, () => times.goto(`${origin}${link}`));
  // What the pages share is cached by now, as it is for every visitor who gets this far.
  const ofDetails = await loadBy(times, async () => {
    await times.locator('.time').last().click();
    await times.waitForURL(/details/);
  });
  await times.locator('button[value=other]').click();
  await times.waitForURL(/times/);
  await Promise.all([context.close(), again.close()]);
  return [
    ...samplesOf('portal, services', services),
    ...samplesOf('portal, times', ofTimes),
    ...samplesOf('portal, details', ofDetails),
  ];
}
