import { setTimeout } from 'node:timers/promises';
import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { post } from './create.ts';
import { findInstallation, type Installation } from './installation.ts';
import { appointmentFor, bookThroughGateway, forMedplum, makePlaces, type Place } from './targets.ts';

interface RaceArguments {
  readonly races: number;
  readonly lanes: number;
  readonly spread: number;
  readonly quiet: number;
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
  'Appointment by hand': (place, { medplum, tokens }, config) =>
    post(`${medplum}/Appointment`, tokens.staff, { ...appointmentFor(place, config), status: 'booked' }),
} as const satisfies Record<string, Rival>;

type RivalName = keyof typeof rivals;

/**
 * How races ended, when everything was quiet. `both`: the time was sold twice. `neither`: both were told to try again.
 * `silent`: one was told that it has the time, does not have it, and no collision Task says so.
 */
type Ending = 'portal' | 'staff' | 'neither' | 'both' | 'silent';

/** What both sides were told: whether they have the time. */
interface Told {
  readonly rival: RivalName;
  readonly place: Place;
  readonly portal: boolean;
  readonly staff: boolean;
  readonly staffs: unknown;
}

type Counts = Record<Ending, number>;

/** One race for one slot; either side begins up to `spread` milliseconds late, so that all interleavings occur. */
async function race(
  rival: RivalName,
  place: Place,
  spread: number,
  installation: Installation,
  config: BookingConfig,
): Promise<Told> {
  const late = Math.random() * 2 * spread - spread;
  const portal = setTimeout(Math.max(0, -late)).then(() => bookThroughGateway(place, installation, config));
  const staff = setTimeout(Math.max(0, late)).then(() => rivals[rival](place, installation, config));
  const [booked, { status, body }] = await Promise.all([portal, staff]);
  return { rival, place, portal: booked === 'done', staff: status >= 200 && status < 300, staffs: body };
}

async function search<T extends ResourceType>(
  type: T,
  query: Record<string, string>,
  { medplum, tokens }: Installation,
): Promise<ExtractResource<T>[]> {
  const headers = { authorization: `Bearer ${tokens.staff}` };
  const answer = await fetch(`${medplum}/${type}?${new URLSearchParams({ ...query, _count: '1000' })}`, { headers });
  const bundle: unknown = await answer.json();
  const entries = isResource(bundle, 'Bundle') ? (bundle.entry ?? []) : [];
  return entries.flatMap(({ resource }) => (isResource(resource, type) ? [resource] : []));
}

/** Who has the time of a race when everything is quiet: appointments on it, and a Slot that staff set to busy. */
async function endingOf(told: Told, installation: Installation): Promise<Ending> {
  const { place, portal, staff, staffs, rival } = told;
  const { id, schedule, start, end } = place.slot;
  const time = { start: `lt${end}`, end: `gt${start}`, status: 'busy,busy-tentative,busy-unavailable' };
  const slots = await search('Slot', { schedule: schedule.reference ?? '', ...time }, installation);
  const ids = [...new Set([id, ...slots.map((slot) => slot.id)])].map((one) => `Slot/${one}`).join(',');
  const found = await search('Appointment', { slot: ids }, installation);
  const open = found.filter(({ status }) => status !== 'cancelled' && status !== 'entered-in-error');
  const byHand = rival === 'Slot by hand' && isResource(staffs, 'Slot') && slots.some((one) => one.id === staffs.id);
  const holders = open.length + Number(byHand);
  if (holders > 1) {
    return 'both';
  }
  if (Number(portal) + Number(staff) > holders) {
    const focus = found.map((one) => `Appointment/${one.id}`).join(',');
    const tasks = focus ? await search('Task', { focus }, installation) : [];
    if (tasks.length === 0) {
      return 'silent';
    }
  }
  return holders === 0 ? 'neither' : !byHand && portal ? 'portal' : 'staff';
}

/** Runs races one after the other, on a calendar of their own. */
async function runLane(
  count: number,
  first: number,
  spread: number,
  installation: Installation,
  config: BookingConfig,
  ended: (told: Told) => void,
): Promise<void> {
  const places = await makePlaces(installation, config, count, Date.now());
  const names = Object.keys(rivals) as RivalName[];
  for (const [index, place] of places.entries()) {
    const rival = names[(first + index) % names.length];
    if (rival) {
      ended(await race(rival, place, spread, installation, config));
      await installation.renew();
    }
  }
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Lets a portal book by $book of the service and clinic staff take the same time in Medplum at the same moment: ' +
        "by Medplum's own $book and $hold, by a Slot, and by an Appointment on the free Slot. Once everything is quiet it " +
        'counts who has the time, whether it was sold twice, and whether anybody lost it without a Task. ' +
        'Runs on the installation that the environment names, like npm run bench.',
    )
    .option('--races <number>', 'number of races', wholeNumber(1), 2000)
    .option('--lanes <number>', 'calendars at the same time', wholeNumber(1), 4)
    .option('--spread <milliseconds>', 'by how much either side may be late', wholeNumber(0), 60)
    .option('--quiet <seconds>', 'how long it waits before it looks who has the time', wholeNumber(0), 10)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: RaceArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  const counts = new Map<RivalName, Counts>();
  let done = 0;
  const all: Told[] = [];
  const ended = (told: Told): void => {
    done += 1;
    all.push(told);
    if (done % 100 === 0) {
      console.error(`${done} of ${given.races} races`);
    }
  };
  try {
    const share = Math.ceil(given.races / given.lanes);
    const lanes = Array.from({ length: given.lanes }, (_, lane) =>
      runLane(share, lane, given.spread, installation, config, ended),
    );
    await Promise.all(lanes);
    await setTimeout(given.quiet * 1000);
    await mapConcurrently(all, given.lanes, async (told) => {
      const ending = await endingOf(told, installation);
      const known = counts.get(told.rival) ?? { portal: 0, staff: 0, neither: 0, both: 0, silent: 0 };
      counts.set(told.rival, { ...known, [ending]: known[ending] + 1 });
      if (ending === 'both' || ending === 'silent') {
        console.error(`${ending}: ${told.rival}, Slot/${told.place.slot.id}, told ${told.portal} and ${told.staff}`);
      }
    });
  } finally {
    installation.stop();
  }
  const head = ['against', 'portal got it', 'staff got it', 'both refused', 'sold twice', 'silent'];
  const rows = [...counts].map(([rival, one]) => [rival, one.portal, one.staff, one.neither, one.both, one.silent]);
  console.log(
    formatTable(
      head,
      rows.map((row) => row.map(String)),
    ),
  );
}
