import type { BotEvent, MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { hasEnded } from '../../core/booking/appointment/ended.ts';
import { holdersUrl } from '../../core/booking/slots/held.ts';
import { atOnce } from '../../core/calendar/publish/pace.ts';
import { publicationIn, publicationQuery, windowsFrom } from '../../core/calendar/publish/publication.ts';
import { rollForwardIn, rollForwardQuery } from '../../core/calendar/publish/roll-forward.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { idIn } from '../../core/fhir/reference/reference.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import type { Interval } from '../../core/time/interval.ts';
import { union } from '../../core/time/interval-set.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { resolveCollisions } from '../lib/booking/collisions.ts';
import { syncAppointment } from '../lib/booking/slot-sync.ts';
import { type OpeningHours, readOpeningHours } from '../lib/calendar/opening-hours.ts';
import { workOn, writePublication } from '../lib/calendar/publication.ts';
import { requestPublication, requestRollForward } from '../lib/calendar/request.ts';
import { publicationsOf, rollForward, takesPart } from '../lib/calendar/roll-forward.ts';
import { publishWindow } from '../lib/calendar/window.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken, sendTransaction } from '../lib/medplum.ts';
import { ofType, readInBatch } from '../lib/read.ts';
import { RUN_LIMIT } from '../lib/run-limit.ts';

/** A run without a sign of life for this time, in milliseconds, counts as dead. */
const DEAD_AFTER = 30_000;

/** How often all calendars are looked through without a known change, in milliseconds. */
const RENEW_AFTER = DAY;

/** How far back changes are looked for that may have been missed, in milliseconds; later ones are still being followed. */
const MISSED = { least: 60_000, most: 15 * 60_000 };

/** A period longer than this, in milliseconds, changes a calendar as a whole. */
const LONG = 14 * DAY;

/** Asks for the publication of a Schedule that has opening hours, or had some. */
async function scheduleChanged(medplum: MedplumClient, schedule: Schedule): Promise<void> {
  const { id } = schedule;
  if (id !== undefined && (takesPart(schedule) || (await publicationsOf(medplum, [schedule])).size > 0)) {
    await requestPublication(medplum, id);
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

/** A period in the parts in which it is published. */
function partsOf({ start, end }: Interval, { publishing }: OpeningHours): Interval[] {
  return windowsFrom(start, end, publishing).map((part) => ({ start: part.start, end: Math.min(part.end, end) }));
}

/** Writes a deleted Slot as it was, under its id. */
async function restore(medplum: MedplumClient, { meta: { tag, profile } = {}, ...slot }: Slot): Promise<void> {
  const resource: Slot = { ...slot, meta: { ...(tag && { tag }), ...(profile && { profile }) } };
  const { kind } = await sendTransaction(medplum, [{ request: { method: 'PUT', url: `Slot/${slot.id}` }, resource }]);
  if (kind !== 'done' && kind !== 'overtaken') {
    throw new Error(`Slot/${slot.id} could not be written again (${kind}).`);
  }
}

/** Takes a Slot again that somebody has deleted, or set free past the guard, although an appointment holds it. */
async function retake(medplum: MedplumClient, slot: Slot, isDeleted: boolean): Promise<void> {
  const isAsked = isDeleted || slot.status === 'free';
  const [found] = await readInBatch(medplum, isAsked ? [holdersUrl(slot.id ?? '')] : []);
  const holders = ofType('Appointment', found);
  const isGone = isDeleted && !ofType('Slot', found).some(({ id }) => id === slot.id);
  if (isGone && holders.some((one) => !hasEnded(one, Date.now(), config))) {
    await restore(medplum, slot);
  }
  for (const appointment of holders) {
    await syncAppointment(medplum, appointment);
  }
}

/**
 * Publishes the time around a Slot that was taken or released again. If Slots are missing there that were never published,
 * the publication of the calendar creates them: there is one at a time.
 */
async function publishAround(medplum: MedplumClient, slot: Slot, id: string): Promise<void> {
  const windows = (await timesOf(medplum, slot)).filter(({ end }) => end > Date.now());
  if (windows.some(({ start, end }) => end - start > LONG)) {
    await requestPublication(medplum, id);
    return;
  }
  const hours = windows.length > 0 ? await readOpeningHours(medplum, id) : undefined;
  if (!hours) {
    return;
  }
  let isMissing = false;
  for (const window of windows.flatMap((one) => partsOf(one, hours))) {
    const { kind, problems } = await retryOvertaken(
      () => publishWindow(medplum, hours, window),
      (result) => result.kind === 'overtaken',
      { most: config.maxAttempts, within: RUN_LIMIT },
    );
    isMissing ||= kind === 'missing';
    if (kind !== 'published' && kind !== 'missing') {
      const reasons = kind === 'refused' ? problems.map(({ diagnostics }) => diagnostics) : [];
      throw new Error([`The Slots of Schedule/${id} could not be written (${kind}).`, ...reasons].join(' '));
    }
  }
  await (isMissing && requestPublication(medplum, id));
}

/**
 * Resolves what a Slot collides with, and lets the published Slots follow it. Medplum reports a change only once: where
 * that fails, the whole calendar is looked at when its turn comes.
 */
async function slotChanged(medplum: MedplumClient, slot: Slot, isDeleted: boolean): Promise<void> {
  const id = idIn(slot.schedule, 'Schedule');
  const failures: unknown[] = [];
  await retake(medplum, slot, isDeleted).catch((reason: unknown) => failures.push(reason));
  await resolveCollisions(medplum, slot).catch((reason: unknown) => failures.push(reason));
  if (id !== undefined) {
    await publishAround(medplum, slot, id).catch(async (reason: unknown) => {
      failures.push(reason);
      await requestPublication(medplum, id);
    });
  }
  if (failures.length > 0) {
    throw new Error(failures.map(String).join('\n'));
  }
}

/** The Schedules whose latest change was not processed because a job was lost. */
async function unfollowed(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<string[]> {
  const candidates = schedules.filter(takesPart);
  const tasks = await publicationsOf(medplum, candidates);
  return candidates
    .filter(({ id, meta }) => (tasks.get(id)?.meta?.lastUpdated ?? '') < (meta?.lastUpdated ?? ''))
    .flatMap(({ id }) => id ?? []);
}

/** Whether the pass through all Schedules is to start again or to continue. */
function passNeeded(task: Task | undefined, waits: boolean, services: readonly HealthcareService[], now: number) {
  const pass = task && rollForwardIn(task);
  const isMissed = services.some(({ meta }) => Date.parse(meta?.lastUpdated ?? '') > (pass?.began ?? 0));
  if (!pass || now - pass.began > RENEW_AFTER || isMissed) {
    return 'begin';
  }
  return waits && pass.status === 'completed' ? 'go-on' : undefined;
}

/** Takes up what was interrupted or lost, and looks through all calendars once a day. */
async function clock(medplum: MedplumClient): Promise<void> {
  const now = Date.now();
  const before = (age: number): string => `lt${formatInstant(now - age)}`;
  const lately = new URLSearchParams([
    ['_lastUpdated', `gt${formatInstant(now - MISSED.most)}`],
    ['_lastUpdated', before(MISSED.least)],
    ['_count', '100'],
  ]);
  const stalled = { status: 'requested,in-progress', _lastUpdated: before(DEAD_AFTER), _sort: '_lastUpdated' };
  const [passes, left, waiting, schedules, services] = await readInBatch(medplum, [
    rollForwardQuery(config),
    publicationQuery(stalled, config),
    publicationQuery({ status: 'accepted', _count: '1' }, config),
    `Schedule?${lately}`,
    `HealthcareService?${lately}`,
  ]);
  for (const id of await unfollowed(medplum, ofType('Schedule', schedules))) {
    await requestPublication(medplum, id);
  }
  const tasks = ofType('Task', left);
  for (const task of tasks) {
    const publication = publicationIn(task);
    await (publication && writePublication(medplum, task, { ...publication, status: 'accepted' }));
  }
  const [pass] = ofType('Task', passes);
  const waits = tasks.length > 0 || (waiting ?? []).length > 0;
  const request = passNeeded(pass, waits, ofType('HealthcareService', services), now);
  if (request) {
    await requestRollForward(medplum, request);
  } else if (pass && pass.status !== 'completed' && Date.parse(pass.meta?.lastUpdated ?? '') < now - DEAD_AFTER) {
    await rollForward(medplum, pass, now + RUN_LIMIT);
  }
}

/** Publishes one Schedule at once; what is left of it when its turn is over joins the others. */
async function publicationRequested(medplum: MedplumClient, task: Task): Promise<void> {
  const isUnfinished = await workOn(medplum, task, atOnce);
  if (isUnfinished) {
    await requestRollForward(medplum, 'go-on');
  }
}

/** The handler of each resource type that Medplum reports. */
function changed(medplum: MedplumClient, resource: unknown, isDeleted: boolean): Promise<void> | undefined {
  if (isResource(resource, 'Task')) {
    return rollForwardIn(resource)
      ? rollForward(medplum, resource, Date.now() + RUN_LIMIT)
      : publicationRequested(medplum, resource);
  }
  if (isResource(resource, 'Schedule')) {
    return scheduleChanged(medplum, resource);
  }
  if (isResource(resource, 'HealthcareService')) {
    return requestRollForward(medplum, 'begin');
  }
  return isResource(resource, 'Slot') ? slotChanged(medplum, resource, isDeleted) : undefined;
}

/**
 * Makes free Slots from opening hours, and lets them follow what takes time. Started by changes, it asks for the
 * publication of the calendars they concern, or puts the time around a Slot in order; started by that request, it
 * publishes for some seconds, and asks for its next run if something is left; started by the clock, it takes up what
 * was interrupted, and rolls calendars forward once a day.
 *
 * @param event - input: what has changed, or `deletedResource` with it; none of these if started by the clock
 * @throws Error when the server could not be read or written; the clock takes it up again
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Task | Schedule | HealthcareService | Slot | { deletedResource: Resource }>,
): Promise<void> {
  const isDeleted = isObject(input) && 'deletedResource' in input;
  const resource = isDeleted ? input.deletedResource : input;
  await (changed(medplum, resource, isDeleted) ?? clock(medplum));
}
