import type { Command } from 'commander';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { findInstallation } from './installation.ts';
import { quantile } from './measure.ts';
import { startReceivers } from './receivers/receivers.ts';
import { measureRound, type Round } from './receivers/round.ts';
import { begin, type Condition, subscribeAll } from './receivers/subscriptions.ts';

interface Arguments {
  readonly receivers: number;
  readonly rounds: number;
  readonly bookings: number;
  readonly conditions: readonly Condition[];
  readonly config?: string;
}

const measures = ['booking', 'job', 'notification'] as const satisfies readonly (keyof Round)[];

const pooled = (rounds: readonly Round[]): Round => ({
  booking: rounds.flatMap(({ booking }) => booking),
  job: rounds.flatMap(({ job }) => job),
  notification: rounds.flatMap(({ notification }) => notification),
});

const all = ['quiet', 'answering', 'hanging'] as const satisfies readonly Condition[];

type Measured = Readonly<Record<Condition, Round[]>>;

function readConditions(text: string): Condition[] {
  return text.split(',').map((given) => {
    const condition = all.find((one) => one === given);
    if (!condition) {
      throw new Error(`${given} is not one of ${all.join(', ')}.`);
    }
    return condition;
  });
}

function rowsOf(measured: Measured): string[][] {
  return measures.map((name) => {
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
    .option('--bookings <number>', 'of each kind in a round', wholeNumber(1), 20)
    .option(
      '--conditions <list>',
      'only these; where a portal has many Subscriptions, each takes minutes to end',
      readConditions,
      [...all],
    )
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: Arguments): Promise<void> {
  const { conditions } = given;
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  const receivers = await startReceivers();
  try {
    const target = { installation, config, receivers };
    const trigger = await subscribeAll(target, given.receivers);
    await measureRound(target, 5);
    const measured: Measured = { quiet: [], answering: [], hanging: [] };
    for (let round = 0; round < given.rounds; round++) {
      const first = round % conditions.length;
      for (const [index, condition] of [...conditions.slice(first), ...conditions.slice(0, first)].entries()) {
        console.error(`Round ${round + 1} of ${given.rounds}: ${condition}.`);
        const end = await begin(target, trigger, given.receivers, condition);
        measured[condition].push(await measureRound(target, given.bookings));
        if (round + 1 < given.rounds || index + 1 < conditions.length) {
          await end();
        }
      }
    }
    const head = ['p50 in ms', ...all, 'hanging ÷ quiet', 'hanging ÷ answering', 'number'];
    console.log(formatTable(head, rowsOf(measured)));
  } finally {
    receivers.close();
    installation.stop();
  }
}
