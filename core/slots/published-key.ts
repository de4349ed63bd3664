import { formatInstant, parseInstant } from '../fhir/instant.ts';

/** What a published Slot stands for. It is encoded in the identifier, so that no Slot is published twice. */
export type PublishedKey =
  | {
      readonly kind: 'offer';
      /** Ids of the Schedule and the HealthcareService. */
      readonly schedule: string;
      readonly service: string;
      /** Milliseconds since 1970 UTC. */
      readonly start: number;
      /** 1 for the first place at this time, 2 for the second … */
      readonly place: number;
    }
  | { readonly kind: 'closed'; readonly schedule: string; readonly start: number; readonly end: number };

/** The value of the identifier LocalPublishedSlot. */
export function formatKey(key: PublishedKey): string {
  return key.kind === 'offer'
    ? ['offer', key.schedule, key.service, formatInstant(key.start), key.place].join('/')
    : ['closed', key.schedule, formatInstant(key.start), formatInstant(key.end)].join('/');
}

/** Reads the value of the identifier LocalPublishedSlot; `undefined` if it is not one. */
export function parseKey(value: string): PublishedKey | undefined {
  const [kind, schedule = '', third = '', fourth = '', fifth] = value.split('/');
  const [start, end, place] = [parseInstant(third), parseInstant(fourth), Number(fifth)];
  if (kind === 'closed' && start !== undefined && end !== undefined) {
    return { kind, schedule, start, end };
  }
  return kind === 'offer' && end !== undefined && Number.isInteger(place) && place >= 1
    ? { kind, schedule, service: third, start: end, place }
    : undefined;
}
