import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, Communication, Patient } from '@medplum/fhirtypes';
import { replacedBy } from '../../../../core/booking/appointment/change.ts';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { belongsTo } from '../../../../core/fhir/tags.ts';
import { checkpointSearch, recordedSince, unsettledSince } from '../../../../core/notifications/delivery/retention.ts';
import {
  type Change,
  changesOf,
  isDeletion,
  newEvents,
  type Version,
  versionsIn,
} from '../../../../core/notifications/events/appointment-events.ts';
import { concernQuery } from '../../../../core/notifications/events/concern.ts';
import { type Event, eventKey, eventOf } from '../../../../core/notifications/events/event.ts';
import type { FormerOf } from '../../../../core/notifications/subscription/filter.ts';
import { config } from '../../config.ts';
import { ofType, readHistories, readInTransaction } from '../../read.ts';
import { readOpenRows, readSubscriptionsOf, type SubscriptionOutbox } from '../outbox-store.ts';

/** How many merges in a row are followed. */
const MAX_CHAIN = 8;

const MAX_LINKS = 1000;

const isPatient = (reference: string | undefined): reference is string => reference?.startsWith('Patient/') ?? false;

const asksForPatients = ({ settings }: SubscriptionOutbox): boolean =>
  settings?.conditions.some(({ values }) => values.some(isPatient)) ?? false;

/** The records of the patients that were merged into those of some changes. */
type MergedPatients = readonly Patient[];

/**
 * Reads the patients that were merged into those of appointments, if a Subscription asks for certain patients: the
 * subscriber knows the patient that it submitted, but the appointment names the one that the clinic merged it into.
 */
export async function readMergedPatients(
  medplum: MedplumClient,
  outboxes: readonly SubscriptionOutbox[],
  changes: readonly Change[],
): Promise<MergedPatients> {
  const actors = changes.flatMap(({ current }) => current.participant.map(({ actor }) => actor?.reference));
  let asked = outboxes.some(asksForPatients) ? [...new Set(actors.filter(isPatient))] : [];
  const merged = new Map<string, Patient>();
  for (let merges = 0; asked.length > 0 && merges < MAX_CHAIN && merged.size < MAX_LINKS; merges++) {
    const [found] = await readInTransaction(medplum, [`Patient?link=${asked.join(',')}&_count=${MAX_LINKS}`]);
    const known = new Set(asked);
    const fresh = ofType('Patient', found).filter(
      (patient) => patient.id && !merged.has(patient.id) && known.has(`Patient/${replacedBy(patient)}`),
    );
    for (const one of fresh) {
      merged.set(one.id ?? '', one);
    }
    asked = fresh.map(({ id }) => `Patient/${id}`);
  }
  return [...merged.values()];
}

/** The merged patients whom a subscriber may know: its own, or all if it may read every appointment. */
export function formerPatients(merged: MergedPatients, { row }: SubscriptionOutbox): FormerOf {
  const { subscriber, readable } = row.outboxes;
  const mayKnow = (patient: Patient): boolean =>
    readable.includes('Appointment') || belongsTo(patient, subscriber, config);
  const before = (reference: string, depth: number): string[] =>
    depth >= MAX_CHAIN
      ? []
      : merged
          .filter((patient) => `Patient/${replacedBy(patient)}` === reference)
          .flatMap((patient) => [
            ...(mayKnow(patient) ? [`Patient/${patient.id}`] : []),
            ...before(`Patient/${patient.id}`, depth + 1),
          ]);
  return (reference) => (isPatient(reference) ? before(reference, 0) : []);
}

/** How many of an appointment's newest versions are read; older ones are read only while their events may be missing. */
const VERSIONS = 50;

/** How many older versions are read at a time, and how many of one appointment at most: Medplum pages no further. */
const OLDER = { page: 200, most: 10_000 };

/** The elements that decide who is notified of a version. */
const deciding: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta', 'status', 'participant', 'extension']);

/** The most characters that other elements of a version may have to be kept in memory. */
const MAX_LENGTH = 1_000;

