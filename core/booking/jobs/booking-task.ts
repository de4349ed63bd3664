import type {
  Appointment,
  Bundle,
  BundleEntry,
  OperationOutcome,
  Reference,
  Task,
  TaskInput,
} from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject, parseJson, updateEntry } from '../../fhir/resource.ts';
import { belongsTo, ownerOf, requestorTag } from '../../fhir/tags.ts';
import type { ResourceSet } from '../../rows/resource-set.ts';
import { newRow, rowSearch, valueIn, valuesBut } from '../../rows/row.ts';
import type { Role } from '../policy/caller-rights.ts';

interface BookingJob {
  /** Body of `$book`, as sent. */
  readonly body: unknown;
  readonly requestor: string;
  /** The same profile as a reference, with its name. */
  readonly requester?: Reference | undefined;
  readonly role: Role;
  /** The resources (`Type/id`) that the requestor could see when it sent the request. */
  readonly visible: readonly string[];
}

/** Resource types of which a requestor sees only its own. The job must record which of them were visible. */
const personal: ReadonlySet<string> = new Set(['Appointment', 'Patient', 'QuestionnaireResponse', 'RelatedPerson']);

/** Issues about missing or invisible resources, and about the requestor's limits. */
const atOnce: ReadonlySet<string> = new Set([
  'slot-not-found',
  'schedule-not-found',
  'patient-not-found',
  'replaced-appointment-not-found',
  'portal-limit-reached',
  'too-many-bookings',
]);

/**
 * Whether a job is refused immediately: it is malformed, refers to resources that the requestor may not see, or exceeds
 * a limit of the installation.
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
        role: job.role === 'staff' ? 'staff' : 'requestor',
        visible: job.visible.map(String),
      }
    : undefined;
}

/** The age in milliseconds at which a waiting job counts as left over. */
const OVERDUE = 5_000;

/** The search for the ids and owners of left-over jobs. A new attempt makes a job as new as the attempt. */
export const overdueJobs = (now: number, config: PublicConfig): string =>
  rowSearch(
    ['book'],
    {
      status: 'requested',
      _lastUpdated: `lt${formatInstant(now - OVERDUE)}`,
      _fields: 'id',
    },
    config,
  );

/** Orders left-over jobs: one of each owner, then the next of each. */
export function inTurns(tasks: readonly Task[], random: () => number, config: PublicConfig): Task[] {
  const owners = Map.groupBy(tasks, (task) => ownerOf(task, config));
  const queues = [...owners.values()]
    .map((queue) => ({ queue, order: random() }))
    .sort((one, other) => one.order - other.order);
  return queues
    .flatMap(({ queue }) => queue.map((task, round) => ({ task, round })))
    .sort((one, other) => one.round - other.round)
    .map(({ task }) => task);
}

/** The moment since which a job waits, in milliseconds since 1970 UTC. */
export const waitsSince = ({ authoredOn, meta }: Task): number | undefined =>
  parseInstant(authoredOn ?? meta?.lastUpdated);

/** The most attempts for a left-over job before it is refused. */
export const MAX_ATTEMPTS = 20;

const ATTEMPTS = 'attempts';

/** The number of attempts to carry out a left-over job. */
export const attemptsOf = ({ input }: Task): number => valueIn(input, ATTEMPTS)?.valuePositiveInt ?? 0;

/** Increments the attempt counter before the attempt, so that a crash counts as an attempt. */
export function attemptEntry(task: Task): BundleEntry {
  const count: TaskInput = { type: { text: ATTEMPTS }, valuePositiveInt: attemptsOf(task) + 1 };
  return updateEntry(task, { ...task, input: [...valuesBut(task.input, ATTEMPTS), count] });
}

/** Restricts the state to resources that the requestor could see when it sent the request, or has submitted since. */
export function visibleTo(job: BookingJob, state: ResourceSet, config: PublicConfig): ResourceSet {
  return new Map(
    [...state].filter(
      ([key, resource]) =>
        !personal.has(resource.resourceType) || job.visible.includes(key) || belongsTo(resource, job.requestor, config),
    ),
  );
}

/** Ends a Task that has not changed since it was read, and removes its stored request. */
export function endTask({ input: _, ...task }: Task, changes: Partial<Task>): BundleEntry {
  return updateEntry(task, { ...task, ...changes });
}

/** Completes a Task after a successful booking. Its output refers to the Appointments. */
function completed(task: Task, appointments: readonly string[]): BundleEntry {
  const output = appointments.map((reference) => ({ type: { text: 'appointment' }, valueReference: { reference } }));
  return endTask(task, { status: 'completed', output });
}

/** Ends a Task after a refused booking. The Task contains the reasons. */
export function failed(task: Task, outcome: OperationOutcome): BundleEntry {
  const output = [{ type: { text: 'outcome' }, valueReference: { reference: '#outcome' } }];
  return endTask(task, { status: 'failed', contained: [{ ...outcome, id: 'outcome' }], output });
}

/**
 * Adds the completion of its Task to the transaction of a job, so that a second run finds the job done.
 * @param transaction - of the booking, whose first entries are the Appointments
 * @param newId - gives a fresh `urn:uuid:` by which the Task refers to a new Appointment
 * @param count - the number of Appointments
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

export function completedBy(task: Task, appointments: readonly Appointment[]): BundleEntry {
  return completed(
    task,
    appointments.map(({ id }) => `Appointment/${id}`),
  );
}
