import type { Appointment, Patient, RelatedPerson, Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { offeredFor, offeredUntil } from '../../../packages/web/appointments.ts';
import { extensionUrls } from '../../../packages/web/refusal.ts';
import { guardiansIn } from '../appointment/people.ts';
import { timeOf } from '../day/entries.ts';
import { isTask, OPEN, taskToken } from '../fhir/tasks.ts';

/** A person to call: a message was not delivered as far as is known, or the appointment falls into an absence. */
export interface Undelivered {
  readonly task: Task;
  readonly patient: Patient | undefined;
  readonly guardians: readonly RelatedPerson[];
  readonly appointment: Appointment | undefined;
  /** A personal offer that replaces the appointment. */
  readonly offer: Appointment | undefined;
  readonly isAbsence: boolean;
}

/** The queries for open Tasks about people to call. */
export const undeliveredQueries = (config: PublicConfig) =>
  [
    [
      ['code', taskToken('undelivered', config)],
      ['status', OPEN],
    ],
    [
      ['code', taskToken('affected', config)],
      ['status', 'ready'],
    ],
  ] as const;

/** The searches for these Tasks, with their patients and appointments. */
export const undeliveredSearches = (config: PublicConfig) => [
  ...undeliveredQueries(config).map(
    (query) =>
      ({
        type: 'Task',
        query,
        include: [
          ['_include', 'Task:patient'],
          ['_include', 'Task:focus'],
          ['_revinclude:iterate', 'RelatedPerson:patient'],
        ],
      }) as const,
  ),
  { type: 'Appointment', query: [['status', 'proposed']] } as const,
];

/** The people to call among search results, sorted by the start of their appointments. */
export function undeliveredIn(resources: readonly unknown[], now: number, config: PublicConfig): Undelivered[] {
  const patients = resources.filter((one) => isResource(one, 'Patient'));
  const appointments = resources.filter((one) => isResource(one, 'Appointment'));
  const urls = extensionUrls(config);
  const startOf = ({ appointment }: Undelivered): number => (appointment && timeOf(appointment)?.start) ?? 0;
  return resources
    .filter((one) => isResource(one, 'Task'))
    .map((task) => ({
      task,
      patient: patients.find(({ id }) => id === idIn(task.for, 'Patient')),
      guardians: guardiansIn(resources, idIn(task.for, 'Patient')),
      appointment: appointments.find(({ id }) => id === idIn(task.focus, 'Appointment')),
      offer: appointments.find(
        (appointment) =>
          offeredUntil(appointment, urls, now) &&
          offeredFor(appointment, urls).includes(idIn(task.focus, 'Appointment') ?? ''),
      ),
      isAbsence: isTask(task, 'affected', config),
    }))
    .toSorted((one, other) => startOf(one) - startOf(other));
}
