import type {
  Appointment,
  Bundle,
  BundleEntry,
  OperationOutcome,
  Patient,
  Reference,
  Task,
  TaskInput,
} from '@medplum/fhirtypes';
import type { BookingConfig, PublicConfig } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { parseJson } from '../../fhir/json.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn, parseReference } from '../../fhir/reference.ts';
import { isObject, updateEntry } from '../../fhir/resource.ts';
import { belongsTo, ownerOf, requestorTag } from '../../fhir/tags.ts';
import { newRow, rowSearch, valueIn, valuesBut } from '../../rows/row.ts';
import { schedulesNamed } from '../book/apply-policy.ts';
import { type BookRequest, eachOf } from '../book/request/request.ts';
import type { Role } from '../caller-role.ts';
import { hasCommonIdentifier } from '../patient/identity.ts';
import { type Asked, drawIssues } from '../policy/judge.ts';
import type { EffectivePolicy } from '../policy/policy.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../resource-set.ts';

/** An asynchronous booking, as stored in the input of its Task. */
interface BookingJob {
  /** Body of `$book`, as sent. */
  readonly body: unknown;
  /** Id of the requestor's profile. */
  readonly requestor: string;
  /** The same profile as a reference, with its name. */
  readonly requester?: Reference | undefined;
  /** The role in which the requestor acts. */
  readonly role: Role;
  /** The resources (`Type/id`) that the requestor could see when it sent the request. */
  readonly visible: readonly string[];
}

/** Resource types of which a requestor sees only its own: the job must record what the requestor saw. */
const personal: ReadonlySet<string> = new Set(['Appointment', 'Patient', 'QuestionnaireResponse', 'RelatedPerson']);

/** Issues about resources that do not exist or that the requestor may not see, and about the requestor's limits. */
const atOnce: ReadonlySet<string> = new Set([
  'slot-not-found',
  'schedule-not-found',
  'patient-not-found',
  'replaced-appointment-not-found',
  'portal-limit-reached',
  'too-many-bookings',
]);

/**
 * Whether these issues make the service refuse a job at once: it is malformed, refers to what the requestor may not see, or
 * exceeds a limit of the installation.
 */
export function isRefusedAtOnce(issues: readonly Issue[]): boolean {
  return issues.some(({ code }) => bookingErrors[code].status === 400 || atOnce.has(code));
}

/** The Task that stores an asynchronous booking until it is carried out. */
export function taskOf(
  body: unknown,
  { requestor, requester, role }: Pick<BookingJob, 'requestor' | 'requester' | 'role'>,
  seen: ResourceSet,
  config: PublicConfig,
): Task {
  const visible = [...seen].flatMap(([key, { resourceType }]) => (personal.has(resourceType) ? [key] : []));
  const job: BookingJob = { body, requestor, requester, role, visible };
  const more = {
    meta: { tag: [requestorTag(requestor, config)] },
    input: [{ type: { text: 'job' }, valueString: JSON.stringify(job) }],
  };
  return newRow('book', { status: 'requested', ...more }, config);
}

/** The job in a Task, or `undefined` if it is not waiting to be carried out. */
export function jobIn({ status, input }: Task): BookingJob | undefined {
  const kept = valueIn(input, 'job')?.valueString;
  const job = status === 'requested' ? parseJson(kept ?? '') : undefined;
  return isObject(job) && typeof job.requestor === 'string' && Array.isArray(job.visible)
    ? {
        body: job.body,
        requestor: job.requestor,
        requester: isObject(job.requester) ? job.requester : undefined,
        role: job.role === 'repository' ? 'repository' : 'requestor',
        visible: job.visible.map(String),
      }
    : undefined;
}

/** After how many milliseconds a job that was not carried out counts as left over. */
const OVERDUE = 5_000;

/**
 * The search for the ids, patients, owners and draws of jobs that should have been carried out by now. A job that was tried again is as new
 * as the last attempt.
 *
 * @param now - milliseconds since 1970 UTC
 */
export const overdueJobs = (now: number, config: PublicConfig): string =>
  rowSearch(
    ['book'],
    {
      status: 'requested',
      _lastUpdated: `lt${formatInstant(now - OVERDUE)}`,
      _fields: 'id,for,restriction,authoredOn,basedOn',
    },
    config,
  );

