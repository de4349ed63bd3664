import type {
  Appointment,
  OperationOutcome,
  Parameters,
  Patient,
  QuestionnaireResponse,
  Reference,
  RelatedPerson,
  Resource,
} from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { conditionalReferenceIssues } from '../../fhir/bounds.ts';
import { parseInstant, timeOf } from '../../fhir/instant.ts';
import {
  containsPath,
  type Issue,
  serverRejectionIssues,
  uniqueIssues,
  withoutDependentIssues,
} from '../../fhir/outcome/outcome.ts';
import { formatReference, isId, parseReference } from '../../fhir/reference.ts';
import { isResource, parametersIn } from '../../fhir/resource.ts';
import type { Interval } from '../../time/interval.ts';
import { parseActor } from '../appointment/actors.ts';
import { requiredElements } from '../appointment/elements.ts';
import { type BookInputs, type Located, type LocatedAppointment, readInputs } from './parameters.ts';

/**
 * The actor of a submitted participant: the patient or the related person submitted in the same request, an existing
 * patient, or any other actor.
 */
type Actor =
  | { readonly kind: 'submitted-patient' }
  | { readonly kind: 'submitted-related-person' }
  | { readonly kind: 'patient'; readonly id: string }
  | { readonly kind: 'other'; readonly reference?: string };

interface Participant {
  readonly path: string;
  readonly actor: Actor;
}

interface SubmittedPersons {
  readonly patient?: Located<Patient> | undefined;
  /** Whether the request submits further patients. Then a participant must refer to one by its id. */
  readonly isOneOfSeveral?: boolean;
  readonly relatedPerson?: Located<RelatedPerson> | undefined;
}

/** The id in a reference to a resource of the same request, or to a stored one. */
const localId = (reference: string | undefined): string | undefined =>
  localPattern.exec(reference ?? '')?.groups?.id ?? reference?.split('/').at(-1);

