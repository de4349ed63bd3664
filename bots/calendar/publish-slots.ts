import type { BotEvent, MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { idIn } from '../../core/booking/resource-set.ts';
import type { Interval } from '../../core/booking/slots/interval.ts';
import { offersAllServices } from '../../core/calendar/parameters/schedule-calendar.ts';
import { isClosedDays } from '../../core/calendar/publish/closed-days.ts';
import { publicationIn, publicationQuery } from '../../core/calendar/publish/publication.ts';
import { union } from '../../core/calendar/time/interval-set.ts';
import { DAY } from '../../core/calendar/time/time-zone.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { serviceIdsOf } from '../../core/fhir/reference/service-reference.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { readOpeningHours } from '../lib/calendar/opening-hours.ts';
import { requestPublication, workOn } from '../lib/calendar/publication.ts';
import { publishWindow } from '../lib/calendar/window.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken } from '../lib/medplum.ts';
import { ofType, readInBatch } from '../lib/read.ts';

/** After so many milliseconds the rest is left to the next run: the Bot has ten seconds. */
const PATIENCE = 6_000;

/** A run without a sign of life for this time, in milliseconds, counts as dead. */
const DEAD_AFTER = 2 * 60_000;

/** How often a calendar is published again without a known change, in milliseconds. */
const RENEW_AFTER = DAY;

/** How many Schedules are looked at in one run of the clock, and how many there are at most. */
const PAGE = 100;
const MOST_SCHEDULES = 10_000;

/** What is longer changes a calendar as a whole, in milliseconds. */
const LONG = 14 * DAY;

const takesPart = (schedule: Schedule): boolean => offersAllServices(schedule) || serviceIdsOf(schedule).length > 0;

/** The Schedules for which no publication was ever requested. */
async function unknownAmong(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<string[]> {
  const ids = schedules.filter(takesPart).flatMap(({ id }) => id ?? []);
  const focus = ids.map((id) => `Schedule/${id}`).join(',');
  const query = publicationQuery({ focus, _count: '1000' }, config);
  const [found] = await readInBatch(medplum, ids.length > 0 ? [query] : []);
  const known = new Set(ofType('Task', found).map((task) => publicationIn(task)?.schedule));
  return ids.filter((id) => !known.has(id));
}

/** Asks for the publication of a Schedule that has opening hours, or had some. */
async function scheduleChanged(medplum: MedplumClient, schedule: Schedule): Promise<void> {
  const query = publicationQuery({ focus: `Schedule/${schedule.id}` }, config);
  const [found = []] = takesPart(schedule) ? [[schedule]] : await readInBatch(medplum, [query]);
  if (found.length > 0 && schedule.id !== undefined) {
    await requestPublication(medplum, schedule.id);
  }
}

/** Asks for the publication of all Schedules that offer a service; the closed days concern each of them. */
async function serviceChanged(medplum: MedplumClient, service: HealthcareService): Promise<void> {
  for (let offset = 0; offset < MOST_SCHEDULES; offset += 1000) {
    const [found] = await readInBatch(medplum, [`Schedule?_count=1000&_offset=${offset}&_sort=_lastUpdated`]);
    const schedules = ofType('Schedule', found);
    const isConcerned = (schedule: Schedule): boolean =>
      isClosedDays(service, config) || offersAllServices(schedule) || serviceIdsOf(schedule).includes(service.id ?? '');
    for (const { id } of schedules.filter((schedule) => takesPart(schedule) && isConcerned(schedule))) {
      await requestPublication(medplum, id ?? '');
    }
    if (schedules.length < 1000) {
      return;
    }
  }
}

/** The periods of a Slot in its latest versions: time that it no longer covers is free again. */
async function timesOf(medplum: MedplumClient, slot: Slot): Promise<readonly Interval[]> {
  const [found] = await readInBatch(medplum, [`Slot/${slot.id}/_history?_count=5`]);
  const times = [slot, ...ofType('Slot', found)].flatMap((version) => {
    const [start, end] = [parseInstant(version.start), parseInstant(version.end)];
    return start === undefined || end === undefined ? [] : [{ start: start - DAY, end: end + DAY }];
  });
  return union(times);
}

/** Publishes the time around a Slot that was taken or released again. */
async function slotChanged(medplum: MedplumClient, slot: Slot): Promise<void> {
  const id = idIn(slot.schedule, 'Schedule');
  const windows = (await timesOf(medplum, slot)).filter(({ end }) => end > Date.now());
  if (id === undefined || windows.length === 0) {
    return;
  }
  if (windows.some(({ start, end }) => end - start > LONG)) {
    await requestPublication(medplum, id);
    return;
  }
  const hours = await readOpeningHours(medplum, id);
  for (const window of hours ? windows : []) {
    const result = await retryOvertaken(
      () => (hours ? publishWindow(medplum, hours, window) : Promise.resolve('published' as const)),
      (kind) => kind === 'overtaken',
      { most: config.maxAttempts, within: PATIENCE },
    );
    if (result !== 'published') {
      throw new Error(`The Slots of Schedule/${id} could not be written (${result}).`);
    }
  }
}

/** Publishes calendars that were interrupted, are due, or have never been published. */
async function clock(medplum: MedplumClient): Promise<void> {
  const now = Date.now();
  const lately = (age: number): string => `lt${formatInstant(now - age)}`;
  const open = { status: 'requested,in-progress', _lastUpdated: lately(DEAD_AFTER) };
  const due = { status: 'completed,failed', _lastUpdated: lately(RENEW_AFTER) };
  const offset = (Math.floor(now / 60_000) * PAGE) % MOST_SCHEDULES;
  const [left, renewed, page, changed] = await readInBatch(medplum, [
    publicationQuery({ ...open, _sort: '_lastUpdated' }, config),
    publicationQuery({ ...due, _sort: '_lastUpdated' }, config),
    `Schedule?_count=${PAGE}&_offset=${offset}&_sort=_lastUpdated`,
    `Schedule?_count=${PAGE}&_sort=-_lastUpdated`,
  ]);
  for (const id of await unknownAmong(medplum, [...ofType('Schedule', page), ...ofType('Schedule', changed)])) {
    await requestPublication(medplum, id);
  }
  for (const task of [...ofType('Task', left), ...ofType('Task', renewed)]) {
    if (Date.now() - now < PATIENCE) {
      await workOn(medplum, task, now + PATIENCE);
    }
  }
}

/** The handler of each resource type that Medplum reports. */
function changed(medplum: MedplumClient, resource: unknown): Promise<void> | undefined {
  if (isResource(resource, 'Task')) {
    return workOn(medplum, resource, Date.now() + PATIENCE);
  }
  if (isResource(resource, 'Schedule')) {
    return scheduleChanged(medplum, resource);
  }
  if (isResource(resource, 'HealthcareService')) {
    return serviceChanged(medplum, resource);
  }
  return isResource(resource, 'Slot') ? slotChanged(medplum, resource) : undefined;
}

/**
 * Makes free Slots from opening hours, and lets them follow what takes time. Started by changes, it asks for the
 * publication of the calendars they concern, or puts the time around a Slot in order; started by that request, it
 * publishes; started by the clock, it finishes what was left, and rolls calendars forward once a day.
 *
 * @param event - input: what has changed, or `deletedResource` with it; by the clock, nothing of these
 * @throws Error when the server could not be read or written; the clock takes it up again
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Task | Schedule | HealthcareService | Slot | { deletedResource: Resource }>,
): Promise<void> {
  const resource = isObject(input) && 'deletedResource' in input ? input.deletedResource : input;
  await (changed(medplum, resource) ?? clock(medplum));
}
