import type { MedplumClient } from '@medplum/core';
import type { Appointment, Patient, Resource } from '@medplum/fhirtypes';
import { hasEnded } from '../../../core/booking/appointment/expiry.ts';
import { fragmentReads, fragmentsIn, slotsAtReads } from '../../../core/booking/appointment/reads.ts';
import { slotsOfVersions } from '../../../core/booking/booking/idempotency.ts';
import type { Knowledge, Questions, Wanted } from '../../../core/booking/booking/knowledge.ts';
import { openTasksOf } from '../../../core/booking/jobs/confirmation-task.ts';
import {
  countedReads,
  type Quota,
  quotaKey,
  quotaRow,
  quotaRowSearch,
  type Usage,
} from '../../../core/booking/policy/quota.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { timeOf } from '../../../core/fhir/instant.ts';
import { byId, resourceSet } from '../../../core/rows/resource-set.ts';
import { creation, rowSearch } from '../../../core/rows/row.ts';
import { searchByIds, searchUrl } from '../../../core/rows/search.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { readRole } from '../caller.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, ReadError, readHistories, readInBatch, readInTransaction, readStateAs, readWhole } from '../read.ts';
import { readSurvivors } from './related-reads.ts';

/** For whom more is read, and for what times. */
interface ReadContext {
  readonly authorization?: string | undefined;
  readonly now: number;
  readonly intervals: readonly Interval[];
  /** Whether nothing may be written. */
  readonly isDry?: boolean | undefined;
}

/** Answers one question. */
type Read<Name extends keyof Questions> = (
  medplum: MedplumClient,
  asked: Questions[Name]['asked'],
  context: ReadContext,
) => Promise<Questions[Name]['known']>;

function isInTheWay(appointment: Appointment, { now, intervals }: ReadContext): boolean {
  const time = timeOf(appointment);
  return time !== undefined && hasEnded(appointment, now, config) && intervals.some((one) => overlaps(time, one));
}

const fragments: Read<'fragments'> = async (medplum, { origins, rewritten }, context) => {
  const reads = fragmentReads(origins, artefactUri(config, 'LocalSlotOrigin'));
  const found = await readInBatch(medplum, [
    ...reads.flatMap(({ request }) => request?.url ?? []),
    rowSearch(['publish'], { 'focus:Schedule._has:Slot:schedule:_id': origins.join(',') }, config),
  ]);
  const all = found.flat();
  const isOver = (one: Appointment): boolean => isInTheWay(one, context);
  return { ...fragmentsIn(resourceSet(all), rewritten, isOver), origins, rows: ofType('Task', all) };
};

/** All Slots at some times, and then the rows with the reservations of their Schedules. */
const around: Read<'around'> = async (medplum, times) => {
  const focus = times.map(({ schedule }) => `Schedule/${schedule}`).join(',');
  const rows = { request: { method: 'GET' as const, url: rowSearch(['publish'], { focus }, config) } };
  const found = await readWhole(medplum, [...slotsAtReads(times), rows]);
  return { slots: ofType('Slot', found), times, rows: ofType('Task', found) };
};

/** How many versions of an appointment are read: the latest ones. */
const VERSIONS = 100;

/**
 * The versions of appointments that the caller may read, and the Slots of those versions whose time is that of the
 * booking.
 */
const histories: Read<'histories'> = async (medplum, ids, { intervals }) => {
  const found = await readHistories(
    medplum,
    ids.map((id) => `Appointment/${id}/_history?_count=${VERSIONS}`),
  );
  const versions = found.map(({ entry = [] }) =>
    ofType(
      'Appointment',
      entry.flatMap(({ resource }) => resource ?? []),
    ).reverse(),
  );
  const slots = slotsOfVersions(versions.flat(), intervals);
  const then = await readInBatch(medplum, slots.length > 0 ? [`Slot?_id=${slots.join(',')}&_count=1000`] : []);
  return {
    versions: new Map(ids.map((id, index) => [id, versions[index] ?? []])),
    slots: ofType('Slot', then.flat()),
  };
};

