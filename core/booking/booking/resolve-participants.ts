import type { AppointmentParticipant, BundleEntry, Patient, Reference, RelatedPerson } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference.ts';
import { belongsTo, metaOfSubmitted } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import { conformsToProfile, withTrueClaims } from '../patients/conformance.ts';
import { duplicatesOf, hasCommonIdentifier, isActivePatient } from '../patients/identity.ts';
import type { Located } from '../request/parameters.ts';
import type { AppointmentRequest } from '../request/request.ts';

/** The participants of a booking: references as they are stored, and the entries that create persons. */
export interface ResolvedParticipants {
  readonly participants: readonly AppointmentParticipant[];
  /** Participants whom the request does not name. */
  readonly kept?: readonly AppointmentParticipant[];
  /** The patient of the booking; of several patients, the first. */
  readonly patient?: Reference<Patient> | undefined;
  readonly entries: readonly BundleEntry[];
  readonly issues: readonly Issue[];
}

interface ParticipantContext {
  readonly requestor: string;
  readonly config: BookingConfig;
  /** Gives the `urn:uuid:` of a person to create. The same key gives the same value. */
  readonly idFor: (key: string) => string;
}

const inactive = (expression: string): Issue => ({
  code: 'patient-inactive',
  diagnostics: 'The patient is inactive or was merged into another one; book for an active patient.',
  expression,
});

/** The person with this id, else the persons that the requestor has submitted with one of these identifiers. */
function storedPersons<T extends Patient | RelatedPerson>(
  found: readonly T[],
  { value }: Located<Patient | RelatedPerson>,
  { requestor, config }: ParticipantContext,
): T[] {
  const byId = found.filter(({ id }) => id !== undefined && id === value.id);
  const byIdentifier = found.filter(
    (person) => belongsTo(person, requestor, config) && hasCommonIdentifier(person.identifier, value.identifier),
  );
  return byId.length > 0 ? byId : byIdentifier;
}

/** A person submitted with the request: already stored, or to be created. */
interface Submitted {
  readonly reference: string;
  readonly entries: readonly BundleEntry[];
  readonly issues: readonly Issue[];
}

/**
 * The patients that a submitted identifier can mean: the active ones, or only the survivor if they are duplicates still
 * to be merged. If none is active, the first of them.
 */
function possiblePatients(stored: readonly Patient[], config: BookingConfig): readonly Patient[] {
  const [first, ...others] = stored.filter(isActivePatient);
  if (!first) {
    return stored.slice(0, 1);
  }
  const { survivor, duplicates } = duplicatesOf(first, others, config);
  return duplicates.length === others.length ? [survivor] : [first, ...others];
}

/** Gives the id of the successor patient; `undefined` if the patient itself is to be validated. */
type SuccessorPatient = (id: string) => string | undefined;

/** Finds or creates the submitted patient; a merged one is replaced by its successor, without issues. */
function submittedPatient(
  patient: Located<Patient>,
  state: ResourceSet,
  successor: SuccessorPatient,
  context: ParticipantContext,
): Submitted {
  const persons = storedPersons(resourcesOfType(state, 'Patient'), patient, context);
  const [known, second] = possiblePatients(persons, context.config);
  const successorId = known?.id && successor(known.id);
  if (successorId) {
    return { reference: `Patient/${successorId}`, entries: [], issues: [] };
  }
  const reference = known ? `Patient/${known.id}` : context.idFor(patient.path);
  const { id: _, meta, ...submitted } = withTrueClaims(patient.value, context.config);
  const ambiguous: Issue = {
    code: 'patient-ambiguous',
    diagnostics: 'Several patients with this identifier were submitted; name the participant as Patient/{id} instead.',
    expression: `${patient.path}.identifier`,
  };
  const profile = artefactUri(context.config, 'LocalPatient');
  const claims = conformsToProfile(patient.value, context.config) ? [profile] : [];
  const created: BundleEntry = {
    fullUrl: reference,
    request: { method: 'POST', url: 'Patient' },
    resource: {
      ...submitted,
      meta: metaOfSubmitted(meta, context.requestor, context.config, claims),
    },
  };
  return {
    reference,
    entries: known ? [] : [created],
    issues: [
      ...(second ? [ambiguous] : []),
      ...(isActivePatient(known ?? patient.value) ? [] : [inactive(patient.path)]),
    ],
  };
}

/** Finds or creates the submitted related person. A stored one must belong to the same patient. */
function submittedRelatedPerson(
  person: Located<RelatedPerson>,
  patient: Reference<Patient> | undefined,
  state: ResourceSet,
  context: ParticipantContext,
): Submitted {
  const known = storedPersons(resourcesOfType(state, 'RelatedPerson'), person, context).find(
    (candidate) => candidate.patient.reference === patient?.reference,
  );
  const reference = known ? `RelatedPerson/${known.id}` : context.idFor(`${person.path} ${patient?.reference}`);
  const { id: _, meta, ...submitted } = person.value;
  const created: BundleEntry = {
    fullUrl: reference,
    request: { method: 'POST', url: 'RelatedPerson' },
    resource: {
      ...submitted,
      patient: patient ?? {},
      meta: metaOfSubmitted(meta, context.requestor, context.config),
    },
  };
  return { reference, entries: known ? [] : [created], issues: [] };
}

