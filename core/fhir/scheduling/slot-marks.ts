import type { Appointment, Coding, Extension, Resource, Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../artefacts.ts';
import { formatInstant, parseInstant } from '../instant.ts';

/** The payer kinds that a service or Slot serves; for an appointment, the payer kind of its patient. */
export function payerKindsOf(resource: Resource, config: PublicConfig): Coding[] {
  const url = artefactUri(config, 'LocalPayerKind');
  const extension = 'extension' in resource && Array.isArray(resource.extension) ? resource.extension : [];
  return extension.flatMap((one) => (one?.url === url && one.valueCoding ? [one.valueCoding] : []));
}

/** The key of a published Slot. It is encoded in the identifier, so that no Slot is published twice. */
export type PublishedKey =
  | {
      readonly kind: 'bookable';
      readonly schedule: string;
      readonly service: string;
      /** Milliseconds since 1970 UTC. */
      readonly start: number;
      /** 1 for the first lane at this time, 2 for the second … */
      readonly lane: number;
    }
  | { readonly kind: 'closed'; readonly schedule: string; readonly start: number; readonly end: number };

export function formatKey(key: PublishedKey): string {
  return key.kind === 'bookable'
    ? ['bookable', key.schedule, key.service, formatInstant(key.start), key.lane].join('/')
    : ['closed', key.schedule, formatInstant(key.start), formatInstant(key.end)].join('/');
}

/** Reads the key of a published Slot; `undefined` if it has another form. */
function parseKey(value: string): PublishedKey | undefined {
  const [kind, schedule = '', third = '', fourth = '', fifth] = value.split('/');
  const [start, end, lane] = [parseInstant(third), parseInstant(fourth), Number(fifth)];
  if (kind === 'closed' && start !== undefined && end !== undefined) {
    return { kind, schedule, start, end };
  }
  return kind === 'bookable' && end !== undefined && Number.isInteger(lane) && lane >= 1
    ? { kind, schedule, service: third, start: end, lane }
    : undefined;
}

export function identifierIn({ identifier = [] }: Slot, wanted: string): string | undefined {
  return identifier.find(({ system }) => system === wanted)?.value;
}

/** The value of the identifier LocalPublishedSlot; `undefined` for a Slot that was not published. */
export function publishedValueOf(slot: Slot, config: PublicConfig): string | undefined {
  return identifierIn(slot, artefactUri(config, 'LocalPublishedSlot'));
}

/** The key of a published Slot; `undefined` for other Slots. */
export function publishedKeyOf(slot: Slot, config: PublicConfig): PublishedKey | undefined {
  return parseKey(publishedValueOf(slot, config) ?? '');
}

/** Whether a busy Slot is marked as a bookable slot: it was published, split off, or marked when it was booked. */
export function isMarked(slot: Slot, config: PublicConfig): boolean {
  const origin = artefactUri(config, 'LocalSlotOrigin');
  return publishedKeyOf(slot, config)?.kind === 'bookable' || identifierIn(slot, origin) !== undefined;
}

/** The extension of a Slot or appointment that overlaps busy time on purpose. */
export const overbookingMark = (config: PublicConfig): Extension => ({
  url: artefactUri(config, 'LocalOverbooking'),
  valueBoolean: true,
});

/** The extension of Medplum's own app for an appointment that ignores the rules of scheduling. */
const UNVALIDATED = 'https://medplum.com/fhir/StructureDefinition/SchedulingUnvalidatedBooking';

/** Whether a Slot or an appointment overlaps busy time on purpose, by the service's extension or Medplum's. */
export function isOverbooking({ extension = [] }: Appointment | Slot, config: PublicConfig): boolean {
  const urls = [artefactUri(config, 'LocalOverbooking'), UNVALIDATED];
  return extension.some((one) => urls.includes(one.url) && one.valueBoolean === true);
}

/** The comments of buffers, as in Medplum's `$find`. */
export const BUFFER_COMMENTS = { before: 'buffer before appointment', after: 'buffer after appointment' } as const;

const bufferComments: ReadonlySet<string | undefined> = new Set(Object.values(BUFFER_COMMENTS));

export function isBuffer({ status, comment }: Slot): boolean {
  return status === 'busy-unavailable' && bufferComments.has(comment);
}
