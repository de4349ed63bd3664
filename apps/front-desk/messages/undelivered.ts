import type { Appointment, Patient, RelatedPerson, Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { offeredFor, offeredUntil } from '../../../packages/web/appointments.ts';
import { extensionUrls } from '../../../packages/web/refusal.ts';
import { guardiansIn } from '../appointment/people.ts';
import { timeOf } from '../day/entries.ts';
import { isTask, OPEN, taskToken } from '../fhir/tasks.ts';

/** Somebody to call: a message has not reached them, as far as is known, or their appointment falls into an absence. */
export interface Undelivered {
  readonly task: Task;
  readonly patient: Patient | undefined;
  readonly guardians: readonly RelatedPerson[];
  readonly appointment: Appointment | undefined;
  /** What is held for them in its place. */
  readonly offer: Appointment | undefined;
  /** Whether it cannot take place, since somebody is absent. */
  readonly isAbsence: boolean;
}

/** The searches for the open Tasks about people to call, as queries. */
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

/** The searches for these Tasks, with their people and appointments. */
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

/** Sorts what the searches have found: the appointment that comes first on top. */
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
