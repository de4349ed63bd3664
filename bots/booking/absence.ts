import type { BotEvent, MedplumClient } from '@medplum/core';
import type { BundleEntry, OperationOutcome, Parameters, Task } from '@medplum/fhirtypes';
import { scheduleIssues, wishIssues } from '../../core/absence/absence-issues.ts';
import { type AbsenceRequest, parseAbsenceRequest, type Wish } from '../../core/absence/request.ts';
import {
  type Absence,
  absenceOf,
  absenceResponse,
  absenceRow,
  affectedOf,
  affectedOfAbsence,
  blockIdentifier,
  blockSlot,
  type Entry,
  isRowFor,
  type Line,
  lockRow,
  openAbsences,
  statusOfRow,
} from '../../core/absence/rows.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { isResource, updateEntry } from '../../core/fhir/resource.ts';
import { findResource } from '../../core/rows/resource-set.ts';
import { creation } from '../../core/rows/row.ts';
import { searchByIds, searchUrl } from '../../core/rows/search.ts';
import type { Interval } from '../../core/time/interval.ts';
import {
  absenceActs,
  plan,
  readAbsent,
  readAffected,
  readLock,
  readOpenAbsences,
  withdrawOffers,
} from '../lib/absence/absence.ts';
import { type Requestor, unavailable, unavailableFor } from '../lib/booking/decide.ts';
import { readSchedules } from '../lib/booking/related-reads.ts';
import { callerOf, changesAll, readRights } from '../lib/caller.ts';
import { mapConcurrently } from '../lib/concurrency.ts';
import { config } from '../lib/config.ts';
import { RATE_LIMIT, retryOvertaken, sendBundle, writeUnlessOvertaken } from '../lib/medplum.ts';
import { ofType, ReadError, readAll, readByIds, readStateAs } from '../lib/read.ts';
import { carryOut } from '../lib/rows.ts';
import { withoutListed } from '../lib/visits/affected-visits.ts';

type Answer = Parameters | OperationOutcome;

/** Time for which a confirmed plan is carried out while the caller waits, in milliseconds. */
const MAX_DURATION = 2_500;

const BLOCK_CONCURRENCY = 4;

const notStaff: OperationOutcome = {
  resourceType: 'OperationOutcome',
  id: 'forbidden',
  issue: [
    {
      severity: 'error',
      code: 'forbidden',
      diagnostics: 'Only staff of the clinic who may change all appointments can say that somebody is absent.',
    },
  ],
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Others changed the absence at the same moment: send the request again.',
};

const limited: Issue = { ...unavailable, diagnostics: RATE_LIMIT };

const unknown: Issue = {
  code: 'transition-not-allowed',
  diagnostics: 'There is no absence of these Schedules in this period that could end early.',
  expression: 'Parameters',
};

const refuse = (...issues: readonly Issue[]): OperationOutcome => toOperationOutcome(issues, config);

interface Context {
  readonly medplum: MedplumClient;
  readonly request: AbsenceRequest;
  readonly caller: Requestor;
  readonly secrets: BotEvent['secrets'];
}

const endedAt = (period: Interval, end: number): Interval => ({
  start: period.start,
  end: Math.max(period.start, Math.min(period.end, end)),
});

/**
 * Finds the row of an absence. One that has ended early is found only by its end, so that it can be announced again.
 */
async function findRow({ medplum, request }: Context): Promise<Task | undefined> {
  const { period, end } = request;
  const rows = ofType('Task', await readAll(medplum, [openAbsences(config)]));
  const isAgain = (row: Task): boolean =>
    end !== undefined && isRowFor(row, { ...request, period: endedAt(period, end) });
  return rows.find((row) => isRowFor(row, request)) ?? rows.find(isAgain);
}

const newAbsence = ({ schedules, substitutes, period, reason }: AbsenceRequest): Absence => ({
  schedules: schedules.map(({ id }) => id).sort(),
  substitutes: substitutes.map(({ id }) => id),
  period,
  reason,
  blocks: [],
  plan: [],
  silence: undefined,
});

/**
 * Finds or creates the row of an absence; of two concurrent requests, one creates it.
 * @throws ReadError when other requests were faster at each attempt
 */
