import type { Resource } from '@medplum/fhirtypes';
import { LEADS_HEADER } from '../../core/booking/request/answer.ts';
import { bookedReferences } from '../booking-queue.ts';
import { createMemory } from '../medplum/memory.ts';

/** References that search results have shown: the Schedule of a Slot, the services of a Schedule. */
export interface LeadMemory {
  /** Remembers the references in a response. */
  readonly note: (answer: Resource | undefined) => void;
  /**
   * The header with the Schedules and services of a booking; none unless the Schedules of all its Slots are remembered.
   */
  readonly headersFor: (body: unknown) => Readonly<Record<string, string>>;
}

const SIZE = 50_000;
const AGE_MS = 3_600_000;

/** Maximum length of the header: a booking with more references is read step by step. */
const MAX_LENGTH = 4_000;

/** The references to resources of a type anywhere in a value of any shape. */
const referencesIn = (value: unknown, type: 'Schedule' | 'HealthcareService'): string[] => {
  const found = (JSON.stringify(value) ?? '').matchAll(/"reference":"(([A-Z][A-Za-z]+)\/[A-Za-z0-9.-]{1,64})"/g);
  return [...new Set([...found].flatMap(([, reference = '', target]) => (target === type ? [reference] : [])))];
};

/**
 * Remembers references only, so that a booking reads all its resources in one step. The resources are read again for
 * each booking, with its caller's rights.
 */
export function createLeads(now: () => number): LeadMemory {
  const leads = createMemory<readonly string[]>(SIZE, AGE_MS, now);
  const noteOne = (resource: Resource | undefined): void => {
    if (resource?.resourceType === 'Slot') {
      leads.set(`Slot/${resource.id}`, referencesIn(resource.schedule, 'Schedule'));
    }
    if (resource?.resourceType === 'Schedule') {
      leads.set(`Schedule/${resource.id}`, referencesIn(resource.serviceType, 'HealthcareService'));
    }
  };
  return {
    note: (answer) => {
      for (const { resource } of (answer?.resourceType === 'Bundle' && answer.entry) || []) {
        noteOne(resource);
      }
    },
    headersFor: (body) => {
      const found = bookedReferences(body).flatMap((name) => (name.startsWith('Slot/') ? [leads.get(name)] : []));
      const schedules = [...new Set(found.flatMap((lead) => lead ?? []))];
      const services = new Set(schedules.flatMap((schedule) => leads.get(schedule) ?? []));
      const text = [...schedules, ...services].join(',');
      const isWhole = found.length > 0 && found.every((lead) => lead !== undefined && lead.length > 0);
      return Object.fromEntries(isWhole && text.length <= MAX_LENGTH ? [[LEADS_HEADER, text]] : []);
    },
  };
}
