import type { Appointment, Patient, Task } from '@medplum/fhirtypes';
import { openStatuses } from '../../../core/booking/confirmation/task.ts';
import type { PublicConfig } from '../../../core/config/config.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { rowCodes } from '../../../core/rows/row.ts';
import { timeOf } from '../day/entries.ts';

/** Somebody to call: a message has not reached them, as far as is known, or their appointment falls into an absence. */
export interface Undelivered {
  readonly task: Task;
  readonly patient: Patient | undefined;
  readonly appointment: Appointment | undefined;
}

/** The searches for the open Tasks about people to call, as queries. */
export const undeliveredQueries = (config: PublicConfig) =>
  [
    [
      ['code', rowCodes(['undelivered'], config)],
      ['status', openStatuses.join(',')],
    ],
    [
      ['code', rowCodes(['affected'], config)],
      ['status', 'ready'],
    ],
  ] as const;

/** The searches for these Tasks, with their people and appointments. */
export const undeliveredSearches = (config: PublicConfig) =>
  undeliveredQueries(config).map(
    (query) =>
      ({
        type: 'Task',
        query,
        include: [
          ['_include', 'Task:patient'],
          ['_include', 'Task:focus'],
        ],
      }) as const,
  );

/** Sorts what the searches have found: the appointment that comes first on top. */
export function undeliveredIn(resources: readonly unknown[]): Undelivered[] {
  const patients = resources.filter((one) => isResource(one, 'Patient'));
  const appointments = resources.filter((one) => isResource(one, 'Appointment'));
  const startOf = ({ appointment }: Undelivered): number => (appointment && timeOf(appointment)?.start) ?? 0;
  return resources
    .filter((one) => isResource(one, 'Task'))
    .map((task) => ({
      task,
      patient: patients.find(({ id }) => id === idIn(task.for, 'Patient')),
      appointment: appointments.find(({ id }) => id === idIn(task.focus, 'Appointment')),
    }))
    .toSorted((one, other) => startOf(one) - startOf(other));
}
