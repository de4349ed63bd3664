import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Communication, OperationOutcome, Parameters, Task } from '@medplum/fhirtypes';
import { withConsent } from '../../core/booking/appointment/consent.ts';
import { absentOutcome } from '../../core/booking/appointment/deleted.ts';
import { isForAssistant, isHold, isOpenOffer } from '../../core/booking/appointment/expiry.ts';
import type { Role } from '../../core/booking/policy/caller-rights.ts';
import { bodyFor, parseBookRequest } from '../../core/booking/request/request.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { isResource, updateEntry } from '../../core/fhir/resource.ts';
import { belongsTo, markChange, ownerOf } from '../../core/fhir/tags.ts';
import { addressOf, communicationSearch } from '../../core/messages/message.ts';
import {
  byPatient,
  isAboutMessages,
  isGood,
  isOver,
  type MessageReply,
  parseReply,
  possibleReplies,
  type ReplyRequest,
  replyParameters,
} from '../../core/messages/reply.ts';
import { knowledgeOf, type Thread, threadOf, threadTask } from '../../core/messages/thread.ts';
import { isRow } from '../../core/rows/row.ts';
import { slotIdsOf } from '../../core/slots/slot.ts';
import { bookAppointment } from '../lib/booking/book.ts';
import { cancelEntries, cancellationIssues } from '../lib/booking/cancel.ts';
import { type RelatedAppointment, readRelatedAppointment } from '../lib/booking/related-reads.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { newId, retryOvertaken, sendTransaction } from '../lib/medplum.ts';
import { readRefused, refusalEntry } from '../lib/messages/address.ts';
import { ofType, readInTransaction } from '../lib/read.ts';
import {
  type DependentAppointment,
  groupSearch,
  readDependentAppointments,
  readNotifiedTogether,
} from '../lib/visits/dependent-appointments.ts';

interface Asked {
  readonly row: Task;
  readonly thread: Thread;
  /** The appointment. For a visit: the first open step in the future, if any. */
  readonly found: RelatedAppointment;
  /** The other open steps of the visit in the future. */
  readonly dependents: readonly DependentAppointment[];
  /** All appointments, as stored. */
  readonly appointments: readonly Appointment[];
  readonly last: Communication | undefined;
  /** Whether the owner of its address wants no messages. */
  readonly isRefused: boolean;
}

/** The appointments that a reply concerns: one, or the rest of a visit. */
const openOf = ({ found, dependents }: Asked): Appointment[] =>
  [found.appointment, ...dependents.map(({ appointment }) => appointment)].filter(
    (appointment) => appointment !== undefined,
  );

/** The entries that store that the patient comes; none for what is stored already. */
function comingEntries(appointments: readonly Appointment[], { thread, row }: Asked): BundleEntry[] {
  return [
    ...appointments.flatMap((stored) => {
      const participant = stored.participant.map((one) =>
        one.actor?.reference === thread.patient ? { ...one, status: 'accepted' as const } : one,
      );
      const isNoted = JSON.stringify(participant) === JSON.stringify(stored.participant);
      return isNoted ? [] : [updateEntry(stored, { ...stored, participant })];
    }),
    ...(thread.isComing
      ? []
      : [updateEntry(row, threadTask({ ...thread, isComing: true, answerBy: undefined }, config, row))]),
  ];
}

const addressesOf = ({ last }: Pick<Asked, 'last'>): string[] => (last ? [addressOf(last) ?? ''] : []);

/** The entries of a reply: refused or wanted messages, a cancellation, or attendance; none to look for another time. */
async function entriesOf(medplum: MedplumClient, answer: MessageReply, asked: Asked): Promise<BundleEntry[]> {
  const { appointment } = asked.found;
  if (isAboutMessages(answer)) {
    return Promise.all(addressesOf(asked).map((one) => refusalEntry(medplum, one, answer === 'stop')));
  }
  if (!appointment || answer === 'move') {
    return [];
  }
  return answer === 'cancel'
    ? cancelEntries(medplum, asked.found, appointment, byPatient, asked.dependents)
    : comingEntries(openOf(asked), asked);
}

/** A reply proves that the message was received. */
const receivedEntries = ({ last }: Asked): BundleEntry[] =>
  last && last.received === undefined ? [updateEntry(last, { ...last, received: formatInstant(Date.now()) })] : [];

