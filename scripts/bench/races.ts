import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { runAsProgram } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { post } from './create.ts';
import { findInstallation, type Installation } from './installation.ts';
import { bookBy, forMedplum, makePlaces, type Place } from './targets.ts';

interface RaceArguments {
  readonly races: number;
  readonly lanes: number;
  readonly spread: number;
  readonly config?: string;
}

type Rival = (place: Place, installation: Installation, config: BookingConfig) => ReturnType<typeof post>;

/** The ways in which clinic staff take, in Medplum, the same time as a portal at the same moment. */
const rivals = {
  $book: (place, { medplum, tokens }, config) =>
    post(`${medplum}/Appointment/$book`, tokens.staff, forMedplum(place, config)),
  $hold: (place, { medplum, tokens }, config) =>
    post(`${medplum}/Appointment/$hold`, tokens.staff, forMedplum(place, config)),
  'Slot by hand': ({ slot: { schedule, start, end } }, { medplum, tokens }) =>
    post(`${medplum}/Slot`, tokens.staff, { resourceType: 'Slot', status: 'busy', schedule, start, end }),
} as const satisfies Record<string, Rival>;

type RivalName = keyof typeof rivals;

/** How races ended. `both`: the time was sold twice. `neither`: both were told to try again. */
type Ending = 'portal' | 'staff' | 'neither' | 'both';

type Counts = Record<Ending, number>;

/** One race for one slot; either side begins up to `spread` milliseconds late, so that all interleavings occur. */
async function race(
  rival: RivalName,
  place: Place,
  spread: number,
  installation: Installation,
  config: BookingConfig,
): Promise<Ending> {
  const late = Math.random() * 2 * spread - spread;
  const portal = setTimeout(Math.max(0, -late)).then(() => bookBy('gateway', place, installation, config));
  const staff = setTimeout(Math.max(0, late)).then(() => rivals[rival](place, installation, config));
  const [booked, { status }] = await Promise.all([portal, staff]);
  const isTaken = status >= 200 && status < 300;
  if (booked === 'done') {
    return isTaken ? 'both' : 'portal';
  }
  return isTaken ? 'staff' : 'neither';
}

/** Runs races one after the other, on a calendar of their own. */
async function runLane(
  count: number,
  first: number,
  spread: number,
  installation: Installation,
  config: BookingConfig,
  ended: (rival: RivalName, ending: Ending) => void,
): Promise<void> {
  const places = await makePlaces(installation, config, count, Date.now(), { oneSchedule: true });
  const names = Object.keys(rivals) as RivalName[];
  for (const [index, place] of places.entries()) {
    const rival = names[(first + index) % names.length];
    if (rival) {
      ended(rival, await race(rival, place, spread, installation, config));
    }
  }
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run bench:races --')
    .description(
      'Lets a portal book by $book of the service and clinic staff take the same time in Medplum at the same moment: ' +
        "by Medplum's own $book and $hold, and by a Slot. Counts who got it, and whether it was ever sold twice. " +
        'Runs on the installation that the environment names, like npm run bench.',
    )
    .option('--races <number>', 'number of races', wholeNumber(1), 2000)
    .option('--lanes <number>', 'calendars at the same time', wholeNumber(1), 4)
    .option('--spread <milliseconds>', 'by how much either side may be late', wholeNumber(0), 60)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .parse()
    .opts<RaceArguments>();
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  const counts = new Map<RivalName, Counts>();
  let done = 0;
  const ended = (rival: RivalName, ending: Ending): void => {
    const known = counts.get(rival) ?? { portal: 0, staff: 0, neither: 0, both: 0 };
    counts.set(rival, { ...known, [ending]: known[ending] + 1 });
    done += 1;
    if (done % 100 === 0) {
      const twice = [...counts.values()].reduce((sum, { both }) => sum + both, 0);
      console.error(`${done} of ${given.races} races, sold twice: ${twice}`);
    }
  };
  try {
    const share = Math.ceil(given.races / given.lanes);
    const lanes = Array.from({ length: given.lanes }, (_, lane) =>
      runLane(share, lane, given.spread, installation, config, ended),
    );
    await Promise.all(lanes);
  } finally {
    installation.stop();
  }
  const head = ['against', 'portal got it', 'staff got it', 'both refused', 'sold twice'];
  const rows = [...counts].map(([rival, { portal, staff, neither, both }]) => [rival, portal, staff, neither, both]);
  console.log(
    formatTable(
      head,
      rows.map((row) => row.map(String)),
    ),
  );
}

await runAsProgram(import.meta.url, main);
