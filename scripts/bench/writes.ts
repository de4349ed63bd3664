import { randomUUID } from 'node:crypto';
import type { Observation, Patient, Resource } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { post } from './create.ts';
import { findInstallation, type Installation } from './installation.ts';
import { circumstancesText, describeCircumstances, load } from './machine.ts';
import { type Measurement, measure, nothing, quantile, together } from './measure.ts';
import { makePlaces, type Place, type Result } from './targets.ts';

const patient = (): Patient => ({ resourceType: 'Patient', name: [{ family: 'Benchmark', given: [randomUUID()] }] });

const observation = ({ patient: { id } }: Place): Observation => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'Benchmark' },
  subject: { reference: `Patient/${id}` },
});

/** What staff write, by what a table calls it. */
const kinds: Readonly<Record<string, (place: Place) => Resource>> = {
  'Appointment that takes time': ({ slot, patient: { id }, byRule }) => ({
    resourceType: 'Appointment',
    status: 'booked',
    start: slot.start,
    end: slot.end,
    serviceType: [...byRule.serviceType],
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ actor: { reference: `Patient/${id}` }, status: 'accepted' }],
  }),
  'Slot that takes time': ({ slot: { start, end }, byRule }) => ({
    resourceType: 'Slot',
    status: 'busy',
    start,
    end,
    schedule: { reference: byRule.schedule },
  }),
  Patient: patient,
  Observation: observation,
};

interface WritesArguments {
  readonly count: number;
  readonly rounds: number;
  readonly config?: string;
}

/** The command line: what the service adds to a write of staff, against a project that never had it. */
export function define(command: Command): void {
  command
    .description('Compares writes of staff with the same writes in a project that never had the service, in turns.')
    .option('--count <number>', 'writes of each kind', wholeNumber(1), 100)
    .option('--rounds <number>', 'number of rounds', wholeNumber(1), 5)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main({ count, rounds, config: file }: WritesArguments): Promise<void> {
  const config = loadConfig(file);
  const installation = await findInstallation(process.env);
  const { medplum, tokens } = installation;
  try {
    const circumstances = await describeCircumstances(installation, Date.now());
    const atFirst = load();
    const sides: readonly Installation[] = ['plain' as const, 'staff' as const].map((side) => ({
      ...installation,
      base: side === 'plain' ? medplum : installation.base,
      tokens: { ...tokens, staff: tokens[side], ...(side === 'plain' && { portal: tokens.plain }) },
    }));
    const found = new Map<string, Measurement>();
    for (let round = 0; round <= rounds; round++) {
      for (const [name, resourceOf] of Object.entries(kinds)) {
        for (const [index, side] of sides.entries()) {
          const write = async (place: Place): Promise<Result> => {
            const resource = resourceOf(place);
            const { status } = await post(`${medplum}/${resource.resourceType}`, side.tokens.staff, resource);
            return status === 201 ? 'done' : 'failed';
          };
          const places = await makePlaces(side, config, Math.ceil(count / rounds), Date.now());
          const measured = await measure(places, 1, write);
          const key = `${name} ${index}`;
          // The first round warms up.
          found.set(key, round === 0 ? nothing : together(found.get(key) ?? nothing, measured));
        }
      }
    }
    const rows = Object.keys(kinds).map((name) => {
      const [without, within] = [0, 1].map((index) => found.get(`${name} ${index}`) ?? nothing);
      const [before, after] = [without, within].map((one) => quantile(one?.durations ?? [], 0.5));
      const failures = (without?.failures ?? 0) + (within?.failures ?? 0);
      return [
        name,
        ...[before, after].map((ms = 0) => ms.toFixed(1)),
        ((after ?? 0) / (before ?? 1)).toFixed(2),
        `${failures}`,
      ];
    });
    console.log(`${circumstancesText(circumstances)}\nload of the machine ${atFirst} before and ${load()} after\n`);
    const isRefused = [...found.values()].some(({ failures }) => failures > 0);
    console.log(isRefused ? 'Some writes were refused: let FRONT_DESK_… be a client that may make all of them.\n' : '');
    console.log(formatTable(['write', 'without, p50 ms', 'with, p50 ms', '×', 'failures'], rows));
  } finally {
    installation.stop();
  }
}
