import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

/** The rules of WCAG 2.2, levels A and AA, and axe's own advice. */
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Expects that axe finds nothing on the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(rules).analyze();
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}\n  ${html}`));
  expect(found, page.url()).toEqual([]);
}
