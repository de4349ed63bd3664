import type { Appointment, Patient, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { momentIn } from '../../../packages/web/appointments.ts';
import { OPEN, taskToken } from '../fhir/tasks.ts';

/** A request that waits for the clinic. */
export interface Waiting {
  readonly id: string;
  readonly appointment: Appointment;
  /** Milliseconds since 1970 UTC. */
  readonly deadline: number | undefined;
  /** Time of the request, if known; milliseconds since 1970 UTC. */
  readonly asked: number | undefined;
  /** Whether most of the time for a reply is over. */
  readonly isUrgent: boolean;
  readonly requester: string | undefined;
}

/** Open requests, and their patients by id. */
export interface Requests {
  readonly waiting: readonly Waiting[];
  readonly patients: ReadonlyMap<string, Patient>;
}

/** The searches for pending appointments with their patients, and for the Tasks of those with a deadline. */
export function requestSearches(config: PublicConfig) {
  return [
    { type: 'Appointment', query: [['status', 'pending']], include: [['_include', 'Appointment:patient']] },
    {
      type: 'Task',
      query: [
        ['code', taskToken('confirm', config)],
        ['status', OPEN],
      ],
    },
  ] as const;
}

const compare = (one: number | undefined, other: number | undefined): number =>
  (one ?? Number.POSITIVE_INFINITY) === (other ?? Number.POSITIVE_INFINITY)
    ? 0
    : (one ?? Number.POSITIVE_INFINITY) - (other ?? Number.POSITIVE_INFINITY);

/** The earliest deadline first; requests without one come last, the oldest before the others. */
function byDeadline(one: Waiting, other: Waiting): number {
  return compare(one.deadline, other.deadline) || compare(one.asked, other.asked) || one.id.localeCompare(other.id);
}

/** The requests among search results. Broken resources are shown as far as they can be read. */
export function requestsIn(resources: readonly unknown[], config: PublicConfig): Requests {
  const tasks = new Map<string, Task>();
  for (const one of resources) {
    if (isResource(one, 'Task')) {
      tasks.set(idIn(one.focus, 'Appointment') ?? '', one);
    }
  }
  const appointments = new Map(
    resources.filter((one) => isResource(one, 'Appointment')).map((appointment) => [appointment.id ?? '', appointment]),
  );
  const waiting = [...appointments].map(([id, appointment]): Waiting => {
    const task = tasks.get(id);
    return {
      id,
      appointment,
      deadline: momentIn(appointment, artefactUri(config, 'LocalConfirmationDeadline')),
      asked:
        parseInstant(task?.authoredOn) ??
        parseInstant(appointment.created) ??
        parseInstant(appointment.meta?.lastUpdated),
      isUrgent: task?.priority === 'urgent',
      requester: task?.requester?.display,
    };
  });
  const patients = resources.filter((one) => isResource(one, 'Patient'));
  return {
    waiting: waiting.toSorted(byDeadline),
    patients: new Map(patients.map((patient) => [patient.id ?? '', patient])),
  };
}

/** The request after an answered one: the next of those `before` that still wait, or else the last. */
export function nextAfter(id: string, before: readonly Waiting[], after: readonly Waiting[]): string | undefined {
  const left = new Set(after.map((one) => one.id));
  const index = before.findIndex((one) => one.id === id);
  const next = before.slice(index + 1).find((one) => one.id !== id && left.has(one.id));
  return next?.id ?? after.filter((one) => one.id !== id).at(-1)?.id;
}
