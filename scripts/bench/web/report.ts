import { type Circumstances, circumstancesText, doubts } from '../machine.ts';
import { quantile } from '../measure.ts';

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
  'frame, 95 %, to an empty page': '×',
  'longest frame': 'ms',
  jerks: '% of the frames',
  processor: 'ms in a second',
} as const;

/** What is measured on a page. */
export type Measure = keyof typeof units;

/** One value of one round. */
export interface Sample {
  readonly page: string;
  readonly measure: Measure;
  readonly value: number;
}

/** The values of all rounds. */
interface WebRow {
  readonly page: string;
  readonly measure: Measure;
  readonly unit: string;
  readonly median: number;
  /** The smallest and the largest value of a round. */
  readonly spread: readonly [number, number];
  /** The most that it should be. */
  readonly goal?: number;
}

/** What `npm run bench -- web` has found. */
export interface WebReport {
  readonly circumstances: Circumstances;
  readonly browser: string;
  /** The load average before and after: if it exceeds the number of cores, the figures mean little. */
  readonly load: readonly [number, number];
  readonly rounds: number;
  readonly rows: readonly WebRow[];
}

/** The most that pages should need. */
const goals: readonly { readonly of: RegExp; readonly measure: Measure; readonly most: number }[] = [
  { of: /^portal/, measure: 'transferred', most: 60 },
  { of: /^front desk, day/, measure: 'interactive', most: 2_000 },
  { of: /week, scrolling$/, measure: 'frame, 95 %', most: 34 },
  { of: /week, scrolling$/, measure: 'frame, 95 %, to an empty page', most: 1.2 },
];

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** Puts the samples of all rounds together, in the order in which they first appeared. */
export function webRows(samples: readonly Sample[]): WebRow[] {
  const groups = Map.groupBy(samples, ({ page, measure }) => `${page}\n${measure}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) {
      return [];
    }
    const { page, measure } = first;
    const values = group.map(({ value }) => value);
    const goal = goals.find(({ of, measure: about }) => about === measure && of.test(page))?.most;
    return {
      page,
      measure,
      unit: units[measure],
      median: rounded(quantile(values, 0.5)),
      spread: [rounded(Math.min(...values)), rounded(Math.max(...values))],
      ...(goal !== undefined && { goal }),
    };
  });
}

/** The figures as a table. */
export function webTable({ rows }: WebReport): { head: string[]; rows: string[][] } {
  return {
    head: ['page', 'measure', 'median', 'of rounds', 'goal'],
    rows: rows.map(({ page, measure, unit, median, spread: [least, greatest], goal }) => [
      page,
      measure,
      `${median.toFixed(1)} ${unit}`,
      `${least.toFixed(1)}–${greatest.toFixed(1)}`,
      goal === undefined ? '' : `≤ ${goal}${median > goal ? ', missed' : ''}`,
    ]),
  };
}

/** What the measurement ran on, and what makes the figures doubtful. */
export function webRemarks({ circumstances, browser, load, rounds }: WebReport): string[] {
  return [
    circumstancesText(circumstances),
    `Chromium ${browser}; ${rounds} rounds; load of the machine ${load[0]} before and ${load[1]} after`,
    ...doubts(circumstances, load),
  ];
}