async function ensureAbsenceRow(context: Context): Promise<Task> {
  const { medplum, request } = context;
  const row = await retryOvertaken(
    async () => {
      const lock = await readLock(medplum);
      const existing = await findRow(context);
      if (existing) {
        return existing;
      }
      const draft = absenceRow(newAbsence(request), 'draft', Date.now(), config);
      const entry = [creation(draft), updateEntry(lock, lockRow(config, lock))];
      const written = await writeUnlessOvertaken(medplum, entry, 'The absence');
      const [first] = written?.entry ?? [];
      return isResource(first?.resource, 'Task') ? first.resource : undefined;
    },
    (row) => row === undefined,
  );
  if (!row) {
    throw new ReadError('Others changed absences at the same moment.');
  }
  return row;
}

/**
 * Writes one entry with the rights of the caller.
 * @returns the id of the stored resource, `undefined` after a deletion; or a refusal: after status 403, `notStaff`
 */
async function writeAsCaller(
  { medplum, caller }: Context,
  entry: BundleEntry,
): Promise<string | OperationOutcome | undefined> {
  const response = await sendBundle(
    medplum,
    { resourceType: 'Bundle', type: 'batch', entry: [entry] },
    { authorization: caller.authorization },
  );
  if (response.kind === 'failed') {
    return refuse(response.issue);
  }
  const [first] = response.kind === 'done' ? (response.bundle.entry ?? []) : [];
  const status = Number.parseInt(first?.response?.status ?? '503', 10);
  if (status < 300) {
    return first?.resource?.id ?? first?.response?.location?.split('/')[1];
  }
  if (status === 403) {
    return notStaff;
  }
  const isContested = status === 400 || status === 409 || status === 412;
  return refuse(isContested ? contested : status === 429 ? limited : unavailable);
}

/** Creates the Slots that block the Schedules, once, with the rights of the caller. Returns their ids or a refusal. */
async function blockSchedules(context: Context, row: Task): Promise<readonly string[] | OperationOutcome> {
  const { request } = context;
  const { system, value } = blockIdentifier(row.id ?? '');
  const results = await mapConcurrently(request.schedules, BLOCK_CONCURRENCY, async ({ id }) => {
    const resource = blockSlot(id, request.period, request.reason, row.id ?? '');
    const query = new URLSearchParams({ identifier: `${system}|${value}`, schedule: `Schedule/${id}` });
    return writeAsCaller(context, {
      request: { method: 'POST', url: 'Slot', ifNoneExist: query.toString() },
      resource,
    });
  });
  return results.find((result) => typeof result === 'object') ?? results.filter((result) => typeof result === 'string');
}

/** Plans new times for the appointments of a requested absence. Without blocks, it is a dry run: nothing is written. */
async function planRequested({ medplum, request, secrets }: Context, blocks: readonly string[]): Promise<Entry[]> {
  const now = Date.now();
  const absent =
    blocks.length > 0
      ? await readAbsent(medplum, blocks)
      : request.schedules.map(({ id }) => ({ schedule: id, ...request.period }));
  const { absences, absent: otherAbsent, rows } = await readOpenAbsences(medplum);
  const read = await readAffected(medplum, absent, now);
  await (blocks.length > 0 ? withdrawOffers(medplum, read) : undefined);
  const appointments = await withoutListed(
    medplum,
    read.appointments.filter(({ id }) => !rows.has(id ?? '')),
    rows,
  );
  const reserved = new Set([
    ...absences.flatMap(({ absence }) => absence.plan.flatMap(({ proposal }) => proposal?.slots ?? [])),
    ...[...rows.values()].flatMap((row) => affectedOf(row)?.proposal?.slots ?? []),
  ]);
  const substitutes = request.substitutes.map(({ id }) => id);
  return plan(medplum, { ...read, appointments, absent: [...absent, ...otherAbsent], substitutes, reserved }, secrets);
}

/** The plan that waits for confirmation, and the appointments that have rows, each with its outcome. */
async function linesOf(medplum: MedplumClient, row: Task): Promise<Line[]> {
  const rows = ofType('Task', await readAll(medplum, [affectedOfAbsence(row.id ?? '', config)]));
  const listed = rows.flatMap((task): Line[] => {
    const affected = affectedOf(task);
    return affected ? [{ ...affected, outcome: statusOfRow(task) }] : [];
  });
  return [...absenceOf(row).plan.map((entry): Line => ({ ...entry, outcome: 'waiting' })), ...listed];
}

