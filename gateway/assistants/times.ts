import type { CodeableConcept, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../core/config/config.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { idIn, serviceIdsOf } from '../../core/fhir/reference.ts';
import { granularityOf } from '../../core/slots/terms.ts';
import type { OfferedTime } from './offers.ts';

type Stored<T> = T & { readonly id: string };

const codesOf = (concepts: readonly CodeableConcept[] = []): string[] =>
  concepts.flatMap(({ coding = [] }) => coding.map(({ system = '', code = '' }) => `${system}|${code}`));

const haveOne = (one: readonly string[], other: readonly string[]): boolean => one.some((code) => other.includes(code));

/** Whether a Schedule is one in which times of a service can be booked. */
export const offersService = (schedule: Schedule, { id, type }: HealthcareService): boolean =>
  schedule.active !== false &&
  (schedule.actor.some((actor) => idIn(actor, 'HealthcareService') === id) ||
    serviceIdsOf(schedule).some((one) => one === id) ||
    haveOne(codesOf(type), codesOf(schedule.serviceType)));

/** As what an appointment of a service is booked. */
export const typeOf = ({ type, name }: HealthcareService): CodeableConcept => {
  const [coding] = (type ?? []).flatMap((concept) => concept.coding ?? []);
  return { ...(coding && { coding: [coding] }), ...(name && { text: name }) };
};

/** With whom an appointment in a Schedule is. */
export const actorIn = ({ actor }: Schedule): string | undefined =>
  actor.find(({ reference = '', display }) => /^Practitioner/.test(reference) && display)?.display;

/** The most appointments that one long Slot is shown as. */
const MOST_PARTS = 20;

/** The appointments of a service that a free Slot has room for. */
export function timesIn(
  { id, start, end, serviceType }: Slot,
  schedule: Schedule,
  service: Stored<HealthcareService>,
  config: PublicConfig,
): OfferedTime[] {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const named = codesOf(serviceType);
  const isOther = named.length > 0 && !haveOne(named, codesOf(service.type));
  if (!id || from === undefined || to === undefined || from >= to || isOther) {
    return [];
  }
  const length = Math.min(to - from, granularityOf(schedule, [service], config).longest ?? to - from);
  const count = Math.min(MOST_PARTS, Math.floor((to - from) / length));
  return Array.from({ length: count }, (_, index) => ({
    slots: [id],
    start: from + index * length,
    end: from + (index + 1) * length,
    service: service.id,
  }));
}
