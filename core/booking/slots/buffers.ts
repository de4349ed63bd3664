import type { BundleEntry, CodeableConcept, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { serviceTypeOf } from '../../calendar/parameters/schedule-calendar.ts';
import { bufferMinutes } from '../../calendar/parameters/scheduling-parameters.ts';
import { BUFFER_COMMENTS, isBufferOf, isSameService, publishedKeyOf } from '../../calendar/slots/slot-role.ts';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import type { CalendarSlot } from './calendar.ts';

const MINUTE = 60_000;

/** A HealthcareService as it was read. */
type StoredService = HealthcareService & { readonly id: string };

/** The time that a service needs before and after an appointment, in milliseconds, and which service that is. */
export interface NeededBuffers {
  readonly before: number;
  readonly after: number;
  readonly service: StoredService;
}

function hasId(service: HealthcareService): service is StoredService {
  return service.id !== undefined;
}

/**
 * The services that an appointment in a slot may be for: the one that the slot was published for, else those that the
 * service types of the appointment name or, if it has none, those of the slot.
 */
function servicesFor(
  { resource }: CalendarSlot,
  types: readonly CodeableConcept[],
  services: readonly StoredService[],
  config: ArtefactConfig,
): readonly StoredService[] {
  const key = publishedKeyOf(resource, config);
  if (key?.kind === 'offer') {
    return services.filter(({ id }) => id === key.service);
  }
  const wanted = types.length > 0 ? types : (resource.serviceType ?? []);
  const named = services.filter((service) =>
    serviceTypeOf(service).some((type) => wanted.some((one) => isSameService(one, type))),
  );
  return named.length > 0 || services.length > 1 ? named : services;
}

/**
 * The buffers of an appointment in a Schedule, as the scheduling parameters of its service ask for them; of several
 * services, the longest.
 *
 * @param slot - the first that the appointment takes there
 * @param types - the service types of the appointment
 * @returns `undefined` if none is needed
 */
export function neededBuffers(
  schedule: Schedule,
  slot: CalendarSlot,
  types: readonly CodeableConcept[],
  services: readonly HealthcareService[],
  config: ArtefactConfig,
): NeededBuffers | undefined {
  const found = servicesFor(slot, types, services.filter(hasId), config).map((service) => {
    const { before, after } = bufferMinutes(schedule, service);
    return { before: before * MINUTE, after: after * MINUTE, service };
  });
  const [longest] = found.sort((one, other) => other.before + other.after - one.before - one.after);
  return longest && longest.before + longest.after > 0 ? longest : undefined;
}

/** The time of an appointment with its buffers. */
export function withBuffers({ start, end }: Interval, buffers: NeededBuffers | undefined): Interval {
  return { start: start - (buffers?.before ?? 0), end: end + (buffers?.after ?? 0) };
}

/**
 * The transaction entries that write the buffers of an appointment in one Schedule, as Medplum's own `$book` does.
 *
 * @param slot - the first Slot of the appointment there; its id serves to find the buffers again
 */
export function bufferEntries(
  { start, end }: Interval,
  slot: CalendarSlot,
  buffers: NeededBuffers,
  config: ArtefactConfig,
): BundleEntry[] {
  const around = withBuffers({ start, end }, buffers);
  const buffer = (comment: string, from: number, to: number): Slot => ({
    resourceType: 'Slot',
    identifier: [
      { system: artefactUri(config, 'LocalBuffer'), value: slot.id },
      { system: artefactUri(config, 'LocalSlotOrigin'), value: slot.origin },
    ],
    schedule: slot.resource.schedule,
    serviceType: serviceTypeOf(buffers.service),
    status: 'busy-unavailable',
    start: formatInstant(from),
    end: formatInstant(to),
    comment,
  });
  return [buffer(BUFFER_COMMENTS.before, around.start, start), buffer(BUFFER_COMMENTS.after, end, around.end)]
    .filter((one) => one.start !== one.end)
    .map((resource) => ({ request: { method: 'POST', url: 'Slot' }, resource }));
}

/**
 * The transaction entries that remove the buffers of slots that are given back. As with Medplum's `$cancel`, the buffers
 * are deleted: they could never be booked.
 *
 * @param slots - at least all that are buffers of these slots
 * @param givenBack - ids of the slots
 */
export function bufferRemovals(
  slots: readonly Slot[],
  givenBack: readonly string[],
  config: ArtefactConfig,
): BundleEntry[] {
  const ids = slots.filter((slot) => isBufferOf(slot, givenBack, config)).flatMap(({ id }) => id ?? []);
  return [...new Set(ids)].map((id) => ({ request: { method: 'DELETE', url: `Slot/${id}` } }));
}
