import type { Resource } from '@medplum/fhirtypes';
import { LEADS_HEADER } from '../../core/booking/request/answer.ts';
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

/** What fits well into the headers of a request: a booking that leads to more is read step by step. */
const MAX_LENGTH = 4_000;

/** The references to resources of a type in a value, however broken what is stored may be. */
const referencesIn = (value: unknown, type: 'Schedule' | 'HealthcareService'): string[] => {
  const found = (JSON.stringify(value) ?? '').matchAll(/"reference":"(([A-Z][A-Za-z]+)\/[A-Za-z0-9.-]{1,64})"/g);
  return [...new Set([...found].flatMap(([, reference = '', its]) => (its === type ? [reference] : [])))];
};

/**
 * Remembers references only: whatever depends on them is read anew for each booking, by its caller's rights. With them it
 * is read at once.
 *
 * @param now - the clock, in milliseconds
 */
export function createLeads(now: () => number): LeadMemory {
  const known = createMemory<readonly string[]>(SIZE, AGE_MS, now);
  const noteOne = (resource: Resource | undefined): void => {
    if (resource?.resourceType === 'Slot') {
      known.set(`Slot/${resource.id}`, referencesIn(resource.schedule, 'Schedule'));
    }
    if (resource?.resourceType === 'Schedule') {
      known.set(`Schedule/${resource.id}`, referencesIn(resource.serviceType, 'HealthcareService'));
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
      const text = [...schedules, ...services].join(',');
      const isWhole = found.length > 0 && found.every((one) => one !== undefined && one.length > 0);
      return Object.fromEntries(isWhole && text.length <= MAX_LENGTH ? [[LEADS_HEADER, text]] : []);
    },
  };
}
