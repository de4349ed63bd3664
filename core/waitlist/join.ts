import type { Appointment, Bundle, BundleEntry, HealthcareService, Patient, Schedule } from '@medplum/fhirtypes';
import { profileIssues, publisherIssues } from '../booking/appointment/profile.ts';
import { canBeMoved } from '../booking/appointment/status.ts';
import { questionnaireResponseEntries } from '../booking/booking/changes.ts';
import { namedReads } from '../booking/booking/reads.ts';
import { patientsIn, type ResolvedParticipants, resolveParticipants } from '../booking/booking/resolve-participants.ts';
import { hasCommonIdentifier, personQueries } from '../booking/patients/identity.ts';
import { lengthText, readPolicy } from '../booking/policy/policy.ts';
import { readInputs } from '../booking/request/parameters.ts';
import {
  type AppointmentRequest,
  type ParsedRequest,
  readParticipants,
  readReference,
  rootOf,
} from '../booking/request/request.ts';
import { questionnaireResponseIssues } from '../booking/request/supporting-information.ts';
import type { BookingConfig } from '../config/config.ts';
import { artefactUri } from '../fhir/artefacts.ts';
import { conditionalReferenceIssues } from '../fhir/bounds.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { type Issue, withoutDependentIssues } from '../fhir/outcome/outcome.ts';
import { idIn, serviceIdsOf } from '../fhir/reference.ts';
import { belongsTo, markChange, metaOfSubmitted, ownerOf, REPLACES, requestorQuery } from '../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { identifierQuery, search, searchByIds, searchUrl, tokensOf } from '../rows/search.ts';
import { seriesOf, stepOf } from '../visits/visit.ts';
import { MAX_ENTRIES, visitsFor, wishIssues } from './entry.ts';

/** Elements of a booking that an entry must not have. */
const ofBooking = ['slot', 'start', 'end'] as const;

/**
 * Reads the body of `$waitlist`: an Appointment with the status `waitlist`, or Parameters with it.
 * @param body - parsed JSON of any kind
 * @returns the request, in the form of a booking without a time, and all its issues
 */
export function parseJoinRequest(body: unknown, now: number, config: BookingConfig): ParsedRequest<AppointmentRequest> {
  const { inputs, issues, unreadable, isUnreadable } = readInputs(body, config, 'waitlist');
  const [patient] = inputs.patients;
  const { relatedPerson } = inputs;
  const [appointment] = inputs.appointments;
  const missing = (diagnostics: string, expression: string): Issue => ({
    code: 'element-missing',
    diagnostics,
    expression,
  });
  if (!appointment || isUnreadable) {
    const absent = missing('The entry is missing: send it as the parameter appt-resource.', 'Parameters');
    return { issues: issues.length > 0 ? issues : [absent] };
  }
  const { value, path } = appointment;
  const current = readReference(inputs.replaced[0], config.baseUrl, 'Appointment');
  const participation = readParticipants(appointment, { patient, relatedPerson }, config.baseUrl);
  const more: Issue[] = [
    ...(value.status === 'waitlist'
      ? []
      : [
          {
            code: value.status === undefined ? 'element-missing' : 'malformed-request',
            diagnostics: 'An entry must have the status waitlist.',
            expression: `${path}.status`,
          } as const,
        ]),
    ...(value.serviceType?.length ? [] : [missing('Name the service that is waited for.', `${path}.serviceType`)]),
    ...ofBooking.flatMap((name): Issue[] => {
      const diagnostics = `An entry has no ${name}: name the times that are wished for in requestedPeriod.`;
      return value[name] === undefined
        ? []
        : [{ code: 'malformed-request', diagnostics, expression: `${path}.${name}` }];
    }),
    ...wishIssues(appointment, now),
    ...current.issues,
    ...participation.issues,
    ...(value.participant === undefined && !patient
      ? [missing('Name the patient as participant, or send it as patient.', `${path}.participant`)]
      : []),
    ...profileIssues(appointment, config),
    ...publisherIssues(appointment, config),
    ...inputs.answers.flatMap(questionnaireResponseIssues),
  ];
  const found = [...issues, ...withoutDependentIssues(more, unreadable)];
  return {
    request: {
      appointment,
      slots: [],
      participants: participation.participants,
      replaced: current.ids,
      patient,
      relatedPerson,
      answers: inputs.answers,
    },
    issues: [...found, ...conditionalReferenceIssues(body, rootOf(body), found)],
    unreadable,
  };
}

