import type { Appointment, Communication, Patient, RelatedPerson } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { guardiansIn } from '../appointment/people.ts';
import { timeOf } from '../day/entries.ts';
import { taskToken } from '../fhir/tasks.ts';

/** A person's appointments by state: the next coming one first, in all other lists the latest first. */
interface PersonData {
  readonly patient: Patient | undefined;
  readonly guardians: readonly RelatedPerson[];
  readonly appointments: Readonly<Record<'coming' | 'waiting' | 'past' | 'cancelled', readonly Appointment[]>>;
  /** Messages of the clinic, the latest first. */
  readonly messages: readonly Communication[];
}

/** The searches for a person with all appointments and messages. */
export function personSearches(id: string, config: PublicConfig) {
  return [
    { type: 'Patient', query: [['_id', id]] },
    { type: 'RelatedPerson', query: [['patient', `Patient/${id}`]] },
    { type: 'Appointment', query: [['patient', `Patient/${id}`]] },
    {
      type: 'Communication',
      query: [
        ['subject', `Patient/${id}`],
        ['category', taskToken('message', config)],
      ],
    },
  ] as const;
}

const isOff = ({ status }: Appointment): boolean => status === 'cancelled' || status === 'entered-in-error';

/** The time of sending, or of the last attempt; milliseconds since 1970 UTC. */
export const writtenAt = ({ sent, meta }: Communication): number => Date.parse(sent ?? meta?.lastUpdated ?? '') || 0;

const startOf = (appointment: Appointment): number => timeOf(appointment)?.start ?? 0;

/** Sorts search results; `now` in milliseconds since 1970 UTC. */
export function personIn(resources: readonly unknown[], now: number): PersonData {
  const appointments = resources
    .filter((one) => isResource(one, 'Appointment'))
    .toSorted((appointment, other) => startOf(other) - startOf(appointment));
  const patient = resources.find((one) => isResource(one, 'Patient'));
  const isComing = (appointment: Appointment): boolean => !isOff(appointment) && (timeOf(appointment)?.end ?? 0) > now;
  return {
    patient,
    guardians: guardiansIn(resources, patient?.id),
    appointments: {
      coming: appointments.filter(isComing).toReversed(),
      waiting: appointments.filter(({ status }) => status === 'waitlist'),
      past: appointments.filter(
        (appointment) => !isOff(appointment) && !isComing(appointment) && appointment.status !== 'waitlist',
      ),
      cancelled: appointments.filter(
        (appointment) => isOff(appointment) && (timeOf(appointment) !== undefined || !appointment.requestedPeriod),
      ),
    },
    messages: resources
      .filter((one) => isResource(one, 'Communication'))
      .toSorted((communication, other) => writtenAt(other) - writtenAt(communication)),
  };
}

/** The id of an appointment in a typed text: the id itself, or a reference or URL that contains it. */
export const appointmentIdIn = (text: string): string | undefined =>
  /(?:^|Appointment\/)([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/i.exec(text.trim())?.[1]?.toLowerCase();
