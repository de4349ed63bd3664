import '../crypto.ts';
import { randomUUID } from 'node:crypto';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Communication, Resource, Task } from '@medplum/fhirtypes';
import { offerReason } from '../../../core/booking/appointment/expiry.ts';
import { patientOf } from '../../../core/booking/jobs/confirmation-task.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { mailboxOf } from '../../../core/fhir/mailbox.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { changedBy, ownerOf } from '../../../core/fhir/tags.ts';
import {
  addressOf,
  communicationOf,
  communicationSearch,
  type Ending,
  endedCommunication,
  fullDaySearches,
  lastToSearch,
  type Member,
  messageNumber,
  messageOf,
  movedMessage,
} from '../../../core/messages/message.ts';
import {
  afterAttempt,
  askedToCome,
  nextStep,
  type Step,
  saidAtOnce,
  unsent,
} from '../../../core/messages/next-step.ts';
import { isOfClinic, type Recipient, recipientsOf } from '../../../core/messages/recipient.ts';
import { byPatient } from '../../../core/messages/reply.ts';
import {
  areCancelled,
  type Known,
  type MessageKind,
  type Thread,
  threadOf,
  threadSearch,
  threadsSearch,
  threadTask,
  visitThreadSearch,
} from '../../../core/messages/thread.ts';
import { creation } from '../../../core/rows/row.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { notifiedGroupOf, seriesOf } from '../../../core/visits/visit.ts';
import { cancelEntries, policiesOf } from '../booking/cancel.ts';
import { readRelatedAppointment } from '../booking/related-reads.ts';
import { config } from '../config.ts';
import { ofType, readHistories, readInTransaction } from '../read.ts';
import { writeRows } from '../rows.ts';
import { groupSearch, readNotifiedTogether } from '../visits/dependent-appointments.ts';
import { type Addressee, chooseAddressees, readRefused } from './address.ts';
import { mediaOf, sendMessage } from './send.ts';
import { offersEnd, type Undelivered, undelivered, undeliveredOffers } from './undelivered.ts';

/** Another appointment of a series, with what was said about it. */
interface Occurrence {
  readonly appointment: Appointment;
  readonly row: Task | undefined;
  readonly thread: Thread | undefined;
}

/** The other appointments of a series, of the same patient and requestor, by start; none if it is no series. */
async function readOccurrences(medplum: MedplumClient, own: Appointment): Promise<Occurrence[]> {
  const series = seriesOf(own, config);
  const [found] = series === undefined ? [] : await readInTransaction(medplum, [groupSearch(series)]);
  const timeOf = ({ start }: Appointment): number => parseInstant(start) ?? 0;
  const others = ofType('Appointment', found)
    .filter(({ id }) => id !== own.id)
    .filter(
      (appointment) =>
        patientOf(appointment)?.reference === patientOf(own)?.reference &&
        ownerOf(appointment, config) === ownerOf(own, config),
    )
    .filter((appointment) => isOfClinic(appointment, config))
    .sort((appointment, other) => timeOf(appointment) - timeOf(other));
  const ids = others.flatMap(({ id }) => id ?? []);
  const [known] = ids.length > 0 ? await readInTransaction(medplum, [threadsSearch(ids, config)]) : [];
  const rows = new Map(ofType('Task', known).map((row) => [idIn(row.focus, 'Appointment'), row]));
  return others.map((appointment) => {
    const row = rows.get(appointment.id);
    return { appointment, row, thread: row && threadOf(row) };
  });
}

/** Other appointments of a series that one message covers. */
interface SharedMessage {
  readonly members: readonly Member[];
  /** The id of an earlier appointment whose message covers this one. */
  readonly earlier: string | undefined;
  /** The rows that are needed first, as threads. */
  readonly unknown: readonly Thread[];
  /** The updates of the rows of the other appointments. */
  readonly entry: readonly BundleEntry[];
}

const notShared: SharedMessage = { members: [], earlier: undefined, unknown: [], entry: [] };

/** The occurrence as a member of a message; empty without a row, or if nothing was sent about it. */
const memberOf = ({ appointment, row }: Occurrence, thread: Thread): Member[] =>
  row && thread.known ? [{ appointment, row, thread: { ...thread, known: thread.known } }] : [];

/**
 * The other appointments of the series that this message also covers. A new message covers those for which a message of
 * the same kind is due, a repeated one those that it named before. If an earlier appointment is among them, its own run
 * sends the message.
 * @param last - the Communication of a message that was claimed and may not have been sent
 * @param nextStepOf - the step that is due for another appointment
 */