/** The reads before a request is decided, with the caller's rights. */
export function joinReads(request: AppointmentRequest, requestor: string, config: BookingConfig): BundleEntry[] {
  const { value } = request.appointment;
  const types = tokensOf(value.serviceType ?? []).join(',');
  const offering = ['HealthcareService', 'Schedule'].map((type) =>
    search(type, [
      ['service-type', types],
      ['_count', '200'],
    ]),
  );
  return [
    ...namedReads(request, requestor, config),
    ...searchByIds('HealthcareService', serviceIdsOf(value)),
    ...(types ? offering : []),
  ];
}

interface Joining {
  readonly request: AppointmentRequest;
  readonly state: ResourceSet;
  readonly requestor: string;
  readonly now: number;
  readonly newId: () => string;
  readonly config: BookingConfig;
  /** Whether staff of the clinic put somebody on the list. */
  readonly isStaff?: boolean;
}

/** The existing entry that a request names by its id or by a common identifier. */
export function existingEntry({ request, state, requestor, config }: Joining): Appointment | undefined {
  const { id, identifier } = request.appointment.value;
  return resourcesOfType(state, 'Appointment').find(
    (appointment) =>
      appointment.status === 'waitlist' &&
      belongsTo(appointment, requestor, config) &&
      (appointment.id === id || hasCommonIdentifier(appointment.identifier, identifier)),
  );
}

/** Checks that the service has a waitlist, and that no wished time is too far ahead. */
function serviceIssues({ request, state, now, config }: Joining): Issue[] {
  const { value, path } = request.appointment;
  const services = resourcesOfType(state, 'HealthcareService');
  const holders: readonly (HealthcareService | Schedule)[] = [...services, ...resourcesOfType(state, 'Schedule')];
  const policies = holders.map((one) => readPolicy(one, config).policy);
  if (!policies.some(({ refill }) => refill === 1)) {
    const diagnostics = 'There is no waitlist for this service: search again later.';
    return [{ code: 'service-type-not-offered', diagnostics, expression: `${path}.serviceType` }];
  }
  const window = Math.max(...policies.map((one) => one.window ?? Number.POSITIVE_INFINITY));
  return (value.requestedPeriod ?? []).flatMap(({ start }, index): Issue[] => {
    const diagnostics = `Times can be booked at most ${lengthText(Number.isFinite(window) ? window : 0)} ahead.`;
    const expression = `${path}.requestedPeriod[${index}]`;
    return (parseInstant(start) ?? 0) > now + window ? [{ code: 'too-far-ahead', diagnostics, expression }] : [];
  });
}

/** Checks the appointment that an earlier time is to replace: its owner, status, service and patients. */
function currentAppointmentIssues(
  { request, state, requestor, config, isStaff }: Joining,
  { participants }: ResolvedParticipants,
): Issue[] {
  const [replaced] = request.replaced;
  if (!replaced) {
    return [];
  }
  const { value: id, path: expression } = replaced;
  const current = findResource(state, 'Appointment', id);
  if (!current || !(isStaff || belongsTo(current, requestor, config))) {
    return [{ code: 'replaced-appointment-not-found', diagnostics: `There is no Appointment/${id}.`, expression }];
  }
  if (!canBeMoved(current) || current.status === 'proposed') {
    const diagnostics = `Appointment/${id} is ${current.status}: only one that stands can be replaced.`;
    return [{ code: 'appointment-closed', diagnostics, expression }];
  }
  const step = stepOf(current, config)?.service;
  const visits = visitsFor(request.appointment.value, resourcesOfType(state, 'HealthcareService'), config);
  if (seriesOf(current, config) || (visits.length > 0 ? !visits.some(({ service }) => service === step) : step)) {
    const diagnostics = `Appointment/${id} is of another kind: a visit replaces one of the same service; a series stands.`;
    return [{ code: 'visit-mismatch', diagnostics, expression }];
  }
  const patients = (one: Pick<Appointment, 'participant'>): string =>
    one.participant
      .flatMap(({ actor }) => idIn(actor, 'Patient') ?? [])
      .sort()
      .join();
  return patients(current) === patients({ participant: [...participants] })
    ? []
    : [{ code: 'patient-mismatch', diagnostics: `Appointment/${id} is for another patient.`, expression }];
}

