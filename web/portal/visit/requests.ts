import type {
  Appointment,
  Parameters,
  ParametersParameter,
  Patient,
  QuestionnaireResponse,
  RelatedPerson,
} from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import type { BookableService } from '../clinic/services.ts';
import type { ChosenTime } from './chosen-time.ts';

/** What every booking of the portal has. */
export interface Booking {
  readonly time: ChosenTime;
  readonly service: BookableService;
  /** The portal's own identifier: a request that is sent again with it books nothing twice. */
  readonly identifier: { readonly system: string; readonly value: string };
}

function proposed({ time, service, identifier }: Booking): Appointment {
  return {
    resourceType: 'Appointment',
    status: 'proposed',
    start: formatInstant(time.start),
    end: formatInstant(time.end),
    slot: [{ reference: time.slot }],
    ...(service.payer && { extension: [service.payer] }),
    identifier: [{ ...identifier }],
    ...(service.coding && { serviceType: [{ coding: [service.coding], text: service.name }] }),
    participant: [],
  };
}

/**
 * The body of `$hold`.
 *
 * @param id - of the hold that is prolonged
 */
export function holdRequest(booking: Booking, id?: string): Appointment {
  const { participant: _, ...appointment } = proposed(booking);
  return { ...appointment, ...(id && { id }) } as Appointment;
}

/** Who comes, and what was said. */
export interface Submission {
  /** A new patient, or the id of one that the portal has submitted before. */
  readonly patient: Patient | string;
  readonly name: string;
  /** Who books for the patient. */
  readonly relatedPerson: RelatedPerson | undefined;
  readonly comment: string;
  /** The address of the extension that leaves messages to the clinic, if the patient wants them. */
  readonly messages: string | undefined;
  readonly answers: QuestionnaireResponse | undefined;
}

/**
 * The body of `$book` for a new appointment.
 *
 * @param hold - the id of the hold that becomes the booking
 */
export function bookRequest(
  booking: Booking,
  { patient, name, relatedPerson, comment, messages, answers }: Submission,
  hold?: string,
): Parameters {
  const reference = typeof patient === 'string' ? `Patient/${patient}` : '#patient';
  const { extension = [], ...rest } = proposed(booking);
  const all = [...extension, ...(messages ? [{ url: messages, valueBoolean: true }] : [])];
  const appointment: Appointment = {
    ...rest,
    ...(hold && { id: hold }),
    ...(comment && { comment }),
    ...(all.length > 0 && { extension: all }),
    participant: [{ actor: { reference, display: name }, status: 'accepted' }],
  };
  const parameter: ParametersParameter[] = [
    { name: 'appt-resource', resource: appointment },
    ...(typeof patient === 'string' ? [] : [{ name: 'patient', resource: patient }]),
    ...(relatedPerson ? [{ name: 'related-person', resource: relatedPerson }] : []),
    ...(answers ? [{ name: 'patientSubmittedInformation', resource: answers }] : []),
  ];
  return { resourceType: 'Parameters', parameter };
}

/** The body of `$book` that moves an appointment: what it does not name stays as it is. */
export function moveRequest({ id, participant, identifier }: Appointment, time: ChosenTime): Appointment {
  return {
    resourceType: 'Appointment',
    id: id ?? '',
    status: 'proposed',
    start: formatInstant(time.start),
    end: formatInstant(time.end),
    slot: [{ reference: time.slot }],
    ...(identifier && { identifier }),
    participant: (participant ?? []).filter(({ actor }) => actor?.reference?.startsWith('Patient/')),
  };
}
