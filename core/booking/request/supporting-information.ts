import type {
  Appointment,
  QuestionnaireResponse,
  QuestionnaireResponseItem,
  QuestionnaireResponseItemAnswer,
} from '@medplum/fhirtypes';
import { textOf } from '../../fhir/narrative/narrative.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { parseReference } from '../../fhir/reference.ts';
import { findResource, type ResourceSet } from '../../rows/resource-set.ts';
import type { Located } from './parameters.ts';

function hasText(response: QuestionnaireResponse): boolean {
  const div: unknown = response.text?.div;
  return typeof div === 'string' && textOf(div) !== '';
}

/** The paths of items, at any depth, without their question in `text`. */
function untitledItems(items: readonly QuestionnaireResponseItem[] | undefined, path: string): string[] {
  return (Array.isArray(items) ? items : []).flatMap((item, index) => {
    const itemPath = `${path}.item[${index}]`;
    const responses: readonly QuestionnaireResponseItemAnswer[] = Array.isArray(item?.answer) ? item.answer : [];
    return [
      ...(typeof item?.text === 'string' && item.text.trim() !== '' ? [] : [itemPath]),
      ...untitledItems(item?.item, itemPath),
      ...responses.flatMap((response, position) => untitledItems(response?.item, `${itemPath}.answer[${position}]`)),
    ];
  });
}

/**
 * Checks the answers that a patient submits: they must be readable without the Questionnaire.
 * @returns `answers-text-missing` if there is nothing to display, `answers-items-missing` if there are no items, and
 *   for each item, at any depth, without its question
 * @see specification 2.3
 */
export function questionnaireResponseIssues({ value, path }: Located<QuestionnaireResponse>): Issue[] {
  const issues: Issue[] = [];
  if (!hasText(value)) {
    issues.push({
      code: 'answers-text-missing',
      diagnostics: 'QuestionnaireResponse.text must contain the questions and answers as readable text.',
      expression: `${path}.text`,
    });
  }
  const untitled = value.item === undefined ? [path] : untitledItems(value.item, path);
  issues.push(
    ...untitled.map((itemPath): Issue => {
      const element = itemPath === path ? 'item' : 'text';
      return {
        code: 'answers-items-missing',
        diagnostics: 'Every item must have its question in text.',
        expression: `${itemPath}.${element}`,
      };
    }),
  );
  return issues;
}

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