async function readSharedMessage(
  medplum: MedplumClient,
  step: Step,
  own: Appointment | undefined,
  last: Communication | undefined,
  nextStepOf: (thread: Thread | undefined, appointment: Appointment) => Step,
): Promise<SharedMessage> {
  const claimed = new Set((last?.about ?? []).flatMap((reference) => idIn(reference, 'Appointment') ?? []));
  const isNew = step.do === 'send' && step.isNew && saidAtOnce.includes(step.kind);
  if (!own || step.do === 'nothing' || (!isNew && claimed.size < 2)) {
    return notShared;
  }
  const others = await readOccurrences(medplum, own);
  const coveredByClaimed = others.filter(({ appointment: { id = '' } }) => claimed.has(id));
  if (step.do === 'send' && !step.isNew) {
    const still = coveredByClaimed.filter(({ appointment }) => areCancelled([appointment]) === areCancelled([own]));
    return {
      ...notShared,
      members: still.flatMap((occurrence) => memberOf(occurrence, occurrence.thread ?? step.thread)),
    };
  }
  const now = Date.now();
  const same = others.flatMap((occurrence) => {
    const nextStep = occurrence.thread?.claimed ? undefined : nextStepOf(occurrence.thread, occurrence.appointment);
    return isNew && nextStep?.do === 'send' && nextStep.isNew && nextStep.kind === step.kind
      ? [{ one: occurrence, thread: nextStep.thread }]
      : [];
  });
  const members = same.flatMap(({ one, thread }) => memberOf(one, afterAttempt(thread, true, now).thread));
  const [first] = same.map(({ one }) => one.appointment);
  const isEarlier = (parseInstant(first?.start) ?? 0) < (parseInstant(own.start) ?? 0);
  const notified = new Set(members.map(({ row }) => row));
  // The next message covers the people of a message that is not sent.
  const notNotified = coveredByClaimed.flatMap(({ row, thread }) =>
    row && thread && !thread.claimed && !notified.has(row)
      ? [updateEntry(row, threadTask({ ...thread, known: undefined, due: now }, config, row))]
      : [],
  );
  return {
    members,
    earlier: isEarlier ? first?.id : undefined,
    unknown: same.flatMap(({ one, thread }) => (one.row ? [] : [thread])),
    entry: [...members.map(({ row, thread }) => updateEntry(row, threadTask(thread, config, row))), ...notNotified],
  };
}

/** The stored appointments of a visit, or a single one, with their messages. */
interface State {
  /** The group identifier of the visit; `undefined` for a single appointment. */
  readonly group: string | undefined;
  /** One appointment, or those of the visit in the order of time; empty after a deletion. */
  readonly appointments: readonly Appointment[];
  readonly row: Task | undefined;
  readonly thread: Thread | undefined;
  readonly last: Communication | undefined;
}

const what = (id: string): string => `The messages about Appointment/${id}`;

/** The appointment, or all of its visit by start, with its row. Of a deleted appointment, only the row is left. */
async function readSubject(medplum: MedplumClient, id: string) {
  const [found, rows] = await readInTransaction(medplum, [`Appointment?_id=${id}`, threadSearch(id, config)]);
  const [appointments, [row]] = [ofType('Appointment', found), ofType('Task', rows)];
  const group = appointments[0] ? notifiedGroupOf(appointments[0], config) : row && threadOf(row).group;
  if (group === undefined) {
    return { group, appointments, row };
  }
  const [visit, visitRows] = await readInTransaction(medplum, [groupSearch(group), visitThreadSearch(group, config)]);
  const timeOf = ({ start }: Appointment): number => parseInstant(start) ?? 0;
  const steps = ofType('Appointment', visit).sort((appointment, other) => timeOf(appointment) - timeOf(other));
  return { group, appointments: steps, row: ofType('Task', visitRows)[0] };
}

async function readState(medplum: MedplumClient, id: string): Promise<State> {
  const { group, appointments, row } = await readSubject(medplum, id);
  const thread = row && threadOf(row);
  const [sent] = thread?.claimed ? await readInTransaction(medplum, [communicationSearch(thread, config)]) : [];
  return { group, appointments, row, thread, last: ofType('Communication', sent)[0] };
}

