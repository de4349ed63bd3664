import type { Slot } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import type { Connection } from '../medplum/connect.ts';
import type { Report } from '../medplum/report.ts';
import { runBatch } from '../medplum/upsert.ts';
import { offersOn, workingDays } from './calendar.ts';
import { DEMO_SYSTEM, type DemoSchedule, demoIdentifier, serviceType, specialty } from './clinic.ts';

/** A demo schedule with the reference under which it is stored. */
export type StoredSchedule = DemoSchedule & { readonly reference: string };

/** How many writes go into one batch. */
const BATCH = 200;

/**
 * The free slots of a demo schedule, two weeks from tomorrow.
 *
 * @param now - milliseconds since 1970-01-01T00:00:00Z
 */
export function demoSlots(config: BookingConfig, schedule: StoredSchedule, now: number): Slot[] {
  const offers = workingDays(now).flatMap((day) => schedule.hours.flatMap((hours) => offersOn(day, hours)));
  return offers.map(({ start, end }) => ({
    resourceType: 'Slot',
    meta: { profile: [artefactUri(config, 'LocalSlot')] },
    identifier: demoIdentifier(`${schedule.key}-${formatInstant(start)}`),
    schedule: { reference: schedule.reference },
    status: 'free',
    start: formatInstant(start),
    end: formatInstant(end),
    serviceType: serviceType(config, schedule),
    specialty: specialty(config, schedule),
  }));
}

function identity({ identifier }: Slot): string | undefined {
  return identifier?.find(({ system }) => system === DEMO_SYSTEM)?.value;
}

/** The demo identifiers of the slots that are there already, whatever has become of them. */
async function knownSlots({ medplum }: Connection, schedules: readonly StoredSchedule[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const { reference } of schedules) {
    for await (const page of medplum.searchResourcePages('Slot', { schedule: reference, _count: 1000 })) {
      for (const slot of page) {
        known.add(identity(slot) ?? '');
      }
    }
  }
  return known;
}

/** Offers free slots for two weeks from tomorrow; those of an earlier run stay as they are, booked or free. */
export async function ensureSlots(
  connection: Connection,
  config: BookingConfig,
  schedules: readonly StoredSchedule[],
  now: number,
  report: Report,
): Promise<void> {
  const known = await knownSlots(connection, schedules);
  const slots = schedules.flatMap((schedule) => demoSlots(config, schedule, now));
  const missing = slots.filter((slot) => !known.has(identity(slot) ?? ''));
  for (let index = 0; index < missing.length; index += BATCH) {
    const chunk = missing.slice(index, index + BATCH);
    await runBatch(
      connection,
      chunk.map((resource) => ({ resource, request: { method: 'POST', url: 'Slot' } })),
      chunk.map((slot) => `Slot ${slot.start}`),
    );
  }
  report.note(missing.length > 0 ? 'created' : 'unchanged', `${missing.length || slots.length} slots`);
}
