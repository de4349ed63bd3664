import type { Appointment, BundleEntry, Reference, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference.ts';
import { isResource, updateEntry } from '../../fhir/resource.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { creation, isRow, moment, newRow, rowSearch, valueIn, valuesBut } from '../../rows/row.ts';
import { endOf, hasRunOut, isWaiting } from '../appointment/expiry.ts';

/** The statuses of an open Task. Staff may use all of them. */
export const openStatuses: readonly Task['status'][] = [
  'draft',
  'requested',
  'received',
  'accepted',
  'ready',
  'in-progress',
  'on-hold',
];

/** Whether staff still have to deal with a Task. */
export const isOpenTask = ({ status }: Task): boolean => openStatuses.includes(status);

/** The search for the open Tasks of requests, with further parameters. */
export const openTasks = (more: Readonly<Record<string, string>>, config: PublicConfig): string =>
  rowSearch(['confirm'], { status: openStatuses.join(','), ...more }, config);

export const openTasksOf = (appointments: readonly string[], config: PublicConfig): string =>
  rowSearch(
    ['confirm', 'undelivered'],
    { status: openStatuses.join(','), focus: appointments.map((id) => `Appointment/${id}`).join(',') },
    config,
  );

interface RequestContext {
  readonly now: number;
  readonly config: PublicConfig;
  readonly requestor: string;
  /** The same profile as a reference, with its name where Medplum gives it. */
  readonly requester?: Reference | undefined;
  readonly newId: () => string;
}

const momentText = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(instant));

/** The time of an appointment as text for staff. Without an end it is a moment. */
export function timeText({ start = '', end }: Pick<Appointment, 'start' | 'end'>, timeZone: string): string {
  const until = end === undefined ? '' : `–${momentText(end, timeZone).slice(11)}`;
  return `${momentText(start, timeZone)}${until} (${timeZone})`;
}

/** The first patient of a stored appointment, as a reference. */
export function patientOf({ participant }: Appointment): Reference | undefined {
  return participant.map(({ actor }) => actor).find((actor) => idIn(actor, 'Patient') !== undefined);
}

/** The requester of an appointment: its reference if known, else the id in its tag. */
function requesterOf(appointment: Appointment, { requester, requestor, config }: RequestContext): Task['requester'] {
  const owner = ownerOf(appointment, config) ?? requestor;
  return owner === requestor && requester?.reference
    ? { reference: requester.reference, ...(requester.display && { display: requester.display }) }
    : { identifier: { system: artefactUri(config, 'LocalRequestor'), value: owner } };
}

/** The elements of a Task with the requested time, the moment of the request and the deadline. */
function requestElements(appointment: Appointment, now: number, config: PublicConfig): Partial<Task> {
  return {
    description: `Confirm or refuse the appointment ${timeText(appointment, config.timeZone)}`,
    priority: 'routine',
    authoredOn: formatInstant(now),
    restriction: { period: { end: formatInstant(endOf('request', appointment, config) ?? now) } },
  };
}

/** The Task of a new request. Staff find it by patient, portal and deadline, and can sort by deadline. */
function newTask(
  appointment: Appointment,
  focus: string,
  patient: Reference | undefined,
  context: RequestContext,
): Task {
  const { now, config } = context;
  const more = {
    ...requestElements(appointment, now, config),
    focus: { reference: focus },
    ...(patient && { for: patient }),
    requester: requesterOf(appointment, context),
  };
  return newRow('confirm', { status: 'requested', ...more }, config);
}

const REMINDED = 'reminded';

/** The share of the time until the deadline after which staff are reminded. */
const REMIND_AFTER = 3 / 4;

/** The Task of a request that now waits for another time, or for another patient. */
function renewed(task: Task, appointment: Appointment, now: number, config: PublicConfig): Task {
  const patient = patientOf(appointment);
  const isSamePatient = !patient || patient.reference === task.for?.reference;
  const deadline = endOf('request', appointment, config) ?? 0;
  const isSameDeadline = parseInstant(task.restriction?.period?.end) === deadline;
  const { output, ...rest } = task;
  const kept = valuesBut(output, REMINDED);
  const again = { ...rest, ...requestElements(appointment, now, config), ...(kept.length > 0 && { output: kept }) };
  const current = isSameDeadline ? task : again;
  return isSamePatient ? current : { ...current, for: patient };
}

