import { Command } from 'commander';
import { runAsProgram } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { findInstallation } from './installation.ts';
import { quantile } from './measure.ts';
import { startReceivers } from './receivers/receivers.ts';
import { measureRound, type Round } from './receivers/round.ts';
import { begin, type Condition, subscribeAll } from './receivers/subscriptions.ts';

interface Arguments {
  readonly receivers: number;
  readonly rounds: number;
  readonly bookings: number;
  readonly config?: string;
}

const measures = ['booking', 'job', 'notification'] as const satisfies readonly (keyof Round)[];

const pooled = (rounds: readonly Round[]): Round => ({
  booking: rounds.flatMap(({ booking }) => booking),
  job: rounds.flatMap(({ job }) => job),
  notification: rounds.flatMap(({ notification }) => notification),
});

const conditions = ['quiet', 'answering', 'hanging'] as const satisfies readonly Condition[];

type Measured = Readonly<Record<Condition, Round[]>>;

function rowsOf(measured: Measured): string[][] {
  return measures.map((name) => {
    const [quiet, answering, hanging] = conditions.map((one) => pooled(measured[one])[name]);
    const [alone, before, after] = [quiet, answering, hanging].map((values) => quantile(values ?? [], 0.5));
    const medians = [alone, before, after].map((value = Number.NaN) => value.toFixed(1));
    const ratio = (one = Number.NaN, other = Number.NaN): string => (one / other).toFixed(2);
    return [name, ...medians, ratio(after, alone), ratio(after, before), String(quiet?.length)];
  });
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run bench:receivers --')
    .description(
      'Measures whether receivers that never answer slow down others. Another portal has many Subscriptions, which in ' +
        'turns have nothing to deliver, or a notification each, and receivers that answer, or hang. Measured is one portal: ' +
        'bookings, asynchronous bookings until their result, changes by staff until the notification. Variables as ' +
        'with npm run bench, and PORTAL_B_…; notifications.maxSubscriptions must be large enough.',
    )
    .option('--receivers <number>', 'receivers that hang', Number, 500)
    .option('--rounds <number>', 'rounds of all three', Number, 3)
    .option('--bookings <number>', 'of each kind in a round', Number, 20)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .parse()
    .opts<Arguments>();
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  const receivers = await startReceivers();
  try {
    const target = { installation, config, receivers };
    const trigger = await subscribeAll(target, given.receivers);
    await measureRound(target, 5);
    const measured: Measured = { quiet: [], answering: [], hanging: [] };
    for (let round = 0; round < given.rounds; round++) {
      for (const condition of [...conditions.slice(round % 3), ...conditions.slice(0, round % 3)]) {
        const end = await begin(target, trigger, given.receivers, condition);
        measured[condition].push(await measureRound(target, given.bookings));
        await end();
      }
      console.error(`Round ${round + 1} of ${given.rounds}.`);
    }
    const head = ['p50 in ms', ...conditions, 'hanging ÷ quiet', 'hanging ÷ answering', 'number'];
    console.log(formatTable(head, rowsOf(measured)));
  } finally {
    receivers.close();
    installation.stop();
  }
}

await runAsProgram(import.meta.url, main);