/** Creates the row of a quota, only once even if several requests try at the same moment. */
async function createRow(medplum: MedplumClient, quota: Quota): Promise<void> {
  await sendTransaction(medplum, [creation(quotaRow(quota, config), quotaRowSearch(quota, config))]);
}

/** How often the row of a quota is looked for: another request may be creating it. */
const ATTEMPTS = 5;

/** How many quotas are counted at the same time: each patient who takes part has one. */
const QUOTAS_AT_ONCE = 4;

async function readCounted(medplum: MedplumClient, quota: Quota, found: readonly Resource[]): Promise<Resource[]> {
  const reads = countedReads(quota, ofType('Appointment', found));
  const urls = reads.flatMap(({ request }) => request?.url ?? []);
  return (await readInBatch(medplum, urls)).flat();
}

/**
 * The row and the appointments that count for it are read as they were at one moment, so that no booking in between is
 * missed. Slots with their Schedules, and patients, can be read later.
 */
async function readUsage(
  medplum: MedplumClient,
  quota: Quota,
  { isDry }: ReadContext,
): Promise<readonly [string, Usage]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [rows, ...lists] = await readInTransaction(medplum, [
      quotaRowSearch(quota, config),
      ...quota.queries.map((query) => searchUrl('Appointment', query)),
    ]);
    const found = lists.flat();
    const [row] = ofType('Task', rows);
    if (row || isDry) {
      return [quotaKey(quota), { row, found: resourceSet([...found, ...(await readCounted(medplum, quota, found))]) }];
    }
    await createRow(medplum, quota);
  }
  throw new ReadError('The row of a quota could not be created.');
}

const patientsById = async (medplum: MedplumClient, ids: readonly string[]): Promise<Patient[]> =>
  ofType('Patient', (await readInBatch(medplum, [`Patient?_id=${ids.join(',')}&_count=1000`])).flat());

/**
 * How each question is answered. Except for services, it is read with the Bot's own rights: what others have taken counts as
 * well, what the caller may not see of a patient only decides whom its appointment is for, and none of it reaches the caller.
 */
const reads: { readonly [Name in keyof Questions]: Read<Name> } = {
  fragments,
  role: (medplum, ids, { authorization }) => readRole(medplum, authorization, ids),
  services: (medplum, ids, rights) => readStateAs(medplum, searchByIds('HealthcareService', ids), rights),
  visits: (medplum, ids) => readStateAs(medplum, searchByIds('HealthcareService', ids), {}),
  around,
  usage: async (medplum, quotas, context) =>
    new Map(await mapConcurrently(quotas, QUOTAS_AT_ONCE, (quota) => readUsage(medplum, quota, context))),
  tasks: async (medplum, ids) => ofType('Task', (await readInBatch(medplum, [openTasksOf(ids, config)])).flat()),
  histories,
  patients: async (medplum, ids) => readSurvivors(medplum, byId(await patientsById(medplum, ids))),
  authored: async (medplum, ids) => resourceSet(await patientsById(medplum, ids)),
};

async function answer<Name extends keyof Questions>(
  name: Name,
  medplum: MedplumClient,
  wanted: Wanted,
  context: ReadContext,
): Promise<Knowledge> {
  const asked: Wanted[Name] = wanted[name];
  return asked === undefined ? {} : { [name]: await reads[name](medplum, asked, context) };
}

const isQuestion = (name: string): name is keyof Questions => Object.hasOwn(reads, name);

/**
 * Reads what a decision turned out to depend on, all of it at the same time.
 *
 * @throws ReadError when the server could not be read
 */
export async function readMore(medplum: MedplumClient, wanted: Wanted, context: ReadContext): Promise<Knowledge> {
  const names = Object.keys(wanted).filter(isQuestion);
  const answers = await Promise.all(names.map((name) => answer(name, medplum, wanted, context)));
  return Object.assign({}, ...answers);
}