type JoinPlan =
  | { readonly kind: 'refuse'; readonly issues: readonly Issue[] }
  /** `patients` are the waiting persons; the first entry of `transaction` is the waitlist entry. */
  | { readonly kind: 'write'; readonly patients: readonly Patient[]; readonly transaction: Bundle };

/** The owner of the current appointment, who gets the personal offers; without one, the caller. */
function ownerOfEntry({ request, state, requestor, config }: Joining): string {
  const [named] = request.replaced;
  const current = named && findResource(state, 'Appointment', named.value);
  return current ? (ownerOf(current, config) ?? '') : requestor;
}

/** The most entries of a Medplum transaction with a conditional create. */
const MAX_CONDITIONAL = 8;

/** Plans the transaction that adds a person to the waitlist, or its refusal with all issues. */
export function planJoin(
  { issues: malformed, unreadable }: ParsedRequest<AppointmentRequest>,
  joining: Joining,
): JoinPlan {
  const { request, requestor, now, config } = joining;
  const resolved = resolveParticipants(request, joining.state, () => undefined, { ...joining, idFor: joining.newId });
  const issues = [
    ...malformed,
    ...withoutDependentIssues(
      [...serviceIssues(joining), ...currentAppointmentIssues(joining, resolved), ...resolved.issues],
      unreadable,
    ),
  ];
  if (issues.length > 0) {
    return { kind: 'refuse', issues };
  }
  const { id: _, meta, priority: __, created: ___, ...submitted } = request.appointment.value;
  const replaces = request.replaced.map(({ value }) => ({
    url: REPLACES,
    valueReference: { reference: `Appointment/${value}` },
  }));
  const extension = [...(submitted.extension ?? []), ...replaces];
  const answers = questionnaireResponseEntries(request, resolved, joining);
  const information = [
    ...(submitted.supportingInformation ?? []),
    ...answers.flatMap(({ fullUrl }) => (fullUrl ? [{ reference: fullUrl }] : [])),
  ];
  const entry: Appointment = {
    ...submitted,
    meta: markChange(
      metaOfSubmitted({ ...meta, profile: withoutProfile(meta?.profile, config) }, ownerOfEntry(joining), config),
      requestor,
      undefined,
      config,
    ),
    ...(extension.length > 0 && { extension }),
    ...(information.length > 0 && { supportingInformation: information }),
    created: formatInstant(now),
    participant: [...resolved.participants],
  };
  const otherEntries = [...resolved.entries, ...answers];
  const identifierSearch = identifierQuery(submitted.identifier, requestorQuery(ownerOfEntry(joining), config));
  // Of two simultaneous requests with one identifier, the second finds the entry of the first.
  const condition = identifierSearch &&
    otherEntries.length < MAX_CONDITIONAL && {
      ifNoneExist: new URLSearchParams([...identifierSearch, ['status', 'waitlist']]).toString(),
    };
  return {
    kind: 'write',
    patients: patientsIn(resolved, joining),
    transaction: {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ request: { method: 'POST', url: 'Appointment', ...condition }, resource: entry }, ...otherEntries],
    },
  };
}

/** An entry has no time yet, so it does not conform to LocalTermin. */
const withoutProfile = (profiles: readonly string[] | undefined, config: BookingConfig): string[] =>
  (profiles ?? []).filter((one) => one !== artefactUri(config, 'LocalTermin'));

/** The searches for the waitlist entries of a person with one portal. */
export const entriesOf = (person: Patient, requestor: string, config: BookingConfig): string[] =>
  personQueries(person).map((own) =>
    searchUrl('Appointment', [
      ...own,
      ['status', 'waitlist'],
      ['_tag', requestorQuery(requestor, config)],
      ['_include', 'Appointment:patient'],
      ['_sort', '-_lastUpdated'],
      ['_count', '500'],
    ]),
  );

/** The refusal of a further entry of a portal for the same person. */
export const tooManyEntries = ({ appointment }: AppointmentRequest): Issue => ({
  code: 'patient-limit-reached',
  diagnostics: `A portal can have at most ${MAX_ENTRIES} entries for one person: leave one first.`,
  expression: appointment.path,
});

/** The entry in a response, with its position, which is never stored. */
export const withPosition = (entry: Appointment, position: number, config: BookingConfig): Appointment => ({
  ...entry,
  extension: [...(entry.extension ?? []), { url: artefactUri(config, 'LocalPosition'), valuePositiveInt: position }],
});
