import { randomUUID } from 'node:crypto';
import type { Observation, Patient, Resource } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { send } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { combine, inRounds, measure, nothing, quantile, rangeText, settle } from './measure.ts';
import { type BenchBooking, makeBenchBookings, type Result } from './targets.ts';

const patient = (): Patient => ({ resourceType: 'Patient', name: [{ family: 'Benchmark', given: [randomUUID()] }] });

const observation = ({ patient: { id } }: BenchBooking): Observation => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'Benchmark' },
  subject: { reference: `Patient/${id}` },
});

const kinds: Readonly<Record<string, (place: BenchBooking) => Resource>> = {
  'Appointment that takes time': ({ slot, patient: { id }, byRule }) => ({
    resourceType: 'Appointment',
    status: 'booked',
    start: slot.start,
    end: slot.end,
    serviceType: byRule.serviceType,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ actor: { reference: `Patient/${id}` }, status: 'accepted' }],
  }),
  'Slot that takes time': ({ slot: { start, end }, byRule }) => ({
    resourceType: 'Slot',
    status: 'busy',
    start,
    end,
    schedule: { reference: `Schedule/${byRule.id}` },
  }),
  Patient: patient,
  Observation: observation,
};

interface WritesArguments {
  readonly count: number;
  readonly rounds: number;
}

/** The command line: compares writes with those in a project without the service. */
export function define(command: Command): void {
  command
    .description(
      'Compares writes of the administrator (ADMIN_…) with the same writes in a project that never had the service, in turns: ' +
        'neither client has an AccessPolicy.',
    )
    .option('--count <number>', 'writes of each kind', wholeNumber(1), 100)
    .option('--rounds <number>', 'number of rounds', wholeNumber(1), 5);
  measures(command, run);
}

async function run({ count, rounds }: WritesArguments, { installation, config, print }: Bench): Promise<void> {
  const { medplum, tokens } = installation;
  const sides: readonly Installation[] = [
    { ...installation, base: medplum, tokens: { ...tokens, portal: tokens.plain, staff: tokens.plain } },
    { ...installation, tokens: { ...tokens, staff: tokens.admin } },
  ];
  const each = Math.ceil(count / rounds);
  const targets = Object.entries(kinds).flatMap(([name, resourceOf]) =>
    sides.map((side) => ({ name, resourceOf, side, places: [] as BenchBooking[] })),
  );
  for (const { places, side } of targets) {
    places.push(...(await makeBenchBookings(side, config, (rounds + 1) * each, Date.now())));
  }
  // The first round warms up.
  const found = await inRounds(targets, rounds + 1, async ({ resourceOf, side, places }) => {
    // The effects of the previous write must not burden the next.
    await (side === sides[0] && settle());
    return measure(places.splice(0, each), 1, async (place): Promise<Result> => {
      const resource = resourceOf(place);
      const { status } = await send('POST', `${medplum}/${resource.resourceType}`, side.tokens.staff, resource);
      return status === 201 ? 'done' : 'failed';
    });
  });
  const rows = Object.keys(kinds).map((name) => {
    const both = targets.flatMap((one) => (one.name === name ? [(found.get(one) ?? []).slice(1)] : []));
    const [within = '', beside = ''] = both.map((measurements) =>
      rangeText(measurements.map(({ durations }) => quantile(durations, 0.5))),
    );
    const [before = 0, after = 0] = both.map((measurements) =>
      quantile(measurements.reduce(combine, nothing).durations, 0.5),
    );
    const failures = both.flat().reduce((sum, measurement) => sum + measurement.failures, 0);
    return [name, before.toFixed(1), within, after.toFixed(1), beside, (after / before).toFixed(2), `${failures}`];
  });
  const columns = ['write', 'p50 ms without', 'of rounds', 'p50 ms with', 'of rounds', '×', 'failures'];
  print({ what: `${count} of each in ${rounds} rounds`, columns, rows });
}
