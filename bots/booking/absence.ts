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

/** How long what was confirmed is begun while the caller waits, in milliseconds; the clock goes on. */
const MAX_DURATION = 2_500;

/** Number of calendars that are blocked at the same time. */
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

/** Finds or creates the row of an absence; of two concurrent requests, one creates it. */
async function makeRow(context: Context): Promise<Task> {
  const { medplum, request } = context;
  const made = await retryOvertaken(
    async () => {
      const lock = await readLock(medplum);
      const known = await findRow(context);
      if (known) {
        return known;
      }
      const row = absenceRow(newAbsence(request), 'draft', Date.now(), config);
      const entry = [creation(row), updateEntry(lock, lockRow(config, lock))];
      const written = await writeUnlessOvertaken(medplum, entry, 'The absence');
      const [first] = written?.entry ?? [];
      return isResource(first?.resource, 'Task') ? first.resource : undefined;
    },
    (row) => row === undefined,
  );
  if (!made) {
    throw new ReadError('Others changed absences at the same moment.');
  }
  return made;
}

/** The result of a write with the rights of the caller. Without these rights, the caller is not staff. */
async function writeAsCaller(
  { medplum, caller }: Context,
  entry: BundleEntry,
): Promise<string | OperationOutcome | undefined> {
  const answer = await sendBundle(
    medplum,
    { resourceType: 'Bundle', type: 'batch', entry: [entry] },
    { authorization: caller.authorization },
  );
  if (answer.kind === 'failed') {
    return refuse(answer.issue);
  }
  const [first] = answer.kind === 'done' ? (answer.bundle.entry ?? []) : [];
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

/** Blocks the time of each Schedule once, with the rights of the caller: as if staff had written the Slots. */
async function block(context: Context, row: Task): Promise<readonly string[] | OperationOutcome> {
  const { request } = context;
  const { system, value } = blockIdentifier(row.id ?? '');
  const made = await mapConcurrently(request.schedules, BLOCK_CONCURRENCY, async ({ id }) => {
    const resource = blockSlot(id, request.period, request.reason, row.id ?? '');
    const query = new URLSearchParams({ identifier: `${system}|${value}`, schedule: `Schedule/${id}` });
    return writeAsCaller(context, {
      request: { method: 'POST', url: 'Slot', ifNoneExist: query.toString() },
      resource,
    });
  });
  return made.find((one) => typeof one === 'object') ?? made.filter((one) => typeof one === 'string');
}

/** Plans the absence of a request, in addition to known absences. */
async function planned({ medplum, request, secrets }: Context, blocks: readonly string[]): Promise<Entry[]> {
  const now = Date.now();
  const own =
    blocks.length > 0
      ? await readAbsent(medplum, blocks)
      : request.schedules.map(({ id }) => ({ schedule: id, ...request.period }));
  const { absences, absent: others, rows } = await readOpenAbsences(medplum);
  const read = await readAffected(medplum, own, now);
  // In a dry run nothing is written.
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
  return plan(medplum, { ...read, appointments, absent: [...own, ...others], substitutes, reserved }, secrets);
}

async function linesOf(medplum: MedplumClient, row: Task): Promise<Line[]> {
  const rows = ofType('Task', await readAll(medplum, [affectedOfAbsence(row.id ?? '', config)]));
  const known = rows.flatMap((task): Line[] => {
    const affected = affectedOf(task);
    return affected ? [{ ...affected, outcome: statusOfRow(task) }] : [];
  });
  return [...absenceOf(row).plan.map((entry): Line => ({ ...entry, outcome: 'waiting' })), ...known];
}

async function answerFor({ medplum }: Context, row: Task): Promise<Parameters> {
  const [current] = ofType('Task', await readByIds(medplum, 'Task', [row.id ?? '']));
  return absenceResponse(row.id, absenceOf(current ?? row).blocks, await linesOf(medplum, current ?? row));
}

/** Blocks the time and makes a plan, which waits for confirmation. */
async function announce(
  context: Context,
): Promise<{ readonly row: Task; readonly entries: readonly Entry[] } | Answer> {
  const { medplum, request } = context;
  const row = await makeRow(context);
  if (row.status !== 'draft') {
    return answerFor(context, row);
  }
  const blocks = await block(context, row);
  if ('resourceType' in blocks) {
    return blocks;
  }
  const entries = await planned(context, blocks);
  const absence = { ...newAbsence(request), blocks, plan: entries };
  const stored = absenceRow(absence, 'draft', Date.now(), config, row);
  const written = await writeUnlessOvertaken(medplum, [updateEntry(row, stored)], `Task/${row.id}`);
  const [first] = written?.entry ?? [];
  return isResource(first?.resource, 'Task') ? { row: first.resource, entries } : refuse(contested);
}

/** The plan with what staff have changed in it, or what is wrong with that. */
async function withWishes({ medplum, request }: Context, row: Task): Promise<Entry[] | OperationOutcome> {
  const absence = absenceOf(row);
  const wishes = request.wishes.map(({ proposal, ...wish }): Wish => {
    const before = absence.plan.find(({ appointment }) => appointment === wish.appointment)?.proposal;
    // A visit that is sent back as planned is confirmed as a whole.
    const isVisit = before?.isVisit && before.slots.join() === proposal?.slots.join();
    return { ...wish, proposal: proposal && { ...proposal, isVisit } };
  });
  const ids = wishes.flatMap(({ proposal }) => proposal?.slots ?? []);
  const [slots, appointments, absent, { absent: others }] = await Promise.all([
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
    absent: [...absent, ...others],
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

/** Begins to look after what was confirmed; the clock goes on with what is left. */
async function begin({ medplum, secrets }: Context, { id }: Task): Promise<void> {
  const end = Date.now() + MAX_DURATION;
  // Whatever fails here is done by the clock.
  await carryOut(absenceActs(medplum, secrets, end, id), end).catch(() => undefined);
}

async function confirm(context: Context): Promise<Answer> {
  const { medplum, request } = context;
  const known = await findRow(context);
  if (known && known.status !== 'draft') {
    return answerFor(context, known);
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
    await begin(context, row);
  }
  const current = written ? row : await findRow(context);
  return current ? answerFor(context, current) : refuse(contested);
}

/** Ends an absence early: blocked time is released, and proposals that were not accepted are withdrawn. */
async function endEarly(context: Context, end: number): Promise<Answer> {
  const { medplum } = context;
  const row = await findRow(context);
  if (!row) {
    return refuse(unknown);
  }
  const said = absenceOf(row);
  const absence = { ...said, period: endedAt(said.period, end) };
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
  const failed = written.find((one) => typeof one === 'object');
  if (failed) {
    return failed;
  }
  const isDraft = row.status === 'draft';
  const isLeft = slots.some((slot) => (parseInstant(slot.start) ?? 0) < end && end > Date.now());
  const status = isDraft ? (isLeft ? 'draft' : 'cancelled') : 'in-progress';
  const changed = absenceRow(absence, status, Date.now(), config, row);
  if (!(await writeUnlessOvertaken(medplum, [updateEntry(row, changed)], `Task/${row.id}`))) {
    return refuse(contested);
  }
  if (!isDraft) {
    await begin(context, row);
  }
  return answerFor(context, row);
}

async function carryOutRequest(context: Context): Promise<Answer> {
  const { medplum, request, caller } = context;
  const named = [...request.schedules, ...request.substitutes].map(({ id }) => id);
  const [known, seen] = await Promise.all([
    readSchedules(medplum, named),
    readStateAs(medplum, searchByIds('Schedule', named), caller),
  ]);
  const issues = scheduleIssues(
    request,
    known.filter(({ schedule }) => findResource(seen, 'Schedule', schedule.id ?? '')),
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
    return absenceResponse(undefined, [], await planned(context, []));
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
