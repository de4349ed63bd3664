import { test as base } from '@playwright/test';

/** A test whose contexts end with it: the pages of one that stays open go on asking for updates until the last test is over. */
export const test = base.extend<{ end: undefined }>({
  end: [
    async ({ browser }, use) => {
      await use(undefined);
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    { auto: true },
  ],
});