/** Left-over jobs in the order in which they are carried out: one of each owner, then the next of each. */
function inTurns(tasks: readonly Task[], random: () => number, config: PublicConfig): Task[] {
  const owners = Map.groupBy(tasks, (task) => ownerOf(task, config));
  const queues = [...owners.values()]
    .map((queue) => ({ queue, place: random() }))
    .sort((one, other) => one.place - other.place);
  return queues
    .flatMap(({ queue }) => queue.map((task, round) => ({ task, round })))
    .sort((one, other) => one.round - other.round)
    .map(({ task }) => task);
}

/**
 * By what a draw knows the patient of a request: each has one place, whether it is named or sent along; and the Schedules
 * whose draws it may wait for.
 *
 * @param seen - what the requestor may see of what the request names
 */
export function drawnFor(request: BookRequest, seen: ResourceSet, { baseUrl }: BookingConfig) {
  const sent = request.patient?.value;
  const [id = ''] = (request.appointment.value.participant ?? [])
    .flatMap(({ actor }) => parseReference(actor?.reference, baseUrl, ['Patient'])?.id ?? [])
    .sort();
  const isSent = ({ identifier }: Patient) => hasCommonIdentifier(identifier, sent?.identifier);
  const stored = sent ? resourcesOfType(seen, 'Patient').find(isSent) : findResource(seen, 'Patient', id);
  const [identifier] = (stored ?? sent)?.identifier ?? [];
  const reference = sent || id === '' ? undefined : `Patient/${id}`;
  const schedules = eachOf(request).flatMap((one) => schedulesNamed(one, seen));
  return {
    ...((identifier || reference) && { for: { ...(reference && { reference }), ...(identifier && { identifier }) } }),
    ...(schedules.length > 0 && { basedOn: schedules.map((one) => ({ reference: `Schedule/${one.id}` })) }),
  };
}

/**
 * A job that waits for a draw.
 *
 * @param issues - why it cannot be carried out now
 * @returns `undefined` if a draw is not all that it waits for
 */
export function waiting(task: Task, issues: readonly Issue[]): Task | undefined {
  const times = issues.map(({ notBefore }) => notBefore ?? 0);
  return times.every((time) => time > 0)
    ? { ...task, restriction: { period: { start: formatInstant(Math.max(...times)) } } }
    : undefined;
}

/** Since when a job that waits for a draw may be carried out; `undefined` if it waits for none. */
export const drawnAt = ({ restriction }: Task): number | undefined => parseInstant(restriction?.period?.start);

/** Since when a job should have been carried out, in milliseconds since 1970 UTC: of one that waits for a draw, its beginning. */
export const waitsSince = (task: Task): number | undefined =>
  drawnAt(task) ?? parseInstant(task.authoredOn ?? task.meta?.lastUpdated);

/** When a job was asked for, and whether it has waited for a draw. */
export function askedIn(task: Task): Asked | undefined {
  const at = parseInstant(task.authoredOn);
  return at === undefined ? undefined : { at, hasWaited: drawnAt(task) !== undefined };
}

/** The ids of the Schedules for whose draws jobs wait. */
export const drawnSchedules = (tasks: readonly Task[]): string[] => [
  ...new Set(tasks.flatMap((task) => (drawnAt(task) === undefined ? [] : schedulesIn(task)))),
];

const schedulesIn = ({ basedOn = [] }: Task): string[] => basedOn.flatMap((one) => idIn(one, 'Schedule') ?? []);

/** Whether the draw that a job waits for has begun: as it was when the job was last looked at, or has been moved since. */
function isDrawn(task: Task, now: number, policies: ReadonlyMap<string, EffectivePolicy>): boolean {
  const own = schedulesIn(task).flatMap((id) => policies.get(id) ?? []);
  return (drawnAt(task) ?? 0) <= now || (own.length > 0 && drawIssues(own, now, askedIn(task), '').length === 0);
}

/**
 * The jobs to carry out now, in order: those in turns that wait for no draw, then those that are drawn. Each patient's place is
 * as likely as any other; several wishes of a patient keep their order.
 *
 * @param tasks - left-over jobs
 * @param now - milliseconds since 1970 UTC
 * @param policies - of `drawnSchedules`, as they are now
 */
