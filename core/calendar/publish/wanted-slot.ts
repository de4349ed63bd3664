import type { Schedule, Slot } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { formatKey, type PublishedKey } from '../../slots/slot.ts';
import type { Interval } from '../../time/interval.ts';
import { type ServiceCalendar, serviceTypeOf } from '../parameters/schedule-calendar.ts';

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
