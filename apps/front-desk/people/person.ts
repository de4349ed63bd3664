import type { Appointment, Communication, Patient, RelatedPerson } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { guardiansIn } from '../appointment/people.ts';
import { timeOf } from '../day/entries.ts';
import { taskToken } from '../fhir/tasks.ts';

/**
 * The appointments of a person as they are looked for: what comes, the next first; what they wait for; all others, the last
 * first.
 */
interface PersonData {
  readonly patient: Patient | undefined;
  /** Who speaks for them. */
  readonly guardians: readonly RelatedPerson[];
  readonly appointments: Readonly<Record<'coming' | 'waiting' | 'past' | 'cancelled', readonly Appointment[]>>;
  /** What the clinic has written to them, the last first. */
  readonly messages: readonly Communication[];
}

/** The searches for a person, all their appointments, and what was written to them. */
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

/** When a message was sent, or else last tried; milliseconds since 1970 UTC. */
export const writtenAt = ({ sent, meta }: Communication): number => Date.parse(sent ?? meta?.lastUpdated ?? '') || 0;

const startOf = (appointment: Appointment): number => timeOf(appointment)?.start ?? 0;

/**
 * Sorts what the searches have found.
 *
 * @param now - milliseconds since 1970 UTC
 */
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

/** The id of the appointment that a typed text names: the id itself, or a reference or address that holds it. */
export const appointmentIdIn = (text: string): string | undefined =>
  /(?:^|Appointment\/)([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/i.exec(text.trim())?.[1]?.toLowerCase();
