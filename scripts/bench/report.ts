import { z } from 'zod';
import { circumstancesSchema, circumstancesText, differences, doubts } from './machine.ts';
import { type Measurement, nothing, quantile, throughput, together } from './measure.ts';

const range = z.tuple([z.number(), z.number()]);

const rowSchema = z.object({
  callers: z.number(),
  calendars: z.number(),
  way: z.string(),
  /** In milliseconds. */
  p50: z.number(),
  p95: z.number(),
  perSecond: z.number(),
  /** The smallest and the largest value of a round. */
  spread: z.object({ p50: range, perSecond: range }),
  conflicts: z.number(),
  failures: z.number(),
});

/** The figures of one way to book at one number of callers. */
export type Row = z.infer<typeof rowSchema>;

const reportSchema = z.object({
  circumstances: circumstancesSchema,
  /** The load average before and after: if it exceeds the number of cores, the figures mean little. */
  load: range,
  bookings: z.number(),
  rounds: z.number(),
  rows: z.array(rowSchema),
});

/** What a benchmark has found. */
export type Report = z.infer<typeof reportSchema>;

/**
 * Reads a report that was written earlier with `--json`.
 *
 * @throws Error when it is not one
 */
export function parseReport(text: string): Report {
  const parsed = reportSchema.safeParse(JSON.parse(text));
  if (!parsed.success) {
    throw new Error(`This is not a report of npm run bench -- --json: ${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** The smallest and the largest value. */
export const rangeOf = (values: readonly number[]): [number, number] => [
  rounded(Math.min(...values)),
  rounded(Math.max(...values)),
];

/** The figures of several rounds of one way. */
export function rowOf(what: Pick<Row, 'callers' | 'calendars' | 'way'>, rounds: readonly Measurement[]): Row {
  const all = rounds.reduce(together, nothing);
  const measured = rounds.filter(({ durations }) => durations.length > 0);
  return {
    ...what,
    p50: rounded(quantile(all.durations, 0.5)),
    p95: rounded(quantile(all.durations, 0.95)),
    perSecond: rounded(throughput(all)),
    spread: {
      p50: rangeOf(measured.map(({ durations }) => quantile(durations, 0.5))),
      perSecond: rangeOf(measured.map(throughput)),
    },
    conflicts: all.conflicts,
    failures: all.failures,
  };
}

const head = [
  'callers',
  'calendars',
  'way',
  'p50 ms',
  'of rounds',
  'p95 ms',
  'bookings/s',
  'of rounds',
  'p50 × transaction',
  'p50 × $book',
  'bookings/s × $book',
  'conflicts',
  'failures',
];

/** A range in a table. */
export const rangeText = ([least, greatest]: readonly [number, number]): string =>
  `${least.toFixed(1)}–${greatest.toFixed(1)}`;

const ratio = (value: number, to: number | undefined): string => (to ? (value / to).toFixed(2) : '');

function same(rows: readonly Row[], { callers, calendars }: Row, way: string): Row | undefined {
  return rows.find((row) => row.callers === callers && row.calendars === calendars && row.way === way);
}

/** Whether the range measured now lies entirely outside the range measured before. */
const isApart = (now: readonly [number, number], before: readonly [number, number]): boolean =>
  now[0] > before[1] || now[1] < before[0];

const changeOf = (value: number, earlier: number, isBeyond: boolean): string =>
  `${(value / earlier).toFixed(2)}${isBeyond ? '' : ' (within the spread)'}`;

function comparison(row: Row, before: Report | undefined): string[] {
  const earlier = before && same(before.rows, row, row.way);
  if (!before) {
    return [];
  }
  return earlier
    ? [
        changeOf(row.p50, earlier.p50, isApart(row.spread.p50, earlier.spread.p50)),
        changeOf(row.perSecond, earlier.perSecond, isApart(row.spread.perSecond, earlier.spread.perSecond)),
      ]
    : ['', ''];
}

/** The figures as a table; with an earlier report, also by how much each has changed. */
export function tableOf({ rows }: Report, before?: Report): { head: string[]; rows: string[][] } {
  const cells = rows.map((row) => {
    const book = same(rows, row, 'plain $book');
    return [
      String(row.callers),
      String(row.calendars),
      row.way,
      row.p50.toFixed(1),
      rangeText(row.spread.p50),
      row.p95.toFixed(1),
      row.perSecond.toFixed(1),
      rangeText(row.spread.perSecond),
      ratio(row.p50, same(rows, row, 'plain transaction')?.p50),
      ratio(row.p50, book?.p50),
      ratio(row.perSecond, book?.perSecond),
      String(row.conflicts),
      String(row.failures),
      ...comparison(row, before),
    ];
  });
  return { head: [...head, ...(before ? ['p50 × before', 'throughput × before'] : [])], rows: cells };
}

/** What the measurement ran on, and what makes the figures, or the comparison, doubtful. */
export function remarksOn({ circumstances, load, bookings, rounds }: Report, before?: Report): string[] {
  const others = before ? differences(before.circumstances, circumstances) : [];
  return [
    circumstancesText(circumstances),
    `${bookings} bookings in ${rounds} rounds; load of the machine ${load[0]} before and ${load[1]} after`,
    ...doubts(circumstances, load),
    ...(others.length > 0 ? [`Compared with other circumstances: ${others.join(', ')}.`] : []),
  ];
}