export function inOrder(
  tasks: readonly Task[],
  random: () => number,
  now: number,
  policies: ReadonlyMap<string, EffectivePolicy>,
  config: PublicConfig,
): Task[] {
  const others = tasks.filter((task) => drawnAt(task) === undefined);
  const due = tasks.filter((task) => drawnAt(task) !== undefined && isDrawn(task, now, policies));
  const patients = Map.groupBy(due, (task) => {
    const { reference, identifier } = task.for ?? {};
    const person = identifier ? `${identifier.system}|${identifier.value}` : (reference ?? task.id);
    return `${ownerOf(task, config)} ${person}`;
  });
  const drawn = [...patients.values()]
    .map((wishes) => ({ wishes, place: random() }))
    .sort((one, other) => one.place - other.place);
  return [...inTurns(others, random, config), ...drawn.flatMap(({ wishes }) => wishes)];
}

/** How often a left-over job is tried before it is refused. */
export const MOST_ATTEMPTS = 20;

const ATTEMPTS = 'attempts';

/** How often a left-over job was tried. */
export const attemptsOf = ({ input }: Task): number => valueIn(input, ATTEMPTS)?.valuePositiveInt ?? 0;

/** The entry that counts an attempt before it begins, so that one that ends the process counts, too. */
export function attemptEntry(task: Task): BundleEntry {
  const count: TaskInput = { type: { text: ATTEMPTS }, valuePositiveInt: attemptsOf(task) + 1 };
  return updateEntry(task, { ...task, input: [...valuesBut(task.input, ATTEMPTS), count] });
}

/** Restricts the state to what the requestor could see when it sent the request, or has submitted since. */
export function visibleTo(job: BookingJob, state: ResourceSet, config: PublicConfig): ResourceSet {
  return new Map(
    [...state].filter(
      ([key, resource]) =>
        !personal.has(resource.resourceType) || job.visible.includes(key) || belongsTo(resource, job.requestor, config),
    ),
  );
}

/**
 * A transaction entry that ends a Task, unless it has changed since it was read. What the requestor had sent, and for whom,
 * is no longer needed and is removed.
 */
export function endTask({ input: _, for: __, ...task }: Task, changes: Partial<Task>): BundleEntry {
  return updateEntry(task, { ...task, ...changes });
}

/** The entry that ends a Task whose booking succeeded: its output refers to the Appointments. */
function completed(task: Task, appointments: readonly string[]): BundleEntry {
  const output = appointments.map((reference) => ({ type: { text: 'appointment' }, valueReference: { reference } }));
  return endTask(task, { status: 'completed', output });
}

/** The entry that ends a Task whose booking was refused: the Task contains the reasons. */
export function failed(task: Task, outcome: OperationOutcome): BundleEntry {
  const output = [{ type: { text: 'outcome' }, valueReference: { reference: '#outcome' } }];
  return endTask(task, { status: 'failed', contained: [{ ...outcome, id: 'outcome' }], output });
}

/**
 * The one transaction that both carries out a job and completes its Task: a second run of the job finds it done.
 *
 * @param transaction - of the booking, whose first entries are the Appointments
 * @param newId - gives a fresh `urn:uuid:` by which the Task refers to a new Appointment
 * @param count - how many Appointments
 */
export function completing(transaction: Bundle, task: Task, newId: () => string, count = 1): Bundle {
  const entries = transaction.entry ?? [];
  const appointments = entries.slice(0, count).map((entry): BundleEntry => {
    const fullUrl = entry.fullUrl ?? (entry.request?.method === 'POST' ? newId() : undefined);
    return { ...entry, ...(fullUrl && { fullUrl }) };
  });
  const references = appointments.map(({ fullUrl, request }) => fullUrl ?? request?.url ?? '');
  return { ...transaction, entry: [...appointments, ...entries.slice(count), completed(task, references)] };
}

/** The entry that completes a Task with appointments that were booked before. */
export function completedBy(task: Task, appointments: readonly Appointment[]): BundleEntry {
  return completed(
    task,
    appointments.map(({ id }) => `Appointment/${id}`),
  );
}