async function responseFor({ medplum }: Context, row: Task): Promise<Parameters> {
  const [current] = ofType('Task', await readByIds(medplum, 'Task', [row.id ?? '']));
  return absenceResponse(row.id, absenceOf(current ?? row).blocks, await linesOf(medplum, current ?? row));
}

/** Blocks the time and stores a plan, which waits for confirmation. If that was done before, returns the response. */
async function announce(
  context: Context,
): Promise<{ readonly row: Task; readonly entries: readonly Entry[] } | Answer> {
  const { medplum, request } = context;
  const row = await ensureAbsenceRow(context);
  if (row.status !== 'draft') {
    return responseFor(context, row);
  }
  const blocks = await blockSchedules(context, row);
  if ('resourceType' in blocks) {
    return blocks;
  }
  const entries = await planRequested(context, blocks);
  const absence = { ...newAbsence(request), blocks, plan: entries };
  const stored = absenceRow(absence, 'draft', Date.now(), config, row);
  const written = await writeUnlessOvertaken(medplum, [updateEntry(row, stored)], `Task/${row.id}`);
  const [first] = written?.entry ?? [];
  return isResource(first?.resource, 'Task') ? { row: first.resource, entries } : refuse(contested);
}

/** The plan with the changes that staff send (`wishes`), or the issues of these changes. */
async function withWishes({ medplum, request }: Context, row: Task): Promise<Entry[] | OperationOutcome> {
  const absence = absenceOf(row);
  const wishes = request.wishes.map(({ proposal, ...wish }): Wish => {
    const planned = absence.plan.find(({ appointment }) => appointment === wish.appointment)?.proposal;
    // A visit that is sent back as planned is confirmed as a whole.
    const isVisit = planned?.isVisit && planned.slots.join() === proposal?.slots.join();
    return { ...wish, proposal: proposal && { ...proposal, isVisit } };
  });
  const ids = wishes.flatMap(({ proposal }) => proposal?.slots ?? []);
  const [slots, appointments, absent, { absent: otherAbsent }] = await Promise.all([
    readByIds(medplum, 'Slot', ids),
    readByIds(
      medplum,
      'Appointment',
      wishes.map(({ appointment }) => appointment),
    ),
    readAbsent(medplum, absence.blocks),
    readOpenAbsences(medplum),
  ]);
  const schedules = await readSchedules(medplum, [
    ...new Set(wishes.flatMap(({ proposal }) => proposal?.schedule ?? [])),
  ]);
  const issues = wishIssues(wishes, {
    appointments: new Map(
      ofType('Appointment', appointments).map((appointment) => [appointment.id ?? '', appointment]),
    ),
    slots: ofType('Slot', slots),
    schedules,
    absent: [...absent, ...otherAbsent],
    now: Date.now(),
    config,
  });
  if (issues.length > 0) {
    return refuse(...issues);
  }
  return absence.plan.map((entry) => {
    const wish = wishes.find(({ appointment }) => appointment === entry.appointment);
    return wish ? { ...entry, proposal: wish.proposal } : entry;
  });
}

/** Carries out a confirmed absence for a short time; the scheduled Bot does the rest, and what fails. */
async function startActs({ medplum, secrets }: Context, { id }: Task): Promise<void> {
  const end = Date.now() + MAX_DURATION;
  await carryOut(absenceActs(medplum, secrets, end, id), end).catch(() => undefined);
}

/** Confirms a plan with the changes of staff, after announcing it if need be. A dry run returns the changed plan. */
async function confirm(context: Context): Promise<Answer> {
  const { medplum, request } = context;
  const known = await findRow(context);
  if (known && known.status !== 'draft') {
    return responseFor(context, known);
  }
  const announced = known ? { row: known } : await announce(context);
  if ('resourceType' in announced) {
    return announced;
  }
  const { row } = announced;
  const entries = await withWishes(context, row);
  if ('resourceType' in entries) {
    return entries;
  }
  if (request.isDry) {
    return absenceResponse(row.id, absenceOf(row).blocks, entries);
  }
  const next = absenceRow(
    { ...absenceOf(row), plan: entries, silence: request.silence },
    'in-progress',
    Date.now(),
    config,
    row,
  );
  const written = await writeUnlessOvertaken(medplum, [updateEntry(row, next)], `Task/${row.id}`);
  if (written) {
    await startActs(context, row);
  }
  const current = written ? row : await findRow(context);
  return current ? responseFor(context, current) : refuse(contested);
}

