import type { Appointment, Patient, RelatedPerson, Resource } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { formatReference } from '../../fhir/reference.ts';
import { parseActor } from '../appointment/actors.ts';
import type { Located } from './parameters.ts';

/**
 * The actor of a submitted participant: the patient or the related person submitted in the same request, an existing
 * patient, or any other actor.
 */
type Actor =
  | { readonly kind: 'submitted-patient' }
  | { readonly kind: 'submitted-related-person' }
  | { readonly kind: 'patient'; readonly id: string }
  | { readonly kind: 'other'; readonly reference?: string };

/** A submitted participant, with its FHIRPath. */
export interface Participant {
  readonly path: string;
  readonly actor: Actor;
}

/** The persons that a request submits with the appointment. */
export interface SubmittedPersons {
  readonly patient?: Located<Patient> | undefined;
  /**
   * Whether the request submits further patients for its other appointments. Then a participant must refer to one by
   * its id.
   */
  readonly isOneOfSeveral?: boolean;
  readonly relatedPerson?: Located<RelatedPerson> | undefined;
}

/** The id in a reference to a resource of the same request, or to a stored one. */
export const localId = (reference: string | undefined): string | undefined =>
  localPattern.exec(reference ?? '')?.groups?.id ?? reference?.split('/').at(-1);

const localPattern = /^(?:#|urn:uuid:|urn:oid:)(?<id>.+)$/;

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
