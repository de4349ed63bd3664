import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { parseReference } from '../../fhir/reference.ts';
import { findResource, type ResourceSet } from '../../rows/resource-set.ts';

/** The answers that an appointment refers to: their ids, with the FHIRPath of each reference. */
export function answersReferredTo(
  { supportingInformation }: Pick<Appointment, 'supportingInformation'>,
  baseUrl: string,
  path = 'Appointment',
): { readonly id: string; readonly path: string }[] {
  return (Array.isArray(supportingInformation) ? supportingInformation : []).flatMap((reference, index) => {
    const read = parseReference(reference?.reference, baseUrl, ['QuestionnaireResponse']);
    return read ? [{ id: read.id, path: `${path}.supportingInformation[${index}]` }] : [];
  });
}

/**
 * Checks that a caller may read the answers that it attaches to an appointment, so that no appointment refers to the answers
 * of another patient.
 *
 * @param referred - as `answersReferredTo` gives them
 * @param state - what the caller may see
 * @returns a `profile-violation` for each reference to answers that the caller cannot see
 */
export function unreadableResponseIssues(referred: ReturnType<typeof answersReferredTo>, state: ResourceSet): Issue[] {
  return referred
    .filter(({ id }) => !findResource(state, 'QuestionnaireResponse', id))
    .map(({ id, path }) => ({
      code: 'profile-violation',
      diagnostics: `There is no QuestionnaireResponse/${id} that you may attach; send the answers in the parameter patientSubmittedInformation.`,
      expression: path,
    }));
}
