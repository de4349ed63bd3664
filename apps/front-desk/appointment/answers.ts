import type { QuestionnaireResponse, QuestionnaireResponseItem } from '@medplum/fhirtypes';
import { isObject } from '../../../core/fhir/resource.ts';
import { conceptText } from './people.ts';

interface YesAndNo {
  readonly yes: string;
  readonly no: string;
}

interface Answered {
  readonly question: string;
  readonly answers: readonly string[];
  /** Depth of nesting below other questions. */
  readonly level: number;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Every type of answer becomes plain text, never markup. */
function valueText(answer: unknown, { yes, no }: YesAndNo): string {
  if (!isObject(answer)) {
    return '';
  }
  const [name = '', value] = Object.entries(answer).find(([key]) => key.startsWith('value')) ?? [];
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value);
  }
  if (typeof value === 'boolean') {
    return value ? yes : no;
  }
  if (!isObject(value)) {
    return '';
  }
  if (name === 'valueCoding') {
    return conceptText({ coding: [value] });
  }
  if (name === 'valueQuantity') {
    return `${value.value ?? ''} ${value.unit ?? value.code ?? ''}`.trim();
  }
  return String(value.display ?? value.title ?? value.reference ?? value.url ?? '');
}

/** Limit of nesting; real forms are not nested deeper. */
const MAX_DEPTH = 10;

function answered(item: unknown, level: number, words: YesAndNo): Answered[] {
  if (!isObject(item) || level > MAX_DEPTH) {
    return [];
  }
  const { text, linkId, answer }: Partial<Record<keyof QuestionnaireResponseItem, unknown>> = item;
  const answers = list(answer);
  const below = [...list(item.item), ...answers.flatMap((one) => (isObject(one) ? list(one.item) : []))];
  const question = typeof text === 'string' ? text : String(linkId ?? '');
  return [
    { question, answers: answers.map((one) => valueText(one, words)).filter(Boolean), level },
    ...below.flatMap((one) => answered(one, level + 1, words)),
  ];
}

/** The questions and answers of a response in their order. Nested questions follow their parent. */
export const answersOf = ({ item }: QuestionnaireResponse, words: YesAndNo): Answered[] =>
  list(item).flatMap((one) => answered(one, 0, words));