/** The patients, related persons and locations of appointments, at most 20 of each. */
async function readRecipientsAndLocations(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
): Promise<Resource[]> {
  const participants = appointments.flatMap(({ participant }) => participant);
  const searches = (['Patient', 'RelatedPerson', 'Location'] as const).flatMap((type) => {
    const ids = [...new Set(participants.flatMap(({ actor }) => idIn(actor, type) ?? []))];
    return ids.length > 0 ? [`${type}?_id=${ids.slice(0, 20).join(',')}`] : [];
  });
  return (await readInTransaction(medplum, searches)).flat();
}

const givenUp = (
  { thread: { appointment, patient }, kind }: Extract<Step, { kind: unknown }>,
  reason: string,
  appointments: readonly Appointment[],
  isSeries: boolean,
): Undelivered => ({ appointment, patient, kind, reason, isSeries, until: offersEnd(appointments) });

const ended = (communication: Communication | undefined, ending: Ending, reason?: string): BundleEntry[] =>
  communication ? [updateEntry(communication, endedCommunication(communication, ending, Date.now(), reason))] : [];

const unknown = 'Nobody has answered whether it was sent.';

const unconfirmed =
  'It was not sent: only a portal has given the address, and it has not booked this. To confirm the address, give it a rank.';

/** The entry that creates the row of an appointment without messages, unless it has one. */
function newRowEntry(thread: Thread, now: number): BundleEntry {
  const empty: Thread = { ...thread, count: 0, sent: undefined, known: undefined, claimed: undefined, due: now };
  const { group, appointment } = thread;
  const search = group === undefined ? threadSearch(appointment, config) : visitThreadSearch(group, config);
  return creation(threadTask(empty, config), search);
}

/** The entries that store a step; a claimed message that is no longer true is stopped. */
function entriesOf(step: Exclude<Step, { do: 'nothing' }>, { row, thread, last, appointments }: State): BundleEntry[] {
  const kept = row ? [updateEntry(row, threadTask(step.thread, config, row))] : [];
  if (step.do === 'give-up') {
    return [
      ...kept,
      ...ended(last, 'unknown', unknown),
      undelivered(givenUp(step, unknown, appointments, (last?.about?.length ?? 0) > 1)),
    ];
  }
  const isAgain = step.do === 'send' ? !step.isNew : step.thread.claimed !== undefined;
  const isSuperseded = thread?.claimed && !isAgain;
  return [...kept, ...(isSuperseded ? ended(last, 'stopped') : [])];
}

/** Kinds without a task for staff: they have another task to call about an offer, and do not call to remind. */
const withoutCall: readonly MessageKind[] = ['reminder', 'offer', 'assistant'];

/** The entries that ask staff to call instead of sending a message to an address that is not trusted. */
function callEntries(
  step: Extract<Step, { do: 'send' }>,
  state: State,
  { entry, members }: SharedMessage,
): BundleEntry[] {
  const kept = entriesOf({ do: 'keep', thread: unsent(step.thread, Date.now()) }, state);
  const call = givenUp(step, unconfirmed, state.appointments, members.length > 0);
  return [...kept, ...entry, ...(withoutCall.includes(step.kind) ? [] : [undelivered(call)])];
}

/**
 * Claims a message, sends it, and stores the result. Does nothing if another run has claimed it. Without a response to
 * the attempt, nothing is stored: a later run sends it again.
 */
async function claimAndSend(
  medplum: MedplumClient,
  secrets: BotEvent['secrets'],
  step: Extract<Step, { do: 'send' }>,
  state: State,
  {
    recipient,
    former,
    others,
    shared,
  }: { recipient: Recipient; former: string | undefined; others: readonly Resource[]; shared: SharedMessage },
): Promise<void> {
  const { kind, thread } = step;
  const { appointments } = state;
  const { members } = shared;
  const known: Known | undefined = thread.known;
  const subject = {
    kind,
    appointments,
    members,
    recipient,
    former,
    now: Date.now(),
    locations: ofType('Location', others),
  };
  if (!known || !state.row?.id) {
    return;
  }
  const claimedThread = { ...thread, known };
  // The text is made before the claim: if that throws, nothing is claimed, and the next run throws again.
  const message = messageOf({ ...subject, thread: claimedThread, row: state.row.id }, config);
  const made: BundleEntry[] = step.isNew
    ? [
        {
          request: { method: 'POST', url: 'Communication' },
          resource: communicationOf({ ...subject, thread: claimedThread }, config),
        },
      ]
    : [];
  const claimed = await writeRows(
    medplum,
    [...entriesOf(step, state), ...shared.entry, ...made],
    what(thread.appointment),
  );
  if (!claimed?.id || claimed.status !== 'in-progress') {
    return;
  }
  if (former !== undefined) {
    const moved = movedMessage(former, { recipient, thread: claimedThread }, config);
    await sendMessage(medplum, secrets, moved, `${messageNumber(thread)}/moved`);
  }
  const attempt = await sendMessage(medplum, secrets, message, messageNumber(thread));
  if (attempt.kind === 'unanswered') {
    return;
  }
  const isTaken = attempt.kind === 'taken';
  const after = afterAttempt(thread, isTaken, Date.now());
  const [sent] = await readInTransaction(medplum, [communicationSearch(thread, config)]);
  const [communication] = ofType('Communication', sent);
  const reason = isTaken ? undefined : attempt.reason;
  const entry = [
    updateEntry(claimed, threadTask(after.thread, config, claimed)),
    ...(after.message === 'waiting' ? [] : ended(communication, after.message, reason)),
    ...(after.message === 'given-up'
      ? await undeliveredOffers(medplum, givenUp(step, reason ?? '', appointments, members.length > 0))
      : []),
  ];
  await writeRows(medplum, entry, what(thread.appointment));
}