const localPattern = /^(?:#|urn:uuid:|urn:oid:)(?<id>.+)$/;

/**
 * The person or resource that a participant references. Submitted persons are referenced by `#id`, `urn:uuid:` or their
 * stored id.
 * @returns `undefined` if the reference leads to nothing usable
 */
function readActor(
  reference: string,
  persons: SubmittedPersons,
  contained: readonly (Resource | null | undefined)[],
  baseUrl: string,
) {
  const local = localPattern.exec(reference)?.groups?.id;
  const read = parseActor(reference, baseUrl);
  const id = local ?? read?.id;
  const relatedPersonId = persons.relatedPerson?.value.id;
  if (id !== undefined && id === relatedPersonId && read?.type !== 'Patient') {
    return { kind: 'submitted-related-person' } as const;
  }
  const inside = reference.startsWith('#') ? contained.find((resource) => resource?.id === local) : undefined;
  if (inside) {
    return inside.resourceType === 'Patient' ? undefined : ({ kind: 'other', reference } as const);
  }
  const isLocal = local !== undefined && (!persons.isOneOfSeveral || local === persons.patient?.value.id);
  if (persons.patient && (isLocal || (read?.type === 'Patient' && read.id === persons.patient.value.id))) {
    return { kind: 'submitted-patient' } as const;
  }
  if (read?.type === 'Patient') {
    return { kind: 'patient', id: read.id } as const;
  }
  return read && ({ kind: 'other', reference: formatReference(read) } as const);
}

/**
 * Identifies the participants of a submitted appointment.
 * @param appointment - the appointment as submitted
 * @param persons - the patient and the related person submitted with it: a participant refers to one of them by `#id`,
 *   `urn:uuid:…`, or the id it was sent with
 * @param baseUrl - public base address of this service
 * @returns the participants in order, and a `malformed-request` for each reference that cannot be resolved,
 *   `element-missing` for a participant without status, `patient-missing` if no participant is a patient
 */
export function readParticipants(
  appointment: Located<Appointment>,
  persons: SubmittedPersons,
  baseUrl: string,
): { participants: readonly Participant[]; issues: readonly Issue[] } {
  const participants: Participant[] = [];
  const issues: Issue[] = [];
  for (const [index, { actor, status }] of (appointment.value.participant ?? []).entries()) {
    const path = `${appointment.path}.participant[${index}]`;
    if (status === undefined) {
      issues.push({
        code: 'element-missing',
        diagnostics: 'Every participant needs a status, such as accepted.',
        expression: `${path}.status`,
      });
    }
    const found =
      actor?.reference === undefined
        ? undefined
        : readActor(actor.reference, persons, appointment.value.contained ?? [], baseUrl);
    if (actor && !found) {
      issues.push({
        code: 'malformed-request',
        diagnostics: `${path}.actor must refer to a resource of this service, such as Patient/123; send a patient who is not stored yet in the parameter patient, not as a contained resource.`,
        expression: `${path}.actor`,
      });
    }
    participants.push({ path, actor: found ?? { kind: 'other' } });
  }
  const hasPatient = persons.patient !== undefined || participants.some(({ actor }) => actor.kind === 'patient');
  const isNamed =
    appointment.value.participant !== undefined && issues.every(({ code }) => code !== 'malformed-request');
  if (!hasPatient && isNamed) {
    issues.push({
      code: 'patient-missing',
      diagnostics: 'Name a Patient as participant, or send one in the parameter patient.',
      expression: `${appointment.path}.participant`,
    });
  }
  return { participants, issues };
}

/** One appointment of a request. Every element that is present is well-formed. Ids are logical ids in this service. */
export interface AppointmentRequest {
  readonly appointment: LocatedAppointment;
  /** The requested time; absent if `start` or `end` is missing or not an instant, or if `start` is not before `end`. */
  readonly interval?: Interval | undefined;
  readonly slots: readonly Located<string>[];
  readonly participants: readonly Participant[];
  readonly schedule?: Located<string> | undefined;
  readonly replaced: readonly Located<string>[];
  readonly patient?: Located<Patient> | undefined;
  readonly relatedPerson?: Located<RelatedPerson> | undefined;
  readonly answers: readonly Located<QuestionnaireResponse>[];
}

/** A parsed `$book` request: all of its appointments are booked, or none. */
export interface BookRequest {
  /** At least one, in the order in which they were sent. */
  readonly appointments: readonly AppointmentRequest[];
  /** The version that the appointment to be moved must have (`If-Match`). */
  readonly ifMatch?: string | undefined;
  /** Whether a hold is a personal offer, which its person can accept. */
  readonly isPersonalOffer?: boolean | undefined;
  /** Whether to validate everything and write nothing. */
  readonly isDryRun?: boolean | undefined;
  readonly leads?: Leads | undefined;
}

/** Ids of the Schedules of a request's Slots, and of their services, as far as the gateway remembers them. */
export interface Leads {
  readonly schedules: readonly string[];
  readonly services: readonly string[];
}

/** A parsed request, if it could be read at all, and all issues of its form. */
export interface ParsedRequest<Request = BookRequest> {
  readonly request?: Request;
  readonly issues: readonly Issue[];
  /** The paths of malformed parts, which the request leaves out. */
  readonly unreadable?: readonly string[];
}

export type Purpose = 'book' | 'hold';

function missingElements({ value, path }: Located<Appointment>, mayBeWithoutParticipant: boolean): Issue[] {
  const sent: Readonly<Record<string, unknown>> = { ...value };
  return requiredElements
    .filter((name) => sent[name] === undefined && !(name === 'participant' && mayBeWithoutParticipant))
    .map((name) => ({
      code: 'element-missing',
      diagnostics: `Appointment.${name} is required.`,
      expression: `${path}.${name}`,
    }));
}

function instantIssues({ value, path }: Located<Appointment>): Issue[] {
  return (['start', 'end'] as const)
    .filter((name) => value[name] !== undefined && parseInstant(value[name]) === undefined)
    .map((name) => ({
      code: 'malformed-request',
      diagnostics: `Appointment.${name} must be a valid instant with an offset, such as 2027-01-31T09:30:00+01:00, in the years 0001 to 9999 (UTC).`,
      expression: `${path}.${name}`,
    }));
}

interface ReadIds {
  readonly ids: readonly Located<string>[];
  readonly issues: readonly Issue[];
}

/** The ids of the named Slots. A repeated one is an issue, and is left out. */
function readSlots({ value, path }: Located<Appointment>, baseUrl: string): ReadIds {
  const read = (value.slot ?? []).map(({ reference }, index) => ({
    id: isId(reference) ? reference : parseReference(reference, baseUrl, ['Slot'])?.id,
    path: `${path}.slot[${index}]`,
  }));
  const issues = read.flatMap(({ id, path }, index): Issue[] => {
    const isRepeated = read.findIndex((other) => other.id === id) < index;
    const problem =
      id === undefined ? 'must be a reference such as Slot/123' : isRepeated ? 'repeats a slot' : undefined;
    return problem ? [{ code: 'malformed-request', diagnostics: `${path} ${problem}.`, expression: path }] : [];
  });
  const ids = read.flatMap(({ id, path }, index) =>
    id === undefined || read.findIndex((other) => other.id === id) < index ? [] : [{ value: id, path }],
  );
  return { ids, issues };
}

/** Reads a reference, or for an Appointment a bare id. No `located` gives neither id nor issue. */
export function readReference(
  located: Located<unknown> | undefined,
  baseUrl: string,
  type: 'Schedule' | 'Appointment',
): ReadIds {
  if (!located) {
    return { ids: [], issues: [] };
  }
  const { value, path } = located;
  const bareId = type === 'Appointment' && isId(value) ? value : undefined;
  const id = bareId ?? parseReference(value, baseUrl, [type])?.id;
  const diagnostics = `${path} must be a reference to a resource of this service, such as ${type}/123.`;
  return id === undefined
    ? { ids: [], issues: [{ code: 'malformed-request', diagnostics, expression: path }] }
    : { ids: [{ value: id, path }], issues: [] };
}

/** A hold needs no patient, unless it names a related person, who always belongs to a patient. */
function relationIssues({ relatedPerson }: SubmittedPersons, participants: readonly Participant[]): Issue[] {
  const isNamed = participants.some(({ actor: { kind } }) => kind === 'patient' || kind === 'submitted-patient');
  const diagnostics = 'Name the patient for whom the related person acts, or send the related person with $book.';
  return relatedPerson && !isNamed ? [{ code: 'patient-missing', diagnostics, expression: relatedPerson.path }] : [];
}

export const rootOf = (body: unknown): string => (isResource(body, 'Parameters') ? 'Parameters' : 'Appointment');

/** Whether an appointment refers to a submitted patient. */
const isMeantBy = ({ participant = [] }: Appointment, { value: { id } }: Located<Patient>): boolean =>
  id !== undefined && participant.some(({ actor }) => localId(actor?.reference) === id);

/** Whether an appointment names only stored patients other than the submitted one. */
function namesAnother({ participant = [] }: Appointment, { value }: Located<Patient>, baseUrl: string): boolean {
  const stored = participant.flatMap(({ actor }) => parseReference(actor?.reference, baseUrl, ['Patient'])?.id ?? []);
  return (
    stored.length > 0 && !stored.some((id) => id === value.id) && participant.every(({ actor }) => !isLocal(actor))
  );
}

const isLocal = (actor: Reference | undefined): boolean => /^(#|urn:)/.test(actor?.reference ?? '');

/** The ids of an appointment's patients as they were sent; a submitted patient may have none. */
const patientIdsIn = ({ patient, participants }: AppointmentRequest): (string | undefined)[] => [
  ...(patient ? [patient.value.id] : []),
  ...participants.flatMap(({ actor }) => (actor.kind === 'patient' ? [actor.id] : [])),
];

/** Whether the appointments of a request are for different patients. */
const isFamily = ({ patients }: BookInputs, read: readonly AppointmentRequest[]): boolean =>
  patients.length > 1 || new Set(read.map((one) => patientIdsIn(one).join())).size > 1;

/** Whether the subject of a QuestionnaireResponse is a patient of an appointment. */
const isAbout = ({ value }: Located<QuestionnaireResponse>, request: AppointmentRequest): boolean => {
  const id = localId(value.subject?.reference);
  return id !== undefined && patientIdsIn(request).includes(id);
};

/**
 * With several submitted patients, an appointment must refer to each. If the appointments are for different patients,
 * each QuestionnaireResponse must have one of them as subject.
 */
function familyIssues({ appointments, patients, answers }: BookInputs, family: readonly AppointmentRequest[]): Issue[] {
  const unreferenced = patients.filter((one) => !appointments.some(({ value }) => isMeantBy(value, one)));
  const unassigned = answers.filter((response) => !family.some((one) => isAbout(response, one)));
  return [
    ...(patients.length < 2 ? [] : unreferenced).map(({ path }): Issue => {
      const diagnostics = 'With several patients, each has an id of its own, and an appointment refers to it by #id.';
      return { code: 'malformed-request', diagnostics, expression: `${path}.id` };
    }),
    ...unassigned.map(({ path }): Issue => {
      const diagnostics = 'With several patients, the subject of answers refers to one of them: #id, or Patient/id.';
      return { code: 'malformed-request', diagnostics, expression: `${path}.subject` };
    }),
  ];
}

/** Reads one appointment. Unless `areParametersRead`, what a malformed parameter may hold is not missing. */
function readAppointment(
  appointment: LocatedAppointment,
  inputs: BookInputs,
  areParametersRead: boolean,
  isHolding: boolean,
  replaced: readonly Located<string>[],
  { baseUrl }: PublicConfig,
): { readonly request: AppointmentRequest; readonly issues: readonly Issue[] } {
  const { patients, relatedPerson } = inputs;
  const isOneOfSeveral = patients.length > 1;
  const [only] = patients;
  const isForStoredPatient = inputs.appointments.length > 1 && only && namesAnother(appointment.value, only, baseUrl);
  const patient = isOneOfSeveral
    ? patients.find((one) => isMeantBy(appointment.value, one))
    : isForStoredPatient
      ? undefined
      : only;
  const slots = readSlots(appointment, baseUrl);
  const schedule = readReference(inputs.schedule, baseUrl, 'Schedule');
  const participation = readParticipants(appointment, { patient, relatedPerson, isOneOfSeveral }, baseUrl);
  const isTimeNamed = appointment.value.slot !== undefined || inputs.schedule !== undefined;
  const timeIssues: Issue[] =
    isTimeNamed || !areParametersRead
      ? []
      : [
          {
            code: 'slot-or-schedule-missing',
            diagnostics: 'Name the slots in Appointment.slot, or a schedule in the parameter schedule.',
            expression: `${appointment.path}.slot`,
          },
        ];
  return {
    request: {
      appointment,
      interval: timeOf(appointment.value),
      slots: slots.ids,
      participants: participation.participants,
      schedule: schedule.ids[0],
      replaced,
      patient,
      relatedPerson,
      answers: inputs.answers,
    },
    issues: [
      ...missingElements(appointment, patient !== undefined || isHolding || !areParametersRead),
      ...(isHolding && !patient ? relationIssues({ relatedPerson }, participation.participants) : []),
      ...instantIssues(appointment),
      ...timeIssues,
      ...slots.issues,
      ...schedule.issues,
      ...participation.issues.filter(({ code }) => code !== 'patient-missing' || (!isHolding && areParametersRead)),
    ],
  };
}

/** A `schedule` for several appointments; one replaced twice, or replaced and moved; one sent twice. */
function combinationIssues({ appointments, schedule }: BookInputs, replaced: readonly Located<string>[]): Issue[] {
  const diagnostics = 'Several appointments name their slots themselves: leave out the parameter schedule.';
  const ids = appointments.map(({ value }) => value.id);
  const repeated = appointments.filter(({ value }, index) => value.id !== undefined && ids.indexOf(value.id) < index);
  return [
    ...(schedule && appointments.length > 1
      ? [{ code: 'malformed-request', diagnostics, expression: schedule.path } as const]
      : []),
    ...replaced
      .filter(({ value }, index) => ids.includes(value) || replaced.findIndex((one) => one.value === value) < index)
      .map(({ path }): Issue => {
        const again =
          'An appointment is either replaced, once, or moved: to move it, send it again under its id alone.';
        return { code: 'malformed-request', diagnostics: again, expression: path };
      }),
    ...repeated.map(({ path }): Issue => {
      const twice = 'Two appointments of one request cannot have the same id.';
      return { code: 'malformed-request', diagnostics: twice, expression: `${path}.id` };
    }),
  ];
}

/**
 * Reads the body of `$book` or `$hold`, and finds all issues of its form.
 * @param body - parsed JSON of any kind
 * @param config - the installation; absolute references may begin with its base address
 * @param purpose - a hold needs no patient, unless it is a personal offer
 * @returns the issues of its form and, unless nothing can be validated, the request without elements of the wrong JSON
 *   type
 * @see specification sections 2.1 and 4.4
 */
export function parseBookRequest(body: unknown, config: PublicConfig, purpose: Purpose = 'book'): ParsedRequest {
  const { inputs, issues, unreadable, isUnreadable } = readInputs(body, config, purpose);
  const { appointments } = inputs;
  if (appointments.length === 0) {
    const diagnostics = 'The appointment to book is missing: send it as the parameter appt-resource.';
    return {
      issues: issues.length > 0 ? issues : [{ code: 'element-missing', diagnostics, expression: 'Parameters' }],
    };
  }
  if (isUnreadable) {
    return { issues };
  }
  const areParametersRead = unreadable.every((path) =>
    appointments.some((locatedAppointment) => containsPath(locatedAppointment.path, path)),
  );
  const named = inputs.replaced.map((one) => readReference(one, config.baseUrl, 'Appointment'));
  const replaced = named.flatMap(({ ids }) => ids);
  // Each appointment replaces one, in the order in which they were sent. The last one also replaces the rest.
  const replacedBy = (index: number): readonly Located<string>[] =>
    index + 1 < appointments.length ? replaced.slice(index, index + 1) : replaced.slice(index);
  const isHolding = purpose === 'hold' && inputs.personalOffer?.value !== true;
  const read = appointments.map((locatedAppointment, index) =>
    readAppointment(locatedAppointment, inputs, areParametersRead, isHolding, replacedBy(index), config),
  );
  const all = read.map(({ request }) => request);
  const isOfFamily = isFamily(inputs, all);
  const formIssues = uniqueIssues([
    ...read.flatMap((one) => one.issues),
    ...named.flatMap(({ issues: found }) => found),
    ...combinationIssues(inputs, replaced),
    ...(isOfFamily ? familyIssues(inputs, all) : []),
  ]);
  const found = [...issues, ...withoutDependentIssues(formIssues, unreadable)];
  return {
    request: {
      appointments: all.map((one) =>
        isOfFamily ? { ...one, answers: one.answers.filter((response) => isAbout(response, one)) } : one,
      ),
      isPersonalOffer: inputs.personalOffer?.value === true,
      isDryRun: inputs.dryRun?.value === true,
    },
    issues: [...found, ...conditionalReferenceIssues(body, rootOf(body), found)],
    unreadable,
  };
}

/** The body of `$book` for some appointments. */
export const bodyFor = (appointments: readonly Appointment[]): Parameters => ({
  resourceType: 'Parameters',
  parameter: appointments.map((resource) => ({ name: 'appt-resource', resource })),
});

/** The number of appointments in a body of `$book`; the rest of it may be malformed. */
export function appointmentsIn(body: unknown): number {
  return parametersIn(body).filter(({ resource }) => isResource(resource, 'Appointment')).length;
}

/** Whether a body of `$book` asks only for a decision; the rest of it may be malformed. */
export function asksForDryRun(body: unknown): boolean {
  return parametersIn(body).some(({ name, valueBoolean }) => name === 'dry-run' && valueBoolean === true);
}

/**
 * Reports a transaction that the server rejected as invalid FHIR, in terms of the request.
 * @param outcome - the response to the transaction; its expressions begin with the type of the resource at fault
 * @returns a `malformed-request` for each of its issues, with the path of the element in the request
 */
export function bookingRejectionIssues(outcome: OperationOutcome, { appointments }: BookRequest): Issue[] {
  const inputs = [
    ...appointments.map(({ appointment }) => appointment),
    ...appointments.map(({ patient }) => patient),
    ...appointments.map(({ relatedPerson }) => relatedPerson),
    ...appointments.flatMap(({ answers }) => answers),
  ];
  return serverRejectionIssues(outcome, 'malformed-request', 'request', (expression) => {
    const [type, ...rest] = expression.split('.');
    const input = inputs.find((candidate) => candidate?.value.resourceType === type);
    return input ? [input.path, ...rest].join('.') : expression;
  });
}
