import { Command } from 'commander';
import { runAsProgram } from '../../../../scripts/cli/command.ts';
import { formatTable } from '../../../../scripts/cli/table.ts';
import { wholeNumber } from '../../../../scripts/cli/whole-number.ts';
import type { Mistake } from '../../../../test/simulation/world.ts';
import { adapters } from '../../attack/adapters.ts';
import { type Attack, attack, type Findings } from '../../attack/attack.ts';
import { rules } from '../../attack/check-history.ts';
import { violationTable } from '../../attack/violation-table.ts';
import { loadSimulated, published } from './simulated.ts';

interface Arguments {
  readonly mistakes?: string | true;
  readonly inProcess?: boolean;
  readonly other?: boolean;
  readonly seconds: number;
  readonly seed: number;
}

/** How many rounds a service without sockets is used for: it keeps everything that was ever written. */
const ROUNDS = 16;

/** What happens without this service's guards: Medplum's own scheduling books what a portal has. */
const UNGUARDED = "Medplum's own $book beside portals, and no guard";
const unguarded: Mistake = { isIdle: (occasion) => occasion === 'guard' };

/** What the attack does not do: visits of several appointments, absences, waiting. The simulation finds these mistakes. */
const beyond = / visit |absence|who wait/;

type Seek = (name: string, goesOn: Attack['goesOn']) => Promise<Findings>;

/** Attacks a new service again and again, while it goes on and nothing is found. */
async function attackNewOnes(
  run: Awaited<ReturnType<typeof loadSimulated>>,
  seed: number,
  goesOn: (operations: number) => boolean,
  mistake = {},
): Promise<Findings> {
  let operations = 0;
  for (let next = seed; ; next++) {
    const soFar = operations;
    const found = await run(
      next,
      (findings) => findings.rounds < ROUNDS && goesOn(soFar + findings.operations),
      mistake,
    );
    operations += found.operations;
    if (found.violations.length > 0) {
      process.stderr.write(`\nSeed ${next}.\n`);
    }
    if (found.violations.length > 0 || !goesOn(operations)) {
      return { ...found, operations };
    }
  }
}

/** Lets the service make each mistake, and attacks it until that is noticed. */
async function seekMistakes({ mistakes: text, inProcess, seconds, seed }: Arguments): Promise<void> {
  const { leavesOut, mistakes, writes } = await import('../../../../test/simulation/mistakes.ts');
  /** Spoils how many events of how many an outbox says that it has delivered. */
  const misnoted = (change: (delivered: number, events: number) => number): Mistake =>
    writes({ by: 'job', type: 'Task', code: 'outboxes' }, (task) =>
      JSON.parse(JSON.stringify(task), (_, value: unknown) =>
        typeof value === 'string'
          ? value.replace(
              /"events":(\d+),"delivered":(\d+)/,
              (_all, events, delivered) =>
                `"events":${events},"delivered":${change(Number(delivered), Number(events))}`,
            )
          : value,
      ),
    );
  const all = new Map<string, Mistake>(
    Object.entries({
      'no mistake': {},
      [UNGUARDED]: unguarded,
      // Without sockets nobody is told anything.
      ...(!inProcess && {
        'an event is not recorded': leavesOut({ by: 'job', type: 'Communication', methods: ['POST', 'PUT'] }),
        'an event is told twice': misnoted((delivered) => Math.max(0, delivered - 1)),
        'an event is skipped': misnoted((delivered, events) => Math.min(events, delivered + 1)),
      }),
      ...mistakes,
    }),
  );
  let seek: Seek;
  if (inProcess) {
    const run = await loadSimulated();
    seek = (name, goesOn) => attackNewOnes(run, seed, () => goesOn({} as Findings), all.get(name));
  } else {
    const { startMistaken } = await import('./mistaken.ts');
    const { given, make } = await startMistaken();
    seek = async (name, goesOn) => {
      make(all.get(name) ?? {});
      const more = name === UNGUARDED && { staff: { ...given.staff, adapter: adapters.medplum }, kinds: published };
      return attack({ ...given, ...more, seed, goesOn });
    };
  }
  const rows: string[][] = [];
  const chosen = [...all.keys()].filter((one) => !beyond.test(one) && (text === true || one.match(text ?? '')));
  for (const name of chosen) {
    const begin = performance.now();
    const passed = (): number => (performance.now() - begin) / 1_000;
    const found = await seek(name, () => passed() < seconds).then(
      ({ violations: [first], operations }) => {
        if (first) {
          process.stderr.write(`\n${violationTable(first, formatTable)}\n\n`);
        }
        return [first ? rules[first.rule] : 'not found', String(operations)];
      },
      (error: unknown) => [`ended: ${String(error).slice(0, 100)}`, ''],
    );
    rows.push([name, passed().toFixed(0), ...found]);
    process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
  }
  console.log(formatTable(['mistake', 'seconds', 'broken rule', 'operations'], rows));
}

/** Attacks a new server of somebody else, which keeps to `If-Match`. */
async function attackOther(seed: number, goesOn: Attack['goesOn']): Promise<Findings> {
  const { otherServer, plainAttack, timeless } = await import('./other-server.ts');
  const { client, world } = timeless(otherServer());
  return attack({ ...plainAttack(client), world, seed, goesOn });
}

/** Attacks the service as it is, or another server. */
async function attackAsItIs({ seconds, seed, other }: Arguments): Promise<void> {
  const begin = performance.now();
  const run = other ? attackOther : await loadSimulated();
  const { violations, operations } = await attackNewOnes(run, seed, (count) => {
    process.stderr.write(`\r${count} operations `);
    return performance.now() - begin < seconds * 1_000;
  });
  for (const violation of violations) {
    console.log(`\n${violationTable(violation, formatTable)}`);
  }
  console.log(`\n${operations} operations, ${violations.length} rules broken.`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run test:attack --')
    .description(
      'Attacks the service with the conformance kit, as it is without sockets, or with Bots that make mistakes.',
    )
    .option('--mistakes [text]', 'the mistakes whose names fit this expression')
    .option('--in-process', 'without sockets: in the simulation')
    .option('--other', 'another FHIR server, without sockets and faster, instead of the service')
    .option('--seconds <number>', 'how long, each mistake by itself', wholeNumber(1), 60)
    .option('--seed <number>', 'decides what is random', wholeNumber(0), 1)
    .parse()
    .opts<Arguments>();
  await (given.mistakes ? seekMistakes(given) : attackAsItIs(given));
  process.exit();
}

await runAsProgram(import.meta.url, main);