/** Marks the changes as made by others, so that the portal is notified. */
const byPerson = (entry: readonly BundleEntry[]): BundleEntry[] =>
  entry.map((one) =>
    isResource(one.resource, 'Appointment')
      ? { ...one, resource: { ...one.resource, meta: markChange(one.resource.meta, '', undefined, config) } }
      : one,
  );

/** Books or moves on behalf of the appointment's portal, by its rules (`role`). The link is the only credential. */
async function bookFor(
  medplum: MedplumClient,
  asked: Asked,
  stored: Appointment,
  body: unknown,
  role: Role,
): Promise<Parameters | OperationOutcome> {
  const owner = ownerOf(stored, config) ?? '';
  const extended = (entry: BundleEntry[]): BundleEntry[] => [
    ...(isForAssistant(stored, config)
      ? withConsent(entry, { assistant: owner, agreed: Date.now() }, newId, config)
      : byPerson(entry)),
    ...receivedEntries(asked),
  ];
  const result = await bookAppointment(
    medplum,
    parseBookRequest(body, config),
    { id: owner, role, limits: [] },
    { extend: (transaction) => ({ ...transaction, entry: extended(transaction.entry ?? []) }) },
  );
  if (result.kind !== 'booked' && result.kind !== 'existing') {
    return toOperationOutcome(result.kind === 'refused' ? result.issues : [], config);
  }
  const { appointments } = result;
  const known = knowledgeOf(appointments, config);
  const isAlone = asked.thread.group === undefined;
  const { isRefused } = asked;
  const state = { isAlone, isClosed: false, isRefused };
  const possible = possibleReplies({ ...asked.thread, known }, appointments, state, Date.now(), config);
  return replyParameters(asked.thread, appointments, possible, config);
}

function acceptOffer(medplum: MedplumClient, asked: Asked, offer: Appointment) {
  const accepted = openOf(asked).map(({ meta: _, extension: __, ...one }) => one);
  // Offers of staff need no confirmation.
  const role = ownerOf(offer, config) === undefined ? 'staff' : 'requestor';
  return bookFor(medplum, asked, offer, bodyFor(accepted), role);
}

function moveTo(medplum: MedplumClient, asked: Asked, stored: Appointment, to: ReplyRequest['to']) {
  const { id, identifier, participant } = stored;
  const patients = participant.filter(({ actor }) => actor?.reference?.startsWith('Patient/'));
  const kept = { id, ...(identifier && { identifier }), participant: patients };
  return bookFor(
    medplum,
    asked,
    stored,
    { resourceType: 'Appointment', status: 'proposed', ...kept, ...to },
    'requestor',
  );
}

/** Reads what a link is about. Once the link is over, no appointment is returned except in `found`. */
async function readAsked(medplum: MedplumClient, row: Task): Promise<Asked> {
  const thread = threadOf(row);
  const { group } = thread;
  const [visit, sent] = await readInTransaction(medplum, [
    group === undefined ? `Appointment?_id=${thread.appointment}` : groupSearch(group),
    communicationSearch(thread, config),
  ]);
  const stored = ofType('Appointment', visit);
  const steps = knowledgeOf(stored, config)?.steps ?? [];
  const isOpen = (id: string): boolean => stored.some((one) => one.id === id && isOpenOffer(one, Date.now(), config));
  const coming = steps.filter(({ start }) => start > Date.now());
  // If one step of a visit is offered again, the reply is about that step.
  const next = coming.find(({ appointment }) => isOpen(appointment)) ?? coming[0];
  const found = await readRelatedAppointment(medplum, next?.appointment ?? thread.appointment);
  const { appointment } = found;
  const isOffer = appointment !== undefined && isOpenOffer(appointment, Date.now(), config);
  const notified =
    appointment && group !== undefined && !isOffer ? await readNotifiedTogether(medplum, appointment) : [];
  const dependents = isOffer ? await readDependentAppointments(medplum, appointment) : notified;
  const read = [found, ...(group === undefined ? [] : dependents)]
    .map(({ appointment }) => appointment)
    .filter((one) => one !== undefined);
  const appointments = [...new Map([...stored, ...read].map((one) => [one.id, one])).values()];
  const [last] = ofType('Communication', sent);
  const isRefused = (await readRefused(medplum, addressesOf({ last }))).size > 0;
  return isOver(thread, Date.now())
    ? { row, thread: { ...thread, known: undefined }, found, dependents: [], appointments: [], last, isRefused }
    : { row, thread, found, dependents, appointments, last, isRefused };
}

