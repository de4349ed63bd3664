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
import type { ChosenStep } from '../../../packages/web/refusal.ts';
import type { BookableService } from '../clinic/services.ts';
import type { ChosenTime } from './chosen-time.ts';

/** A requested appointment of a visit. */
export interface WantedStep extends ChosenStep {
  /** Absent if the Schedules do not name it. */
  readonly serviceType: Appointment['serviceType'] | undefined;
}

/** A requested booking: an appointment, or a visit of several. */
export interface Booking {
  readonly time: ChosenTime;
  readonly service: BookableService;
  /** The portal's identifier, which makes the request idempotent. */
  readonly identifier: { readonly system: string; readonly value: string };
  /** The steps of a visit, and the URL of the extension that names an appointment's step. */
  readonly visit?: { readonly steps: readonly WantedStep[]; readonly stepUrl: string } | undefined;
}

function proposed({ time, service, identifier, visit }: Booking, ids: readonly string[]): Appointment[] {
  const { payer, coding, text } = service;
  const serviceType = coding && [{ coding: [coding], text }];
  const alone: WantedStep = { ...time, name: '', slots: [time.slot.slice('Slot/'.length)], serviceType };
  return (visit?.steps ?? [alone]).map(({ name, slots, start, end, serviceType }, index): Appointment => {
    const id = ids[index];
    const step: Extension[] = [
      { url: 'service', valueReference: { reference: `HealthcareService/${service.visit?.service}` } },
      { url: 'step', valueString: name },
    ];
    const extension = [...(visit ? [{ url: visit.stepUrl, extension: step }] : []), ...(payer ? [payer] : [])];
    return {
      resourceType: 'Appointment',
      status: 'proposed',
      ...(id && { id }),
      start: formatInstant(start),
      end: formatInstant(end),
      slot: slots.map((slot) => ({ reference: `Slot/${slot}` })),
      ...(extension.length > 0 && { extension }),
      identifier: [{ ...identifier, value: visit ? `${identifier.value}-${index + 1}` : identifier.value }],
      ...(serviceType && { serviceType }),
      participant: [],
    };
  });
}

const asParameters = (resources: readonly Appointment[], more: readonly ParametersParameter[] = []): Parameters => ({
  resourceType: 'Parameters',
  parameter: [...resources.map((resource) => ({ name: 'appt-resource', resource })), ...more],
});

/** The body of `$hold`; `ids` are the prolonged holds, in the order of the steps. */
export function holdRequest(booking: Booking, ids: readonly string[]): Appointment | Parameters {
  const holds = proposed(booking, ids).map(({ participant: _, ...hold }) => hold as Appointment);
  const [alone] = holds;
  return booking.visit || !alone ? asParameters(holds) : alone;
}

/** The people of a booking, and their input. */
export interface Submission {
  /** A new Patient, or the id of one that the portal has created before. */
  readonly patient: Patient | string;
  readonly name: string;
  readonly relatedPerson: RelatedPerson | undefined;
  readonly comment: string;
  /** URL of the extension that leaves messages to the clinic, if the patient wants them. */
  readonly messages: string | undefined;
  readonly answers: QuestionnaireResponse | undefined;
}

function said({ patient, name, relatedPerson, messages, answers }: Submission) {
  const reference = typeof patient === 'string' ? `Patient/${patient}` : '#patient';
  const person: AppointmentParticipant = { actor: { reference, ...(name && { display: name }) }, status: 'accepted' };
  const leaving: Extension[] = messages ? [{ url: messages, valueBoolean: true }] : [];
  const parameter: ParametersParameter[] = [
    ...(typeof patient === 'string' ? [] : [{ name: 'patient', resource: patient }]),
    ...(relatedPerson ? [{ name: 'related-person', resource: relatedPerson }] : []),
    ...(answers ? [{ name: 'patientSubmittedInformation', resource: answers }] : []),
  ];
  return { person, leaving, parameter };
}

/** The body of `$book` for a new appointment or visit; `holds` are the booked holds, in the order of the steps. */
export function bookRequest(booking: Booking, submission: Submission, holds: readonly string[]): Parameters {
  const { comment } = submission;
  const { person, leaving, parameter } = said(submission);
  const appointments = proposed(booking, holds).map((appointment): Appointment => {
    const extension = [...(appointment.extension ?? []), ...leaving];
    return {
      ...appointment,
      ...(comment && { comment }),
      ...(extension.length > 0 && { extension }),
      participant: [person],
    };
  });
  return asParameters(appointments, parameter);
}

/** The body of `$book` that moves the appointments of a visit; they keep their ids. */
export const moveVisitRequest = (moved: readonly (readonly [Appointment, ChosenStep])[]): Parameters =>
  asParameters(
    moved.map(([appointment, { slots, start, end }]) => ({
      ...moveRequest(appointment, { slot: '', schedule: '', start, end }),
      slot: slots.map((id) => ({ reference: `Slot/${id}` })),
    })),
  );

/** A requested waitlist entry. */
export interface Waiting {
  readonly service: BookableService;
  readonly identifier: Booking['identifier'];
  /** Milliseconds since 1970 UTC. */
  readonly wish: { readonly start: number; readonly end: number };
  /** Reference of the practitioner; empty: any. */
  readonly actor: string;
  /** The current appointment, kept until an earlier time is booked. */
  readonly current: Appointment | undefined;
}

/** The body of `$waitlist`. */
export function waitRequest(waiting: Waiting, submission: Submission): Parameters {
  const { service, identifier, wish, actor, current } = waiting;
  const { leaving, person, parameter } = said(submission);
  const extension = [...(service.payer ? [service.payer] : []), ...leaving];
  const entry: Appointment = {
    resourceType: 'Appointment',
    status: 'waitlist',
    identifier: [{ ...identifier }],
    ...(service.coding && { serviceType: [{ coding: [service.coding], text: service.text }] }),
    requestedPeriod: [{ start: formatInstant(wish.start), end: formatInstant(wish.end) }],
    ...(extension.length > 0 && { extension }),
    ...(submission.comment && { comment: submission.comment }),
    ...(current?.supportingInformation && { supportingInformation: current.supportingInformation }),
    participant: [person, ...(actor ? [{ actor: { reference: actor }, status: 'accepted' as const }] : [])],
  };
  const stands = current ? [{ name: 'standing-appt-id', valueUri: `Appointment/${current.id}` }] : [];
  return asParameters([entry], [...parameter, ...stands]);
}

/** The body of `$book` that moves an appointment. Absent elements are not changed. */
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
