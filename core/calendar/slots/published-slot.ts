import type { Schedule, Slot } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import { type ServiceCalendar, serviceTypeOf } from '../parameters/schedule-calendar.ts';

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

/** A Slot to publish. */
export interface WantedSlot extends Interval {
  /** Its identifier's value. */
  readonly key: string;
  readonly resource: Slot;
}

type SlotConfig = ArtefactConfig;

function published(schedule: string, key: PublishedKey, { start, end }: Interval, config: SlotConfig): WantedSlot {
  const value = formatKey(key);
  return {
    key: value,
    start,
    end,
    resource: {
      resourceType: 'Slot',
      meta: { profile: [artefactUri(config, 'LocalSlot')] },
      identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value }],
      schedule: { reference: `Schedule/${schedule}` },
      status: 'free',
      start: formatInstant(start),
      end: formatInstant(end),
    },
  };
}

/** A free Slot for one appointment of a service. */
export function offeredSlot(
  schedule: Schedule & { readonly id: string },
  { service }: ServiceCalendar,
  interval: Interval,
  place: number,
  config: SlotConfig,
): WantedSlot {
  const key: PublishedKey = { kind: 'offer', schedule: schedule.id, service: service.id, start: interval.start, place };
  const { resource, ...rest } = published(schedule.id, key, interval, config);
  return {
    ...rest,
    resource: {
      ...resource,
      ...(service.category?.length && { serviceCategory: service.category }),
      serviceType: serviceTypeOf(service),
      ...(service.specialty?.length && { specialty: service.specialty }),
    },
  };
}

/** A Slot that blocks a Schedule while the whole installation is closed; Medplum's `$find` respects it, too. */
export function closedSlot(
  schedule: Schedule & { readonly id: string },
  interval: Interval,
  description: string | undefined,
  config: SlotConfig,
): WantedSlot {
  const { resource, ...rest } = published(
    schedule.id,
    { kind: 'closed', schedule: schedule.id, ...interval },
    interval,
    config,
  );
  return {
    ...rest,
    resource: { ...resource, status: 'busy-unavailable', ...(description && { comment: description }) },
  };
}