const isCall = (task: Task, config: PublicConfig): boolean => isRow(task, ['undelivered'], config);

/**
 * The Task after a change of its appointment: open while the request or personal offer waits, `completed` after a
 * reply, `cancelled` if there was none in time. A call without an end stays until staff complete it.
 * @param appointment - as it is or is about to be
 * @returns the same object if nothing has to change
 */
function taskAfter(task: Task, appointment: Appointment, now: number, config: PublicConfig): Task {
  if (!isOpenTask(task) || (isCall(task, config) && !task.restriction?.period?.end)) {
    return task;
  }
  const kind = isCall(task, config) ? 'offer' : 'request';
  if (isWaiting(kind, appointment, config)) {
    return kind === 'offer' ? task : renewed(task, appointment, now, config);
  }
  return hasRunOut(kind, appointment, now, config)
    ? {
        ...task,
        status: 'cancelled',
        ...(appointment.cancelationReason && { statusReason: appointment.cancelationReason }),
      }
    : { ...task, status: 'completed' };
}

const isAbout = ({ focus }: Task, reference: string): boolean => focus?.reference === reference;

/**
 * The updates of an appointment's Tasks, in the transaction that changes the appointment.
 * @param appointment - as it is or is about to be
 * @param tasks - open Tasks of requests, of this appointment and of others
 */
export function taskEntries(
  appointment: Appointment,
  tasks: readonly Task[],
  now: number,
  config: PublicConfig,
): BundleEntry[] {
  return tasks
    .filter((task) => isAbout(task, `Appointment/${appointment.id}`))
    .flatMap((task) => {
      const changed = taskAfter(task, appointment, now, config);
      return changed === task ? [] : [updateEntry(task, changed)];
    });
}

/**
 * Adds the Tasks of requests to a booking: a new one for an appointment that waits for confirmation, and updates of
 * those of moved or replaced appointments.
 * @param appointments - the entries that store the appointments, the booked one first
 * @param patient - the patient of the booking, who may be created with it
 * @param tasks - the open ones of the earlier appointments
 */
export function withRequestTasks(
  appointments: readonly BundleEntry[],
  patient: Reference | undefined,
  tasks: readonly Task[],
  context: RequestContext,
): BundleEntry[] {
  const { now, config, newId } = context;
  const kept = appointments.flatMap(({ resource }) =>
    isResource(resource, 'Appointment') ? taskEntries(resource, tasks, now, config) : [],
  );
  const [first, ...others] = appointments;
  const appointment = first?.resource;
  if (!first || !isResource(appointment, 'Appointment') || !isWaiting('request', appointment, config)) {
    return [...appointments, ...kept];
  }
  const isNew = first.request?.method === 'POST';
  const fullUrl = first.fullUrl ?? (isNew ? newId() : undefined);
  const focus = fullUrl ?? first.request?.url ?? '';
  const made: BundleEntry[] = tasks.some((task) => isAbout(task, focus) && !isCall(task, config))
    ? []
    : [creation(newTask(appointment, focus, patient, context))];
  return [{ ...first, ...(fullUrl && { fullUrl }) }, ...others, ...kept, ...made];
}

/**
 * Whether to remind staff of a request: three quarters of its time have passed but not all of it, its Task is open and
 * not urgent, and there was no reminder yet.
 */
export function isReminderDue(task: Task, now: number): boolean {
  const [from, to] = [parseInstant(task.authoredOn), parseInstant(task.restriction?.period?.end)];
  const isReminded = valueIn(task.output, REMINDED) !== undefined;
  if (from === undefined || to === undefined || isReminded || task.priority !== 'routine' || !isOpenTask(task)) {
    return false;
  }
  return now >= from + (to - from) * REMIND_AFTER && now < to;
}

/** The entry that reminds staff of a request, once: its Task becomes urgent. */
export function reminderEntries(task: Task, now: number): BundleEntry[] {
  const output = [...(task.output ?? []), ...moment(REMINDED, now)];
  return [updateEntry(task, { ...task, priority: 'urgent', output })];
}
