import { randomUUID } from 'node:crypto';
import type { Extension, HealthcareService, Resource, ResourceType, Schedule, Slot } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { stored, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';

const DAY = 86_400_000;

/** The day in four weeks, as a date; the calendars of these tests are open on that day alone. */
export const date = new Date(Date.now() + 28 * DAY).toISOString().slice(0, 10);

/** An instant of that day, in UTC. */
export const at = (time: string): string => `${date}T${time}:00.000Z`;

const weekday =
  (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[new Date(at('00:00')).getUTCDay()] ?? 'sun';

const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, unit: 'min' } });

async function create<T extends ResourceType>(type: T, body: Resource & { resourceType: T }) {
  return succeeded(type, await medplum('front-desk', 'POST', `/${type}`, { body }));
}

/** Writes a resource anew as clinic staff do. */
export async function change<T extends ResourceType>(type: T, body: Resource & { resourceType: T }) {
  return succeeded(type, await medplum('front-desk', 'PUT', `/${type}/${body.id}`, { body }));
}

/** Opening hours from one time of the day to another. */
export const open = (from: string, to: string): HealthcareService['availableTime'] => [
  { daysOfWeek: [weekday], availableStartTime: `${from}:00`, availableEndTime: `${to}:00` },
];

/** Opening hours on another day. */
export const never: HealthcareService['availableTime'] = [
  { daysOfWeek: [weekday === 'mon' ? 'wed' : 'mon'], availableStartTime: '09:00:00', availableEndTime: '10:00:00' },
];

/** A service with appointments of half an hour, one of its type alone. */
export function aService(hours = open('09:00', '11:00'), interval = 30) {
  return create('HealthcareService', {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Visit',
    type: [{ coding: [{ system: 'urn:services', code: randomUUID() }] }],
    availableTime: hours,
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          minutes('duration', 30),
          minutes('alignmentInterval', interval),
          { url: 'timezone', valueCode: 'UTC' },
        ],
      },
    ],
  });
}

/** A Schedule of a practitioner of its own that offers a service. */
export async function aCalendar({ id, type }: HealthcareService, more: Partial<Schedule> = {}) {
  const practitioner = await create('Practitioner', { resourceType: 'Practitioner', name: [{ family: 'Lovelace' }] });
  const valueReference = { reference: `HealthcareService/${id}` };
  return create('Schedule', {
    resourceType: 'Schedule',
    active: true,
    actor: [{ reference: `Practitioner/${practitioner.id}` }],
    serviceType: [
      { ...type?.[0], extension: [{ url: 'https://medplum.com/fhir/service-type-reference', valueReference }] },
    ],
    planningHorizon: { start: date, end: date },
    ...more,
  });
}

/** A Slot that clinic staff or another system write. */
export function aSlot({ id }: Schedule, status: Slot['status'], from: string, to: string) {
  return create('Slot', {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${id}` },
    status,
    start: at(from),
    end: at(to),
  });
}

/** What is free in a calendar as stored, in order: `09:00-09:30`. */
export async function freeTimes({ id }: Schedule): Promise<string[]> {
  const slots = await stored('Slot', `schedule=Schedule/${id}&status=free&_sort=start`);
  return slots.map(({ start, end }) => `${start.slice(11, 16)}-${end.slice(11, 16)}`);
}

/** Waits until exactly these times are free. */
export function untilFree(schedule: Schedule, times: readonly string[]): Promise<string[]> {
  return until(
    () => freeTimes(schedule),
    (found) => found.join() === times.join(),
    30_000,
  );
}