/** Whether the portal of an appointment made its last change. */
async function isByPortal(medplum: MedplumClient, appointment: Appointment): Promise<boolean> {
  const [history] = await readHistories(medplum, [`Appointment/${appointment.id}/_history?_count=2`]);
  const [version, previous] = (history?.entry ?? []).map(({ resource }) => resource?.meta);
  return changedBy(version, previous?.versionId, config) === ownerOf(appointment, config);
}

/**
 * The address of the last other message to a person, if their portal has changed the address since and its owner does
 * not refuse messages; else `undefined`.
 * @param own - the number of this message, if it was begun before
 */
async function readFormer(
  medplum: MedplumClient,
  { recipient, isEntered }: Addressee,
  own: string | undefined,
): Promise<string | undefined> {
  if (isEntered) {
    return undefined;
  }
  const [sent] = await readInTransaction(medplum, [lastToSearch(recipient.reference, config)]);
  const others = ofType('Communication', sent).filter(
    ({ identifier = [] }) => !identifier.some(({ value }) => value === own),
  );
  const [last] = others.flatMap((communication) => addressOf(communication) ?? []);
  const isSame = last === undefined || mailboxOf(last) === mailboxOf(recipient.address);
  return isSame || (await readRefused(medplum, [last])).has(last) ? undefined : last;
}

/** When a portal's appointments may cause another message, a day after those found; milliseconds since 1970 UTC. */
async function readTurn(medplum: MedplumClient, searches: readonly string[], now: number): Promise<number> {
  const found = (await readInTransaction(medplum, searches)).flat();
  return Math.max(now, ...found.map(({ meta }) => (parseInstant(meta?.lastUpdated) ?? now) + DAY));
}

const nextOf = (appointments: readonly Appointment[]): Appointment | undefined =>
  appointments.find(({ status, start }) => status === 'booked' && (parseInstant(start) ?? 0) > Date.now());

/** Adds to a reminder the deadline by which its person must confirm attendance, if a policy requires that. */
async function withDeadline(
  medplum: MedplumClient,
  step: Extract<Step, { do: 'send' }>,
  appointments: readonly Appointment[],
): Promise<Extract<Step, { do: 'send' }>> {
  if (step.kind !== 'reminder' || !step.isNew || config.messages.page === undefined) {
    return step;
  }
  const { id = '' } = nextOf(appointments) ?? {};
  const policies = await policiesOf(medplum, await readRelatedAppointment(medplum, id));
  const wanted = policies.flatMap(({ policy }) => policy.attendanceBy ?? []);
  const attendanceBy = wanted.length > 0 ? Math.max(...wanted) : undefined;
  return { ...step, thread: askedToCome(step.thread, attendanceBy, Date.now()) };
}

/**
 * Cancels an appointment whose attendance was not confirmed in time, if the policy still requires that. The next run
 * sends the message.
 */
async function cancelUnconfirmed(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  kept: readonly BundleEntry[],
): Promise<void> {
  const { id = '' } = nextOf(appointments) ?? {};
  const found = await readRelatedAppointment(medplum, id);
  const { appointment } = found;
  if (appointment?.status === 'booked') {
    const isWanted = (await policiesOf(medplum, found)).some(({ policy }) => policy.attendanceBy !== undefined);
    const cancelationReason = { ...byPatient, text: 'Nobody has said in time that they come.' };
    const dependents = isWanted ? await readNotifiedTogether(medplum, appointment) : [];
    const entry = isWanted ? await cancelEntries(medplum, found, appointment, cancelationReason, dependents) : [];
    await writeRows(medplum, [...entry, ...kept], what(id));
  }
}