/** An entry without long texts, which decide nothing: thousands of versions may be in memory at the same time. */
function withoutLong({ resource, ...entry }: BundleEntry): BundleEntry {
  if (!isResource(resource, 'Appointment')) {
    return { ...entry, ...(resource && { resource }) };
  }
  const kept = { ...resource };
  for (const name of Object.keys(kept) as (keyof Appointment)[]) {
    if (!deciding.has(name) && JSON.stringify(kept[name]).length > MAX_LENGTH) {
      delete kept[name];
    }
  }
  return { ...entry, resource: kept };
}

/** Whether a history that was read lacks older versions. */
const isCut = ({ entry = [], total = 0 }: Pick<Bundle, 'entry' | 'total'> = {}): boolean => total > entry.length;

/** When a version was written, or the appointment deleted; milliseconds since 1970 UTC. */
const momentOf = (version: Version | undefined): number =>
  Date.parse((isDeletion(version) ? version.deleted : version?.meta?.lastUpdated) ?? '');

/** Identifies an entry of a history: a version that is written in the meantime shifts the pages. */
const entryKey = ({ resource, response }: BundleEntry): string =>
  resource?.meta?.versionId ?? JSON.stringify(response?.outcome);

/** Adds older entries to a history, as long as they may be changes after `since` (milliseconds since 1970 UTC). */
async function withOlder(medplum: MedplumClient, about: string, first: Bundle, since: number): Promise<Bundle> {
  const { entry = [], total = 0 } = first;
  const entries = new Map(entry.map((one) => [entryKey(one), one]));
  let offset = entry.length;
  let oldest = entry.at(-1);
  const mayMiss = (): boolean => momentOf(versionsIn({ ...first, entry: oldest && [oldest] }, Date.now())[0]) >= since;
  while (oldest && offset < Math.min(total, OLDER.most) && mayMiss()) {
    const [page] = await readHistories(medplum, [`${about}/_history?_count=${OLDER.page}&_offset=${offset}`]);
    const older = page?.entry ?? [];
    for (const one of older) {
      entries.set(entryKey(one), withoutLong(one));
    }
    offset += older.length;
    oldest = older.at(-1);
  }
  return { ...first, entry: [...entries.values()] };
}

/**
 * Reads the histories of appointments as far as events of their changes may be missing: their newest versions, and older
 * ones too if runs were missed.
 * @param about - references to the appointments
 * @param outboxes - of the subscribers that may have to be notified
 */
async function readAppointmentHistories(
  medplum: MedplumClient,
  about: readonly string[],
  outboxes: readonly SubscriptionOutbox[],
): Promise<Bundle[]> {
  const histories = await readHistories(
    medplum,
    about.map((reference) => `${reference}/_history?_count=${VERSIONS}`),
  );
  if (!histories.some(isCut)) {
    return histories;
  }
  const [checkpoints] = await readInTransaction(medplum, [checkpointSearch(config)]);
  const listening = outboxes.map(({ outbox }) => recordedSince(outbox.since, Date.now(), config));
  const since = unsettledSince(ofType('Task', checkpoints)[0], Math.min(...listening));
  const complete: Bundle[] = [];
  for (const [index, history] of histories.entries()) {
    complete.push(isCut(history) ? await withOlder(medplum, about[index] ?? '', history, since) : history);
  }
  return complete;
}

const MAX = 1000;

/**
 * How many appointments are processed together: the events of one Subscription about their newest versions fit into one
 * search, and these versions into an answer, however long their texts are.
 */
export const BATCH_SIZE = 5;

/** Everything that decides which events are recorded. */
export interface EventState {
  readonly outboxes: readonly SubscriptionOutbox[];
  readonly changes: readonly Change[];
  readonly events: readonly Communication[];
  /** Ids of the appointments that were deleted. */
  readonly gone: ReadonlySet<string>;
  readonly merged: MergedPatients;
}

/**
 * Outboxes are read first, so that concurrent changes make the later write fail. Outboxes and events are read in
 * transactions, which a server with a read replica answers from its primary database. Histories may come from the
 * replica: a history without the current version is not used.
 * @param tags - only the outboxes that appointments with these tags concern are read
 * @throws Error when a history lags behind
 */
