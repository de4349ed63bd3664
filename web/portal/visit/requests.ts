import type {
  Appointment,
  AppointmentParticipant,
  Extension,
  Parameters,
  ParametersParameter,
  Patient,
  QuestionnaireResponse,
  RelatedPerson,
} from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import type { BookableService } from '../clinic/services.ts';
import type { ChosenStep, ChosenTime } from './chosen-time.ts';

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

/** An appointment of a visit, as it is asked for. */
export interface WantedStep extends ChosenStep {
  /** What is done in it; absent if its calendars do not say. */
  readonly serviceType: Appointment['serviceType'] | undefined;
}

/** What every booking of a visit has. */
export interface VisitBooking extends Pick<Booking, 'service' | 'identifier'> {
  readonly steps: readonly WantedStep[];
  /** The address of the extension that says which step an appointment is. */
  readonly stepUrl: string;
}

function proposedSteps({ steps, service, identifier, stepUrl }: VisitBooking): Appointment[] {
  const { payer, visit } = service;
  return steps.map(({ name, slots, start, end, serviceType }, index) => ({
    resourceType: 'Appointment',
    status: 'proposed',
    start: formatInstant(start),
    end: formatInstant(end),
    slot: slots.map((id) => ({ reference: `Slot/${id}` })),
    extension: [
      {
        url: stepUrl,
        extension: [
          { url: 'service', valueReference: { reference: `HealthcareService/${visit?.service}` } },
          { url: 'step', valueString: name },
        ],
      },
      ...(payer ? [payer] : []),
    ],
    identifier: [{ ...identifier, value: `${identifier.value}-${index + 1}` }],
    ...(serviceType && { serviceType }),
    participant: [],
  }));
}

const asParameters = (resources: readonly Appointment[]): Parameters => ({
  resourceType: 'Parameters',
  parameter: resources.map((resource) => ({ name: 'appt-resource', resource })),
});

/**
 * The body of `$hold` for a whole visit.
 *
 * @param ids - of the holds that are prolonged, in the order of the steps
 */
export const holdVisitRequest = (booking: VisitBooking, ids: readonly string[] = []): Parameters =>
  asParameters(
    proposedSteps(booking).map(({ participant: _, ...one }, index) => {
      const id = ids[index];
      return { ...one, ...(id !== undefined && { id }) } as Appointment;
    }),
  );

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

/** What a request says of the people, and of who pays. */
function said({ payer }: BookableService, { patient, name, relatedPerson, messages, answers }: Submission) {
  const reference = typeof patient === 'string' ? `Patient/${patient}` : '#patient';
  const person: AppointmentParticipant = { actor: { reference, ...(name && { display: name }) }, status: 'accepted' };
  const extension: Extension[] = [
    ...(payer ? [payer] : []),
    ...(messages ? [{ url: messages, valueBoolean: true }] : []),
  ];
  const parameter: ParametersParameter[] = [
    ...(typeof patient === 'string' ? [] : [{ name: 'patient', resource: patient }]),
    ...(relatedPerson ? [{ name: 'related-person', resource: relatedPerson }] : []),
    ...(answers ? [{ name: 'patientSubmittedInformation', resource: answers }] : []),
  ];
  return { person, extension, parameter };
}

/**
 * The body of `$book` for a new appointment.
 *
 * @param hold - the id of the hold that becomes the booking
 */
export function bookRequest(booking: Booking, submission: Submission, hold?: string): Parameters {
  const { comment } = submission;
  const { extension, person, parameter } = said(booking.service, submission);
  const appointment: Appointment = {
    ...proposed(booking),
    ...(hold && { id: hold }),
    ...(comment && { comment }),
    ...(extension.length > 0 && { extension }),
    participant: [person],
  };
  return {
    resourceType: 'Parameters',
    parameter: [{ name: 'appt-resource', resource: appointment }, ...parameter],
  };
}

/**
 * The body of `$book` for a new visit.
 *
 * @param holds - the ids of the holds that become the bookings, in the order of the steps
 */
export function bookVisitRequest(booking: VisitBooking, submission: Submission, holds: readonly string[]): Parameters {
  const { comment, messages } = submission;
  const { person, parameter } = said(booking.service, submission);
  const leaving: Extension[] = messages ? [{ url: messages, valueBoolean: true }] : [];
  const appointments = proposedSteps(booking).map((one, index): Appointment => {
    const id = holds[index];
    return {
      ...one,
      ...(id !== undefined && { id }),
      ...(comment && { comment }),
      extension: [...(one.extension ?? []), ...leaving],
      participant: [person],
    };
  });
  return {
    resourceType: 'Parameters',
    parameter: [...(asParameters(appointments).parameter ?? []), ...parameter],
  };
}

/** What is asked of `$find`. */
interface WishedVisit {
  readonly service: string;
  /** In milliseconds since 1970 UTC. */
  readonly period: { readonly start: number; readonly end: number };
  readonly count: number;
  /** The names of optional steps that are left out. */
  readonly without: readonly string[];
  /** The names of the steps that are wanted alone. */
  readonly only?: readonly string[] | undefined;
  /** Who pays, if it makes a difference. */
  readonly payer: BookableService['payer'];
}

/** The body of `$find`. */
export const findRequest = ({ service, period, count, without, only = [], payer }: WishedVisit): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'service', valueReference: { reference: `HealthcareService/${service}` } },
    { name: 'period', valuePeriod: { start: formatInstant(period.start), end: formatInstant(period.end) } },
    { name: 'count', valuePositiveInt: count },
    ...without.map((name) => ({ name: 'without', valueString: name })),
    ...only.map((name) => ({ name: 'step', valueString: name })),
    ...(payer?.valueCoding ? [{ name: 'payer-kind', valueCoding: payer.valueCoding }] : []),
  ],
});

/** The body of `$book` that moves all appointments of a visit: each keeps its id. */
export const moveVisitRequest = (moved: readonly (readonly [Appointment, ChosenStep])[]): Parameters =>
  asParameters(
    moved.map(([appointment, { slots, start, end }]) => ({
      ...moveRequest(appointment, { slot: '', schedule: '', start, end }),
      slot: slots.map((id) => ({ reference: `Slot/${id}` })),
    })),
  );

/** For what somebody waits. */
export interface Waiting {
  readonly service: BookableService;
  readonly identifier: Booking['identifier'];
  /** The days, in milliseconds since 1970 UTC. */
  readonly wish: { readonly start: number; readonly end: number };
  /** With whom, as a reference; empty: anybody. */
  readonly actor: string;
  /** The id of the appointment that stands until something earlier is taken. */
  readonly standing: string | undefined;
}

/** The body of `$waitlist`. */
export function waitRequest(waiting: Waiting, submission: Submission): Parameters {
  const { service, identifier, wish, actor, standing } = waiting;
  const { extension, person, parameter } = said(service, submission);
  const entry: Appointment = {
    resourceType: 'Appointment',
    status: 'waitlist',
    identifier: [{ ...identifier }],
    ...(service.coding && { serviceType: [{ coding: [service.coding], text: service.name }] }),
    requestedPeriod: [{ start: formatInstant(wish.start), end: formatInstant(wish.end) }],
    ...(extension.length > 0 && { extension }),
    participant: [person, ...(actor ? [{ actor: { reference: actor }, status: 'accepted' as const }] : [])],
  };
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: entry },
      ...parameter,
      ...(standing ? [{ name: 'standing-appt-id', valueUri: `Appointment/${standing}` }] : []),
    ],
  };
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