/**
 * Carries out the next step for the messages of an appointment or its visit: sends one message at most. It can be
 * interrupted at any point: a message is claimed first. If it is unknown whether it was sent, it is sent once more under
 * the same number (e-mail: Message-ID).
 */
export async function followAppointment(
  medplum: MedplumClient,
  secrets: BotEvent['secrets'],
  id: string,
): Promise<void> {
  const state = await readState(medplum, id);
  const { appointments, group, thread } = state;
  const isAsked = thread !== undefined || appointments.some((appointment) => isOfClinic(appointment, config));
  if (!isAsked) {
    return;
  }
  const [now, media] = [Date.now(), mediaOf(secrets)];
  // A deleted appointment has no participants: its patient is notified.
  const notified: Appointment = appointments.find((appointment) => !areCancelled([appointment])) ??
    appointments[0] ?? {
      resourceType: 'Appointment',
      status: 'cancelled',
      participant: [{ actor: { reference: thread?.patient ?? '' }, status: 'accepted' }],
    };
  const others = await readRecipientsAndLocations(medplum, [notified, ...appointments]);
  const candidates = isOfClinic(notified, config) ? recipientsOf(notified, others, media, now, config) : [];
  let recipient = candidates[0];
  let earliest = now;
  const owner = ownerOf(notified, config);
  const isRefused = thread?.known?.status === 'pending' && notified.status === 'cancelled' && owner !== undefined;
  const isTakenBack = isRefused && (await isByPortal(medplum, notified));
  const stepFor = (known: Thread | undefined, about = appointments): Step =>
    nextStep(known, about, {
      group,
      isWanted: recipient !== undefined,
      isPhone: recipient?.medium === 'sms',
      isTakenBack,
      earliest,
      now,
      timeZone: config.timeZone,
      config,
      newKey: () => randomUUID().replaceAll('-', ''),
    });
  const wanted = stepFor(thread);
  if (wanted.do === 'nothing') {
    return;
  }
  const [addressee] = await chooseAddressees(medplum, [{ appointment: notified, candidates }]);
  recipient = addressee?.recipient;
  const isSent = wanted.do === 'send' && addressee !== undefined;
  const former = isSent
    ? await readFormer(medplum, addressee, wanted.isNew || !thread ? undefined : messageNumber(thread))
    : undefined;
  // In an absence, no reply counts as a reply: its offers are sent without this limit.
  const isLimited = owner !== undefined && offerReason(notified, config) !== 'absence';
  if (isSent && wanted.isNew && isLimited) {
    const addresses = [addressee.recipient.address, ...(former === undefined ? [] : [former])];
    const searches = fullDaySearches(addresses, { ...addressee.recipient, owner }, now - DAY, config);
    earliest = await readTurn(medplum, searches, now);
  }
  const first = stepFor(thread);
  if (first.do === 'nothing') {
    return;
  }
  const [single] = group === undefined ? appointments : [];
  const shared = await readSharedMessage(medplum, first, single, state.last, (known, appointment) =>
    stepFor(known, [appointment]),
  );
  if (shared.earlier !== undefined) {
    return followAppointment(medplum, secrets, shared.earlier);
  }
  // A row is claimed by its version: there must be one first.
  const missing = [...(state.row ? [] : [first.thread]), ...shared.unknown].map((one) => newRowEntry(one, now));
  const row = missing.length > 0 ? await writeRows(medplum, missing, what(id)) : state.row;
  if (shared.unknown.length > 0) {
    return row && followAppointment(medplum, secrets, id);
  }
  const own: State = { ...state, row, thread: row && threadOf(row) };
  const step = state.row ? first : stepFor(own.thread);
  if (step.do === 'send' && addressee && !addressee.isTrusted) {
    await writeRows(medplum, callEntries(step, own, shared), what(id));
  } else if (step.do === 'send' && recipient) {
    const locations = await readRecipientsAndLocations(
      medplum,
      shared.members.map(({ appointment }) => appointment),
    );
    await claimAndSend(medplum, secrets, await withDeadline(medplum, step, appointments), own, {
      recipient,
      former,
      others: [...others, ...locations],
      shared,
    });
  } else if (step.do === 'release') {
    await cancelUnconfirmed(medplum, appointments, [...entriesOf(step, own), ...shared.entry]);
  } else if (step.do !== 'nothing') {
    await writeRows(medplum, [...entriesOf(step, own), ...shared.entry], what(id));
  }
}