/** Decides once about a reply and writes it. An impossible reply is refused; a repeated one has no effect. */
async function answerOnce(
  medplum: MedplumClient,
  { input, ...event }: BotEvent<unknown>,
): Promise<Parameters | OperationOutcome | 'overtaken'> {
  const request = parseReply(input);
  const [rows] = request ? await readInTransaction(medplum, [`Task?_id=${request.row}`]) : [];
  const [row] = ofType('Task', rows).filter((task) => isRow(task, ['message'], config));
  if (!request || !row || !isGood(request, threadOf(row), Date.now())) {
    return absentOutcome('unknown');
  }
  const asked = await readAsked(medplum, row);
  const { appointments, isRefused } = asked;
  const { appointment } = asked.found;
  const limited = [asked.found, ...asked.dependents].flatMap((relatedAppointment) =>
    relatedAppointment.appointment && !isHold(relatedAppointment.appointment, config)
      ? [cancellationIssues(medplum, relatedAppointment.appointment, relatedAppointment)]
      : [],
  );
  const closed = (await Promise.all(limited)).flat();
  const isAlone = asked.thread.group === undefined;
  const possible = possibleReplies(
    asked.thread,
    appointments,
    { isAlone, isClosed: closed.length > 0, isRefused },
    Date.now(),
    config,
  );
  const { answer, to } = request;
  const isThere = (stored: Appointment): boolean =>
    parseInstant(stored.start) === parseInstant(to?.start) &&
    parseInstant(stored.end) === parseInstant(to?.end) &&
    slotIdsOf(stored).includes(slotIdsOf(to)[0] ?? '');
  if (to && appointment?.status !== 'cancelled' && appointment && isThere(appointment)) {
    return replyParameters(asked.thread, appointments, possible, config);
  }
  if (answer === undefined) {
    return replyParameters(asked.thread, appointments, possible, config);
  }
  if (!possible.includes(answer) && !isAboutMessages(answer)) {
    const diagnostics = `The appointment is no longer as the message says, or it is too late for the answer ${answer}.`;
    const issue = { code: 'transition-not-allowed', diagnostics, expression: 'Parameters.parameter' } as const;
    return toOperationOutcome(answer === 'cancel' && closed.length > 0 ? closed : [issue], config);
  }
  if (answer === 'come' && appointment && isOpenOffer(appointment, Date.now(), config)) {
    return acceptOffer(medplum, asked, appointment);
  }
  if (to && appointment) {
    return moveTo(medplum, asked, appointment, to);
  }
  const entry = [...(await entriesOf(medplum, answer, asked)), ...receivedEntries(asked)];
  const written = entry.length > 0 ? await sendTransaction(medplum, entry) : undefined;
  if (written?.kind === 'overtaken') {
    return 'overtaken';
  }
  if (written && written.kind !== 'done') {
    const diagnostics = 'The FHIR server did not answer, or refused the answer: try again in a moment.';
    return toOperationOutcome([{ code: 'upstream-unavailable', diagnostics }], config);
  }
  const ended = new Set(answer === 'cancel' ? openOf(asked).map(({ id }) => id) : []);
  const isRefusedThen = isAboutMessages(answer) ? answer === 'stop' : isRefused;
  const after = appointments.map((one) => (ended.has(one.id) ? { ...one, status: 'cancelled' as const } : one));
  return replyParameters(
    asked.thread,
    after,
    possibleReplies(asked.thread, after, { isAlone, isClosed: false, isRefused: isRefusedThen }, Date.now(), config),
    config,
    answer === 'move' && appointment
      ? { appointment, isOwn: belongsTo(appointment, callerOf({ ...event, input }).id, config) }
      : undefined,
  );
}

/**
 * Carries out `$answer`: the reply of a person to a message. The link in the message is the only credential.
 * @param event - input: Parameters with `token`, from the link, and `answer` (come, cancel, stop, start, move, this with
 *   `slot`, `start` and `end` once a time is chosen), or none to look first
 * @returns Parameters with the appointment's time and state, and the possible replies; or an OperationOutcome: not found
 *   for a link that is unknown or that a later message has replaced, otherwise the refusal
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Parameters | OperationOutcome> {
  const answer = await retryOvertaken(
    () => answerOnce(medplum, event),
    (result) => result === 'overtaken',
  );
  const diagnostics = 'Others changed the appointment at the same moment. Nothing was changed; try again.';
  return answer === 'overtaken' ? toOperationOutcome([{ code: 'booking-conflict', diagnostics }], config) : answer;
}
