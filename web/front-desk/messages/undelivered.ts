import type { Appointment, Patient, Task } from '@medplum/fhirtypes';
import { openStatuses } from '../../../core/booking/confirmation/task.ts';
import type { ArtefactConfig } from '../../../core/config/config.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { rowCodes } from '../../../core/rows/row.ts';
import { timeOf } from '../day/entries.ts';

/** A message that has not reached its person, as far as is known. */
export interface Undelivered {
  readonly task: Task;
  readonly patient: Patient | undefined;
  readonly appointment: Appointment | undefined;
}

/** The search for the open Tasks of such messages, as a query. */
export const undeliveredQuery = (config: ArtefactConfig) =>
  [
    ['code', rowCodes(['undelivered'], config)],
    ['status', openStatuses.join(',')],
  ] as const;

/** The searches for what did not arrive, with its people and appointments. */
export const undeliveredSearches = (config: ArtefactConfig) =>
  [
    {
      type: 'Task',
      query: undeliveredQuery(config),
      include: [
        ['_include', 'Task:patient'],
        ['_include', 'Task:focus'],
      ],
    },
  ] as const;

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
