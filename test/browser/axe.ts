import { expect, type Page } from '@playwright/test';
import axe, { type RunOptions } from 'axe-core';

/** The rules of WCAG 2.2, levels A and AA, and axe's own advice. */
const rules: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
};

/** Expects that axe finds nothing on the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(axe.source);
  }
  const found = await page.evaluate(async (options) => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(document, options);
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}\n  ${html}`));
  }, rules);
  expect(found, page.url()).toEqual([]);
}

/** 1280 × 1024 pixels at 400 % zoom: also the narrowest window that pages must fit into (WCAG 1.4.10). */
export const smallest = { width: 320, height: 256 } as const;

/** The smallest target, in pixels (WCAG 2.5.8). */
const TARGET = 24;

/** Expects that nothing reaches out of the window sideways, that targets are large enough, and that axe finds nothing. */
export async function expectFits(page: Page): Promise<void> {
  const found = await page.evaluate((target) => {
    const isShown = (element: Element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const isLink = (element: Element) => element.matches('p a, li a, dd a, summary') && !element.matches('.button');
    // A radio button, a check box or a switch is as large as its label; a link in a text has no size of its own.
    const targets = [
      ...document.querySelectorAll('button, input, select, textarea, [role=tab], .button, nav a'),
    ].filter(
      (element) => isShown(element) && !isLink(element) && !element.matches('[tabindex="-1"][aria-hidden=true]'),
    );
    const boxOf = (element: Element): DOMRect =>
      (element.matches('[type=radio], [type=checkbox]')
        ? ((element as HTMLInputElement).labels?.[0] ?? element)
        : element
      ).getBoundingClientRect();
    return {
      width: document.documentElement.scrollWidth,
      small: targets
        .filter((element) => {
          const { width, height } = boxOf(element);
          return (width < target || height < target) && width * height > 4;
        })
        .map((element) => element.outerHTML.slice(0, 300)),
    };
  }, TARGET);
  expect(found, page.url()).toEqual({ width: expect.any(Number), small: [] });
  expect(found.width, `width of ${page.url()}`).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0);
  await expectAccessible(page);
}
