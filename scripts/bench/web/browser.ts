import { type Browser, type BrowserContext, chromium, type LaunchOptions, type Page } from '@playwright/test';

/** Debian's Chromium, or the one that `CHROMIUM` names, with everything turned off that would call other servers. */
export const launchOptions: LaunchOptions = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

/** A typical user's browser: an ordinary window, in the clinic's time zone. */
export const person = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'Europe/Berlin',
} as const;

/** Starts the browser. */
export const launch = (): Promise<Browser> => chromium.launch(launchOptions);

/** What it took to load a page. Times are milliseconds since the person requested it. */
export interface Load {
  /** What came over the wire, headers included, in bytes. */
  readonly bytes: number;
  /** When something could first be read. */
  readonly firstPaint: number;
  /** When the page and its scripts were there. */
  readonly complete: number;
  /** The longest time for which the page could not respond. */
  readonly longestTask: number;
}

/** What a page records about itself, from its first moment on. */
interface Notes {
  readonly tasks: { readonly start: number; readonly length: number }[];
  shown: number | undefined;
}

/**
 * Lets every page of a context note its long tasks, and when an element was first painted.
 *
 * @param selector - of the element that the page exists to show
 */
export async function takeNotes(context: BrowserContext, selector: string): Promise<void> {
  await context.addInitScript((wanted) => {
    const notes: Notes = { tasks: [], shown: undefined };
    Object.assign(window, { notes });
    new PerformanceObserver((list) => {
      notes.tasks.push(...list.getEntries().map(({ startTime, duration }) => ({ start: startTime, length: duration })));
    }).observe({ type: 'longtask', buffered: true });
    const look = (): void => {
      if (notes.shown === undefined && document.querySelector(wanted)) {
        observer.disconnect();
        // By the time the frame after the next one begins, it has been painted.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            notes.shown = performance.now();
          }),
        );
      }
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
  }, selector);
}

/** What a page has recorded. */
export const notesOf = (page: Page): Promise<Notes> =>
  page.evaluate(() => (window as unknown as { notes: Notes }).notes);

/**
 * Does something that loads a page, and returns what it took.
 *
 * @param go - resolves when the page has loaded
 */
export async function loadBy(page: Page, go: () => Promise<unknown>): Promise<Load> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await go();
  await page.waitForLoadState('networkidle');
  const times = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    return { firstPaint: paint?.startTime ?? Number.NaN, complete: navigation?.domContentLoadedEventEnd ?? Number.NaN };
  });
  const { tasks } = await notesOf(page);
  await devtools.detach();
  return { bytes, ...times, longestTask: Math.max(0, ...tasks.map(({ length }) => length)) };
}
