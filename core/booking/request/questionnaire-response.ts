import type {
  QuestionnaireResponse,
  QuestionnaireResponseItem,
  QuestionnaireResponseItemAnswer,
} from '@medplum/fhirtypes';
import { textOf } from '../../fhir/narrative/narrative.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Located } from './parameters.ts';

function hasText(response: QuestionnaireResponse): boolean {
  const div: unknown = response.text?.div;
  return typeof div === 'string' && textOf(div) !== '';
}

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