export async function readEventState(
  medplum: MedplumClient,
  ids: readonly string[],
  tags: ReadonlySet<string> | 'any',
): Promise<EventState> {
  const rows = await readOpenRows(medplum, tags === 'any' ? undefined : concernQuery(tags, config));
  if (rows.length === 0) {
    return { outboxes: [], changes: [], events: [], gone: new Set(), merged: [] };
  }
  const about = ids.map((id) => `Appointment/${id}`);
  const [outboxes, [events, current]] = await Promise.all([
    readSubscriptionsOf(medplum, rows),
    readInTransaction(medplum, [
      `Communication?based-on=${about.join(',')}&_count=${MAX}`,
      `Appointment?_id=${ids.join(',')}&_count=${MAX}`,
    ]),
  ]);
  const histories = await readAppointmentHistories(medplum, about, outboxes);
  const versions = histories.map((history) => versionsIn(history, Date.now()));
  const existing = new Map(ofType('Appointment', current).map(({ id, meta }) => [id, meta?.versionId]));
  if (!ids.every((id, index) => isCurrent(versions[index], existing.get(id)))) {
    throw new Error(
      'The histories lag behind the appointments (a read replica?); the Bot retry-deliveries tries again.',
    );
  }
  const found = ofType('Communication', events);
  const changes = versions.flatMap((one, index) => changesOf(one, config, isCut(histories[index]))).sort(byTime);
  const gone = new Set(ids.filter((id) => !existing.has(id)));
  return {
    outboxes,
    gone,
    changes,
    merged: await readMergedPatients(medplum, outboxes, changes),
    events: found.length < MAX ? found : await readEventsOfEach(medplum, ids, versions, gone),
  };
}

/** Whether a history has the current version of an appointment, or, if the appointment is gone, its deletion. */
function isCurrent(versions: readonly Version[] = [], current: string | undefined): boolean {
  return current === undefined
    ? isDeletion(versions[0])
    : versions.some((version) => !isDeletion(version) && version.meta?.versionId === current);
}

/** The events about an appointment from a moment on, page by page. */
async function readEventsSince(medplum: MedplumClient, id: string, moment: number): Promise<Communication[]> {
  const events = new Map<string | undefined, Communication>();
  let since = formatInstant(moment);
  for (;;) {
    const search = `Communication?based-on=Appointment/${id}&sent=ge${since}&_sort=sent&_count=${MAX}`;
    const page = ofType('Communication', (await readInTransaction(medplum, [search]))[0]);
    const known = events.size;
    for (const communication of page) {
      events.set(communication.id, communication);
    }
    if (page.length < MAX || events.size === known) {
      return [...events.values()];
    }
    since = page.at(-1)?.sent ?? since;
  }
}

/**
 * Reads the events appointment by appointment, because they are too many for one search: those since its oldest version
 * that was read; for a deleted appointment all, because they say who was notified of it.
 */
async function readEventsOfEach(
  medplum: MedplumClient,
  ids: readonly string[],
  versions: readonly (readonly Version[])[],
  gone: ReadonlySet<string>,
): Promise<Communication[]> {
  const events: Communication[] = [];
  for (const [index, id] of ids.entries()) {
    const oldest = gone.has(id) ? 0 : momentOf(versions[index]?.at(-1)) || 0;
    events.push(...(await readEventsSince(medplum, id, oldest)));
  }
  return events;
}

const timeOf = ({ current, deleted }: Change): number => Date.parse(deleted ?? current.meta?.lastUpdated ?? '');

const byTime = (change: Change, other: Change): number => timeOf(change) - timeOf(other);

export function knownEvents({ events }: EventState, subscriptionId: string): Event[] {
  return events.flatMap((event) => eventOf(event, subscriptionId, config) ?? []);
}

/**
 * The events that a Subscription does not have yet.
 * @param isReadable - whether its subscriber may be notified of a change
 */
export function missingEvents(
  state: EventState,
  stored: SubscriptionOutbox,
  isReadable: (change: Change) => boolean,
): Event[] {
  const { subscription, settings, outbox, row } = stored;
  const owner = row.outboxes.subscriber;
  const isListening = settings && subscription.status !== 'off';
  if (!isListening) {
    return [];
  }
  const known = new Set(knownEvents(state, subscription.id).map(eventKey));
  const formerOf = formerPatients(state.merged, stored);
  const subscriber = { owner, settings, since: recordedSince(outbox.since, Date.now(), config), formerOf };
  return newEvents(state.changes.filter(isReadable), subscriber, known, outbox.events, config);
}
