/** What the tasks of people cost: clicks, fields and seconds, as tables for docs/figures.md. */
import { expect, type Locator } from '@playwright/test';

/** A hand that is counted. */
export interface Hand {
  readonly click: (target: Locator) => Promise<void>;
  readonly type: (target: Locator, text: string) => Promise<void>;
}

export interface Cost {
  readonly task: string;
  readonly clicks: number;
  readonly fields: number;
  readonly seconds: number;
}

/** Does a task, and counts what it costs until it can be seen that it is done. */
export async function costOf(task: string, work: (hand: Hand) => Promise<unknown>): Promise<Cost> {
  let [clicks, fields] = [0, 0];
  const begun = performance.now();
  await work({
    click: async (target) => {
      clicks += 1;
      await target.click();
    },
    type: async (target, text) => {
      fields += 1;
      await target.fill(text);
    },
  });
  return { task, clicks, fields, seconds: (performance.now() - begun) / 1000 };
}

/** What each task may cost: a page that asks for more has become worse. */
export type Most = Readonly<Record<string, readonly [clicks: number, fields: number]>>;

/** Prints the costs, and demands that they are as they were. */
export function expectCosts(costs: readonly Cost[], most: Most): void {
  for (const { task, clicks, fields, seconds } of costs) {
    process.stdout.write(`| ${task} | ${clicks} | ${fields} | ${seconds.toFixed(1)} |\n`);
  }
  expect(Object.fromEntries(costs.map(({ task, clicks, fields }) => [task, [clicks, fields]]))).toEqual(most);
}