/** Ends an absence early: blocked time is released, and proposals that were not accepted are withdrawn. */
async function endEarly(context: Context, end: number): Promise<Answer> {
  const { medplum } = context;
  const row = await findRow(context);
  if (!row) {
    return refuse(unknown);
  }
  const stored = absenceOf(row);
  const absence = { ...stored, period: endedAt(stored.period, end) };
  // The row names the blocks only once it has a plan: a request that crashed before may have blocked time already.
  const { system, value } = blockIdentifier(row.id ?? '');
  const blocks = searchUrl('Slot', [['identifier', `${system}|${value}`]]);
  const slots = ofType('Slot', await readAll(medplum, [blocks]));
  const written = await mapConcurrently(slots, BLOCK_CONCURRENCY, async (slot) => {
    if ((parseInstant(slot.end) ?? 0) <= end) {
      return undefined;
    }
    return writeAsCaller(
      context,
      (parseInstant(slot.start) ?? 0) >= end
        ? { request: { method: 'DELETE', url: `Slot/${slot.id}` } }
        : updateEntry(slot, { ...slot, end: formatInstant(end) }),
    );
  });
  const failed = written.find((result) => typeof result === 'object');
  if (failed) {
    return failed;
  }
  const isDraft = row.status === 'draft';
  const isPartLeft = slots.some((slot) => (parseInstant(slot.start) ?? 0) < end && end > Date.now());
  const status = isDraft ? (isPartLeft ? 'draft' : 'cancelled') : 'in-progress';
  const changed = absenceRow(absence, status, Date.now(), config, row);
  if (!(await writeUnlessOvertaken(medplum, [updateEntry(row, changed)], `Task/${row.id}`))) {
    return refuse(contested);
  }
  if (!isDraft) {
    await startActs(context, row);
  }
  return responseFor(context, row);
}

/** Ends, confirms, plans (dry run) or announces. The caller must see all Schedules that the request references. */
async function carryOutRequest(context: Context): Promise<Answer> {
  const { medplum, request, caller } = context;
  const ids = [...request.schedules, ...request.substitutes].map(({ id }) => id);
  const [stored, visible] = await Promise.all([
    readSchedules(medplum, ids),
    readStateAs(medplum, searchByIds('Schedule', ids), caller),
  ]);
  const issues = scheduleIssues(
    request,
    stored.filter(({ schedule }) => findResource(visible, 'Schedule', schedule.id ?? '')),
  );
  if (issues.length > 0) {
    return refuse(...issues);
  }
  if (request.end !== undefined) {
    return endEarly(context, request.end);
  }
  if (request.silence !== undefined && !(request.isDry && !(await findRow(context)))) {
    return confirm(context);
  }
  if (request.isDry) {
    return absenceResponse(undefined, [], await planRequested(context, []));
  }
  const announced = await announce(context);
  return 'resourceType' in announced
    ? announced
    : absenceResponse(announced.row.id, absenceOf(announced.row).blocks, announced.entries);
}

/**
 * Carries out `$absence`, for staff who may change all appointments: blocks the time of Schedules and plans new times
 * for their appointments; confirms the plan; ends the absence early. Repeating a request is safe.
 * @param event - input: the body of `$absence`; headers: those of the request, for the caller's credentials
 * @returns Parameters with the absence, its blocks and the plan; or an OperationOutcome whose id stands for the HTTP status
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Answer> {
  const caller = callerOf(event);
  try {
    if (!changesAll(await readRights(medplum, caller.authorization))) {
      return notStaff;
    }
    const { request, issues } = parseAbsenceRequest(event.input, Date.now(), config);
    if (!request || issues.length > 0) {
      return refuse(...issues);
    }
    return await carryOutRequest({ medplum, request, caller, secrets: event.secrets });
  } catch (error) {
    return refuse(unavailableFor(error));
  }
}
