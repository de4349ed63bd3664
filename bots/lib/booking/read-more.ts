import type { MedplumClient } from '@medplum/core';
import type { Appointment, Resource, Task } from '@medplum/fhirtypes';
import type { Patients } from '../../../core/booking/appointment/change.ts';
import { hasEnded } from '../../../core/booking/appointment/expiry.ts';
import type { Histories, Knowledge, Wanted } from '../../../core/booking/book/knowledge.ts';
import { slotsOfVersions } from '../../../core/booking/book/resubmission/idempotency.ts';
import { type Role, roleOf } from '../../../core/booking/caller-role.ts';
import { tasksOfQuery } from '../../../core/booking/confirmation/task.ts';
import {
  countedSlotReads,
  type Quota,
  quotaKey,
  quotaRow,
  quotaRowSearch,
  type Usage,
} from '../../../core/booking/policy/quota.ts';
import { byId, type ResourceSet, resourceSet } from '../../../core/booking/resource-set.ts';
import { readState, searchByIds, searchUrl } from '../../../core/booking/search.ts';
import { type Fragments, fragmentReads, readFragments } from '../../../core/booking/slots/fragments.ts';
import { slotsAtReads } from '../../../core/booking/slots/reads.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { get, sendBundle, sendTransaction } from '../medplum.ts';
import { ofType, ReadError, readHistories, readInBatch, readInTransaction, readWhole } from '../read.ts';
import { readSurvivors } from './related-reads.ts';

/** For whom more is read, and for what time. */
export interface ReadContext {
  readonly authorization?: string | undefined;
  readonly now: number;
  readonly interval?: Interval | undefined;
  /** Whether nothing may be written. */
  readonly isDry?: boolean | undefined;
}

function isInTheWay(appointment: Appointment, { now, interval }: ReadContext): boolean {
  const [start, end] = [parseInstant(appointment.start), parseInstant(appointment.end)];
  const isThere = start !== undefined && end !== undefined && interval !== undefined;
  return isThere && hasEnded(appointment, now, config) && overlaps({ start, end }, interval);
}

/** Reads with the Bot's own rights: the appointments of others count as well, and none of them reaches the caller. */
async function readFragmentsOf(
  medplum: MedplumClient,
  { origins, rewritten }: NonNullable<Wanted['fragments']>,
  context: ReadContext,
): Promise<Fragments> {
  const answer = await sendBundle(medplum, fragmentReads(origins, artefactUri(config, 'LocalSlotOrigin')));
  const read =
    answer.kind === 'done'
      ? readFragments(answer.bundle, rewritten, (appointment) => isInTheWay(appointment, context))
      : undefined;
  if (!read || !('slots' in read)) {
    throw new ReadError('The fragments of slots could not be read.');
  }
  return { ...read, origins };
}

/**
 * The role in which a caller acts.
 *
 * @throws ReadError when Medplum does not identify the caller
 */
export async function readRole(medplum: MedplumClient, authorization: string | undefined): Promise<Role> {
  const me = await get(medplum, 'auth/me', { authorization });
  const role = me?.status === 200 ? roleOf(me.body) : undefined;
  if (!role) {
    throw new ReadError('Medplum does not identify the caller.');
  }
  return role;
}

async function readServices(
  medplum: MedplumClient,
  ids: readonly string[],
  { authorization }: ReadContext,
): Promise<ResourceSet> {
  const entry = searchByIds('HealthcareService', ids);
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, { authorization });
  const read = answer.kind === 'done' ? readState(answer.bundle) : undefined;
  if (!read || !('state' in read)) {
    throw new ReadError('The services of a schedule could not be read.');
  }
  return read.state;
}

/** How many versions of an appointment are read: the latest ones. */
const VERSIONS = 100;

/**
 * The versions of appointments that the caller may read, and the Slots of those versions whose time is that of the
 * booking.
 */
async function readVersions(
  medplum: MedplumClient,
  ids: readonly string[],
  { interval }: ReadContext,
): Promise<Histories> {
  const histories = await readHistories(
    medplum,
    ids.map((id) => `Appointment/${id}/_history?_count=${VERSIONS}`),
  );
  const cut = new Set(ids.filter((_, index) => (histories[index]?.total ?? 0) > VERSIONS));
  const versions = histories.map(({ entry = [] }) =>
    ofType(
      'Appointment',
      entry.flatMap(({ resource }) => resource ?? []),
    ).reverse(),
  );
  const slots = slotsOfVersions(versions.flat(), interval);
  const [found] = slots.length > 0 ? await readInBatch(medplum, [`Slot?_id=${slots.join(',')}&_count=1000`]) : [];
  return { versions: new Map(ids.map((id, index) => [id, versions[index] ?? []])), cut, slots: ofType('Slot', found) };
}

