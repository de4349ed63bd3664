import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { type Bench, measures } from './machine.ts';
import { inTurn, quantile } from './measure.ts';
import { startReceivers } from './receivers/receivers.ts';
import { measureRound, type Round } from './receivers/round.ts';
import { begin, type Condition, subscribeAll } from './receivers/subscriptions.ts';

interface Arguments {
  readonly receivers: number;
  readonly rounds: number;
  readonly bookings: number;
}

const kinds = ['booking', 'job', 'notification'] as const satisfies readonly (keyof Round)[];

const pooled = (rounds: readonly Round[]): Round => ({
  booking: rounds.flatMap(({ booking }) => booking),
  job: rounds.flatMap(({ job }) => job),
  notification: rounds.flatMap(({ notification }) => notification),
});

const all = ['quiet', 'answering', 'hanging'] as const satisfies readonly Condition[];

type Measured = Readonly<Record<Condition, Round[]>>;

function rowsOf(measured: Measured): string[][] {
  return kinds.map((name) => {
    const [quiet, answering, hanging] = all.map((one) => pooled(measured[one])[name]);
    const [alone, before, after] = [quiet, answering, hanging].map((values) => quantile(values ?? [], 0.5));
    const shown = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '–');
    const medians = [alone, before, after].map((value = Number.NaN) => shown(value, 1));
    const ratio = (one = Number.NaN, other = Number.NaN): string => shown(one / other, 2);
    return [name, ...medians, ratio(after, alone), ratio(after, before), String(hanging?.length)];
  });
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures whether receivers that never answer slow down others. Another portal has many Subscriptions, which in turn ' +
        'have nothing to deliver, or one notification each for receivers that answer, or for receivers that hang. One portal ' +
        'is measured: bookings, asynchronous bookings until their result, changes by staff until the notification. Takes the ' +
        'variables of npm run bench, and PORTAL_B_…; notifications.maxSubscriptions must be large enough.',
    )
    .option('--receivers <number>', 'receivers that hang', wholeNumber(1), 500)
    .option('--rounds <number>', 'rounds of all three', wholeNumber(1), 3)
    .option('--bookings <number>', 'of each kind in a round', wholeNumber(1), 20);
  measures(command, run);
}

async function run(given: Arguments, { installation, config, print }: Bench): Promise<void> {
  const receivers = await startReceivers();
  try {
    const target = { installation, config, receivers };
    const trigger = await subscribeAll(target, given.receivers);
    await measureRound(target, 5);
    const measured: Measured = { quiet: [], answering: [], hanging: [] };
    for (let round = 0; round < given.rounds; round++) {
      for (const [index, condition] of inTurn(all, round).entries()) {
        console.error(`Round ${round + 1} of ${given.rounds}: ${condition}.`);
        const end = await begin(target, trigger, given.receivers, condition);
        measured[condition].push(await measureRound(target, given.bookings));
        if (round + 1 < given.rounds || index + 1 < all.length) {
          await end();
        }
      }
    }
    const columns = ['p50 in ms', ...all, 'hanging ÷ quiet', 'hanging ÷ answering', 'number'];
    print({ what: `${given.rounds} rounds, ${given.receivers} receivers`, columns, rows: rowsOf(measured) });
  } finally {
    receivers.close();
  }
}
