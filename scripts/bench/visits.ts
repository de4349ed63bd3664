import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Extension, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { loadConfig } from '../cli/load-config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { create, createSchedule, createSlots, freeSlot, storeSlots } from './create.ts';
import { send } from './http.ts';
import { findInstallation, type Installation, startEmbedded } from './installation.ts';
import { observe } from './machine.ts';
import { measure, quantile } from './measure.ts';
import type { Result } from './targets.ts';

const HALF_HOUR = 1_800_000;

interface VisitsArguments {
  readonly doctors: number;
  readonly rooms: number;
  readonly weeks: number;
  readonly count: number;
  readonly config?: string;
}

/** The command line: how long it takes to find visits of three steps. */
export function define(command: Command): void {
  command
    .description('Measures how long $find takes for visits of three steps: a room, a doctor, a room.')
    .option('--doctors <number>', 'doctors', wholeNumber(1), 40)
    .option('--rooms <number>', 'rooms', wholeNumber(1), 50)
    .option('--weeks <number>', 'weeks of free slots', wholeNumber(1), 6)
    .option('--count <number>', 'searches of each kind', wholeNumber(1), 20)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

/** Schedules, and the free half hours that they shall have on some days from one hour to another. */
async function calendars(
  installation: Installation,
  count: number,
  days: readonly number[],
  [from, to]: readonly [from: number, to: number],
): Promise<{ readonly schedules: readonly Schedule[]; readonly slots: readonly Slot[] }> {
  const schedules: Schedule[] = [];
  for (let index = 0; index < count; index++) {
    schedules.push(await createSchedule(installation));
  }
  const slots = days.flatMap((day) =>
    schedules.flatMap((schedule) =>
      Array.from({ length: (to - from) * 2 }, (_, index) =>
        freeSlot(schedule, day + (from * 2 + index) * HALF_HOUR, HALF_HOUR),
      ),
    ),
  );
  return { schedules, slots };
}

/** A service with a room, a doctor, and a room again, each within an hour of the one before. */
async function visitOf(
  rooms: readonly Schedule[],
  doctors: readonly Schedule[],
  installation: Installation,
  config: BookingConfig,
): Promise<string> {
  const step = (name: string, pool: readonly Schedule[], after?: string): Extension => ({
    url: 'step',
    extension: [
      { url: 'name', valueString: name },
      ...pool.map(({ id }) => ({ url: 'schedule', valueReference: { reference: `Schedule/${id}` } })),
      { url: 'duration', valueDuration: { value: 30, code: 'min' } },
      ...(after
        ? [
            { url: 'after', valueString: after },
            { url: 'gapMax', valueDuration: { value: 60, code: 'min' } },
          ]
        : []),
    ],
  });
  const extension = [step('Before', rooms), step('Doctor', doctors, 'Before'), step('After', rooms, 'Doctor')];
  const service = await create<HealthcareService>(installation, {
    resourceType: 'HealthcareService',
    name: 'Benchmark',
    extension: [{ url: artefactUri(config, 'LocalVisit'), extension }],
  });
  return `HealthcareService/${service.id}`;
}

/** Puts slots where they belong: into the data of an embedded Medplum, which starts again for it, or through the interface. */
async function fill(
  installation: Installation & { readonly ended?: Promise<unknown> },
  wanted: readonly Slot[],
  folder: string | undefined,
): Promise<Installation> {
  await createSlots(installation, folder === undefined ? wanted : wanted.slice(0, 1));
  if (folder === undefined) {
    return installation;
  }
  installation.stop();
  await installation.ended;
  storeSlots(folder, wanted.slice(1));
  return startEmbedded(folder);
}

async function main({ doctors, rooms, weeks, count, config: file }: VisitsArguments): Promise<void> {
  const config = loadConfig(file);
  const isEmbedded = !process.env.BOOKING_BASE_URL && !process.env.MEDPLUM_BASE_URL;
  const folder = isEmbedded ? mkdtempSync(join(tmpdir(), 'bench-visits-')) : undefined;
  let installation: Installation = await (folder === undefined ? findInstallation(process.env) : startEmbedded(folder));
  try {
    const first = (Math.floor(Date.now() / DAY) + 7) * DAY;
    const all = Array.from({ length: weeks * 7 }, (_, index) => first + index * DAY);
    const days = all.filter((day) => ![0, 6].includes(new Date(day).getUTCDay()));
    const inRooms = await calendars(installation, rooms, days, [7, 16]);
    const pools = {
      'doctors free as the rooms': await calendars(installation, doctors, days, [7, 16]),
      'doctors free on the last day': await calendars(installation, doctors, days.slice(-1), [7, 16]),
      'doctors never free': await calendars(installation, doctors, [], [7, 16]),
      'doctors free only in the evening': await calendars(installation, doctors, days, [18, 19]),
    };
    const slots = [inRooms, ...Object.values(pools)].flatMap((one) => one.slots);
    installation = await fill(installation, slots, folder);
    const { base, tokens } = installation;
    const print = await observe(installation);
    const period = { start: formatInstant(first), end: formatInstant(first + weeks * 7 * DAY) };
    const rows: string[][] = [];
    for (const [name, pool] of Object.entries(pools)) {
      const service = await visitOf(inRooms.schedules, pool.schedules, installation, config);
      for (const wanted of [1, 10]) {
        const parameter = [
          { name: 'service', valueReference: { reference: service } },
          { name: 'period', valuePeriod: period },
          { name: 'count', valuePositiveInt: wanted },
        ];
        const answers = new Set<string>();
        const find = async (): Promise<Result> => {
          const asked = { resourceType: 'Parameters', parameter };
          const { status, body } = await send('POST', `${base}/Appointment/$find`, tokens.portal, asked);
          const found = isResource(body, 'Bundle') ? (body.entry?.length ?? 0) : 0;
          answers.add(status === 200 ? `${found} found` : `refused (${status})`);
          return 'done';
        };
        await find();
        const { durations } = await measure(
          Array.from({ length: count }, () => name),
          1,
          find,
        );
        rows.push([
          name,
          `${wanted}`,
          [...answers].join(', '),
          ...[0.5, 0.95].map((share) => quantile(durations, share).toFixed(0)),
        ]);
      }
    }
    const columns = ['calendars', 'asked for', 'answer', 'p50 ms', 'p95 ms'];
    print({ what: `${count} searches of each kind`, columns, rows });
  } finally {
    installation.stop();
    if (folder !== undefined) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