/** The issues of participants that name a stored patient: another one than submitted, not visible, or not active. */
function existingPatientIssues(
  { participants, patient }: AppointmentRequest,
  submitted: Submitted | undefined,
  state: ResourceSet,
  successor: SuccessorPatient,
): Issue[] {
  return participants.flatMap(({ actor, path }) => {
    const expression = `${path}.actor`;
    if (actor.kind !== 'patient') {
      return [];
    }
    const successorId = successor(actor.id);
    if (submitted && submitted.reference !== `Patient/${successorId ?? actor.id}`) {
      const diagnostics = `The participant is Patient/${actor.id}, but ${patient?.path} holds another patient.`;
      return [{ code: 'patient-mismatch', diagnostics, expression }];
    }
    const found = findResource(state, 'Patient', actor.id);
    if (successorId) {
      return [];
    }
    if (!found) {
      const diagnostics = `There is no Patient/${actor.id}; create the patient, or send it in the parameter patient.`;
      return [{ code: 'patient-not-found', diagnostics, expression }];
    }
    return submitted || isActivePatient(found) ? [] : [inactive(expression)];
  });
}

/** Adds the submitted persons (`references`) whom no participant names. */
function withMissing(
  participants: readonly AppointmentParticipant[],
  references: readonly (string | undefined)[],
): AppointmentParticipant[] {
  const missing = references.filter(
    (reference) => reference !== undefined && !participants.some(({ actor }) => actor?.reference === reference),
  );
  return [...participants, ...missing.map((reference) => ({ actor: { reference }, status: 'accepted' as const }))];
}

/**
 * Determines the participants of a booking. Existing patients must be visible to the caller and active. A submitted
 * patient or related person is created, or found by an identifier that the same requestor has submitted before.
 * @param state - the resources that the caller may see
 * @param successor - gives the successor of a patient that the clinic has merged
 * @returns the participants with stored references, the entries that create persons, and `patient-not-found`,
 *   `patient-inactive`, `patient-mismatch`, `patient-ambiguous` for each person at fault
 * @see specification sections 2.1, 4.4 and 4.6
 */
export function resolveParticipants(
  request: AppointmentRequest,
  state: ResourceSet,
  successor: SuccessorPatient,
  context: ParticipantContext,
): ResolvedParticipants {
  const { appointment, participants } = request;
  const patient = request.patient && submittedPatient(request.patient, state, successor, context);
  const patientId = (id: string): string => `Patient/${successor(id) ?? id}`;
  const firstNamed = participants.find(({ actor }) => actor.kind === 'patient')?.actor;
  const patientReference =
    patient?.reference ?? (firstNamed?.kind === 'patient' ? patientId(firstNamed.id) : undefined);
  const patientAsReference = patientReference === undefined ? undefined : { reference: patientReference };
  const relatedPerson =
    request.relatedPerson && submittedRelatedPerson(request.relatedPerson, patientAsReference, state, context);
  const stored = (appointment.value.participant ?? []).map((participant, index): AppointmentParticipant => {
    const actor = participants[index]?.actor ?? { kind: 'other' };
    const references = {
      'submitted-patient': patient?.reference,
      'submitted-related-person': relatedPerson?.reference,
      patient: actor.kind === 'patient' ? patientId(actor.id) : undefined,
      other: actor.kind === 'other' ? actor.reference : undefined,
    };
    const reference = references[actor.kind];
    return reference === undefined ? participant : { ...participant, actor: { ...participant.actor, reference } };
  });
  return {
    participants: withMissing(stored, [patient?.reference, relatedPerson?.reference]),
    patient: patientAsReference,
    entries: [...(patient?.entries ?? []), ...(relatedPerson?.entries ?? [])],
    issues: [...(patient?.issues ?? []), ...existingPatientIssues(request, patient, state, successor)],
  };
}

/** All patients of a booking: as they are stored, if the caller may see them, or as they were submitted. */
export function patientsIn(
  { participants, patient }: ResolvedParticipants,
  {
    request,
    state,
    requestor,
    config,
  }: Pick<ParticipantContext, 'requestor' | 'config'> & {
    readonly request: AppointmentRequest;
    readonly state: ResourceSet;
  },
): Patient[] {
  const ids = [...participants.map(({ actor }) => actor), patient].flatMap(
    (reference) => idIn(reference, 'Patient') ?? [],
  );
  const isNew = request.patient && idIn(patient, 'Patient') === undefined;
  const { id: _, ...submitted } = request.patient?.value ?? { resourceType: 'Patient' };
  return [
    ...[...new Set(ids)].map((id) => findResource(state, 'Patient', id) ?? { resourceType: 'Patient' as const, id }),
    ...(isNew ? [{ ...submitted, meta: metaOfSubmitted(undefined, requestor, config) }] : []),
  ];
}