/**
 * Patients, and those into whom they were merged. What the caller may not see of them only decides whom its appointment
 * is for.
 */
async function readMerged(medplum: MedplumClient, ids: readonly string[]): Promise<Patients> {
  const [found] = await readInBatch(medplum, [`Patient?_id=${ids.join(',')}&_count=1000`]);
  return readSurvivors(medplum, byId(ofType('Patient', found)));
}

async function readTasks(medplum: MedplumClient, appointments: readonly string[]): Promise<Task[]> {
  const [found] = await readInBatch(medplum, [searchUrl('Task', tasksOfQuery(appointments, config))]);
  return ofType('Task', found);
}

/** Reads with the Bot's own rights: what others have taken counts as well, and none of it reaches the caller. */
async function readAround(
  medplum: MedplumClient,
  times: NonNullable<Wanted['around']>,
): Promise<NonNullable<Knowledge['around']>> {
  return { slots: ofType('Slot', await readWhole(medplum, slotsAtReads(times))) };
}

/** Creates the row of a quota, only once even if several requests try at the same moment. */
async function createRow(medplum: MedplumClient, quota: Quota): Promise<void> {
  const request = { method: 'POST' as const, url: 'Task', ifNoneExist: quotaRowSearch(quota, config) };
  await sendTransaction(medplum, [{ request, resource: quotaRow(quota, config) }]);
}

/** How often the row of a quota is looked for: another request may be creating it. */
const ATTEMPTS = 5;

/** How many quotas are counted at the same time: each patient who takes part has one. */
const QUOTAS_AT_ONCE = 4;

async function readCountedSlots(medplum: MedplumClient, quota: Quota, found: readonly Resource[]): Promise<Resource[]> {
  const reads = countedSlotReads(quota, ofType('Appointment', found));
  const urls = reads.flatMap(({ request }) => request?.url ?? []);
  return (await readInBatch(medplum, urls)).flat();
}

/**
 * The row and the appointments that count for it are read as they were at one moment, so that no booking in between is
 * missed. The Schedule of a Slot does not change and can be read later.
 */
async function readUsage(
  medplum: MedplumClient,
  quota: Quota,
  { isDry }: ReadContext,
): Promise<readonly [string, Usage]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [rows, found = []] = await readInTransaction(medplum, [
      `Task?${quotaRowSearch(quota, config)}`,
      searchUrl('Appointment', quota.query),
    ]);
    const [row] = ofType('Task', rows);
    if (row || isDry) {
      return [
        quotaKey(quota),
        { row, found: resourceSet([...found, ...(await readCountedSlots(medplum, quota, found))]) },
      ];
    }
    await createRow(medplum, quota);
  }
  throw new ReadError('The row of a quota could not be created.');
}

/**
 * Reads what a decision turned out to depend on, all of it at the same time.
 *
 * @throws ReadError when the server could not be read
 */
export async function readMore(
  medplum: MedplumClient,
  { fragments, role, services, around, quotas, histories, patients, tasks }: Wanted,
  context: ReadContext,
): Promise<Knowledge> {
  const [foundFragments, foundRole, foundServices, foundAround, usage, foundHistories, foundPatients, foundTasks] =
    await Promise.all([
      fragments && readFragmentsOf(medplum, fragments, context),
      role && readRole(medplum, context.authorization),
      services && readServices(medplum, services, context),
      around && readAround(medplum, around),
      quotas && mapConcurrently(quotas, QUOTAS_AT_ONCE, (quota) => readUsage(medplum, quota, context)),
      histories && readVersions(medplum, histories, context),
      patients && readMerged(medplum, patients),
      tasks && readTasks(medplum, tasks),
    ]);
  return {
    ...(foundFragments && { fragments: foundFragments }),
    ...(foundRole && { role: foundRole }),
    ...(foundServices && { services: foundServices }),
    ...(foundAround && { around: foundAround }),
    ...(usage && { usage: new Map(usage) }),
    ...(foundHistories && { histories: foundHistories }),
    ...(foundPatients && { patients: foundPatients }),
    ...(foundTasks && { tasks: foundTasks }),
  };
}
