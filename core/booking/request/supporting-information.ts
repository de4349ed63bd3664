import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { parseReference } from '../../fhir/reference.ts';
import { findResource, type ResourceSet } from '../../rows/resource-set.ts';

/** The ids of the QuestionnaireResponses to which an appointment refers, with the FHIRPath of each reference. */
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
 * Checks that a caller may read the QuestionnaireResponses that it attaches to an appointment. No appointment may refer
 * to another patient's.
 * @param referred - the results of `answersReferredTo`
 * @param state - the resources that the caller may see
 * @returns a `profile-violation` for each reference that the caller cannot read
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
