import { quantile, rangeText } from '../measure.ts';

/** What is measured on a page, and in which unit. */
const units = {
  transferred: 'kB',
  'first paint': 'ms',
  complete: 'ms',
  interactive: 'ms',
  'a click is answered': 'ms',
  'longest task': 'ms',
  frame: 'ms',
  'frame, 95 %': 'ms',
  'longest frame': 'ms',
} as const;

/** What is measured on a page. */
type Measure = keyof typeof units;

/** One value of one round. */
export interface Sample {
  readonly page: string;
  readonly measure: Measure;
  readonly value: number;
}

/** The most that pages should need. */
const goals: readonly { readonly of: RegExp; readonly measure: Measure; readonly most: number }[] = [
  { of: /^portal/, measure: 'transferred', most: 60 },
  { of: /^front desk, day/, measure: 'interactive', most: 2_000 },
  { of: /week, scrolling$/, measure: 'frame, 95 %', most: 34 },
];

export const columns = ['page', 'measure', 'median', 'of rounds', 'goal'];

/** Puts the samples of all rounds together, in the order in which they first appeared. */
export function rowsOf(samples: readonly Sample[]): string[][] {
  const groups = Map.groupBy(samples, ({ page, measure }) => `${page}\n${measure}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) {
      return [];
    }
    const { page, measure } = first;
    const values = group.map(({ value }) => value);
    const median = quantile(values, 0.5);
    const goal = goals.find(({ of, measure: about }) => about === measure && of.test(page))?.most;
    const judged = goal === undefined ? '' : `≤ ${goal}${median > goal ? ', missed' : ''}`;
    return [[page, measure, `${median.toFixed(1)} ${units[measure]}`, rangeText(values), judged]];
  });
}
