import { readFileSync } from 'node:fs';
import type { Extension, HealthcareService, Practitioner, Schedule, Slot } from '@medplum/fhirtypes';
import { publishingOf } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { type PublishPlan, type PublishState, planSlots } from '../../../core/calendar/publish/publish.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';

export const config = resolveConfig(JSON.parse(readFileSync('booking.config.json', 'utf8')));

export const PARAMETERS = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';

/** A Monday in winter, at midnight in Berlin. */
export const monday = Date.parse('2027-01-04T00:00:00+01:00');

/** An instant on that Monday, in Berlin. */
export const at = (time: string): string => new Date(`2027-01-04T${time}:00+01:00`).toISOString();

export const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, unit: 'min' } });

export const code = (url: string, valueCode: string): Extension => ({ url, valueCode });

export const actor: Practitioner = {
  resourceType: 'Practitioner',
  id: 'ada',
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/timezone', valueCode: 'Europe/Berlin' }],
};

/** A service of half-hour appointments on Mondays from 9 to 12, every 30 minutes. */
export function service(parameters: Extension[] = [], more: Partial<HealthcareService> = {}) {
  const given = (url: string): boolean => parameters.some((parameter) => parameter.url === url);
  const defaults = [minutes('duration', 30), minutes('alignmentInterval', 30)].filter(({ url }) => !given(url));
  return {
    resourceType: 'HealthcareService',
    id: 'visit',
    type: [{ coding: [{ system: 'urn:services', code: 'visit' }] }],
    category: [{ coding: [{ system: 'urn:categories', code: 'care' }] }],
    specialty: [{ coding: [{ system: 'urn:specialties', code: 'general' }] }],
    availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '09:00:00', availableEndTime: '12:00:00' }],
    extension: [{ url: PARAMETERS, extension: [...defaults, ...parameters] }],
    ...more,
  } satisfies HealthcareService;
}

export function scheduleOf(services: readonly { readonly id: string }[], more: Partial<Schedule> = {}) {
  return {
    resourceType: 'Schedule',
    id: 'calendar',
    active: true,
    actor: [{ reference: 'Practitioner/ada' }],
    serviceType: services.map(({ id }) => ({
      extension: [
        {
          url: 'https://medplum.com/fhir/service-type-reference',
          valueReference: { reference: `HealthcareService/${id}` },
        },
      ],
    })),
    ...more,
  } satisfies Schedule;
}

export const visit = service();
export const calendar = scheduleOf([visit]);

/** What is published of a Schedule with these services, on the Monday alone. */
export function stateOf(
  slots: readonly Slot[] = [],
  more: Partial<PublishState> = {},
  services: readonly HealthcareService[] = [visit],
): PublishState {
  const schedule = more.schedule ?? calendar;
  return {
    schedule,
    services,
    publishing: publishingOf({ schedule, services, actor }, config),
    slots,
    held: new Set(),
    closedDays: [],
    now: monday,
    horizonWeeks: 0,
    window: { start: monday - 10 * 86_400_000, end: monday + 10_000 * 86_400_000 },
    ...more,
  };
}

let count = 0;

/** The Slots after a plan has been carried out. */
export function carriedOut(slots: readonly Slot[], { changes }: PublishPlan): Slot[] {
  const changed = new Map(changes.flatMap(({ stored, resource }) => (stored ? [[stored.id, resource] as const] : [])));
  const created = changes
    .filter(({ stored }) => !stored)
    .map(({ resource }) => ({ ...resource, id: `slot-${++count}` }));
  return [...slots.map((slot) => changed.get(slot.id) ?? slot), ...created];
}

/** What is stored once everything has been published. */
export function publish(state: PublishState): Slot[] {
  return carriedOut(state.slots, planSlots(state, config));
}

/** A Slot made by hand. */
export function slot(
  id: string,
  start: string,
  end: string,
  status: Slot['status'] = 'free',
  more: Partial<Slot> = {},
): Slot {
  return {
    resourceType: 'Slot',
    id,
    meta: { versionId: '1' },
    schedule: { reference: 'Schedule/calendar' },
    status,
    start: at(start),
    end: at(end),
    ...more,
  };
}

const berlin = new Intl.DateTimeFormat('de-DE', { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit' });

/** Slots as `09:00–09:30`, those with the given status, in order. */
export function times(slots: readonly Slot[], status: Slot['status'] = 'free'): string[] {
  return slots
    .filter((one) => one.status === status)
    .sort((a, b) => (a.start < b.start ? -1 : 1))
    .map(({ start, end }) => `${berlin.format(Date.parse(start))}–${berlin.format(Date.parse(end))}`);
}
