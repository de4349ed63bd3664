import type { Resource } from '@medplum/fhirtypes';
import { LEADS_HEADER } from '../../core/booking/book/answer.ts';
import { serviceIdsOf } from '../../core/fhir/reference/service-reference.ts';
import { namedIn } from '../booking-queue.ts';
import { createMemory } from '../medplum/memory.ts';

/** What search results have shown to belong together: the Schedule of a Slot, the services of a Schedule. */
export interface LeadMemory {
  /** Notes what an answer shows. */
  readonly note: (answer: Resource | undefined) => void;
  /** The header that tells a Bot what a booking leads to; none unless the Schedules of all its Slots are remembered. */
  readonly headersFor: (body: unknown) => Readonly<Record<string, string>>;
}

const SIZE = 50_000;
const AGE_MS = 3_600_000;

/**
 * Remembers references only: whatever depends on them is read anew for each booking, by its caller's rights. With them it
 * is read at once.
 *
 * @param now - the clock, in milliseconds
 */
export function createLeads(now: () => number): LeadMemory {
  const known = createMemory<readonly string[]>(SIZE, AGE_MS, now);
  const noteOne = (resource: Resource | undefined): void => {
    if (resource?.resourceType === 'Slot' && resource.schedule?.reference) {
      known.set(`Slot/${resource.id}`, [resource.schedule.reference]);
    }
    if (resource?.resourceType === 'Schedule') {
      known.set(
        `Schedule/${resource.id}`,
        serviceIdsOf(resource).map((id) => `HealthcareService/${id}`),
      );
    }
  };
  return {
    note: (answer) => {
      for (const { resource } of (answer?.resourceType === 'Bundle' && answer.entry) || []) {
        noteOne(resource);
      }
    },
    headersFor: (body) => {
      const found = namedIn(body).flatMap((name) => (name.startsWith('Slot/') ? [known.get(name)] : []));
      const schedules = [...new Set(found.flatMap((one) => one ?? []))];
      const services = new Set(schedules.flatMap((schedule) => known.get(schedule) ?? []));
      const isWhole = found.length > 0 && !found.includes(undefined);
      return Object.fromEntries(isWhole ? [[LEADS_HEADER, [...schedules, ...services].join(',')]] : []);
    },
  };
}
