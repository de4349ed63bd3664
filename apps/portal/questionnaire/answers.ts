import type {
  QuestionnaireResponse,
  QuestionnaireResponseItem,
  QuestionnaireResponseItemAnswer,
} from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isLocalDay } from '../../../core/time/local-day.ts';
import { instantOf } from '../../../core/time/time-zone.ts';
import { html } from '../../../packages/web/html.ts';
import type { FieldProblem } from '../texts/texts.ts';
import type { FormValues } from '../visit/form.ts';
import { isEnabled } from './enable-when.ts';
import type { Control, Question, QuestionForm } from './questions.ts';

/** The answers of a form, and its problems by field. */
export interface FormAnswers {
  readonly items: readonly QuestionnaireResponseItem[];
  readonly problems: ReadonlyMap<string, FieldProblem>;
}

type Parsed = QuestionnaireResponseItemAnswer | FieldProblem;

function numberIn(text: string, pattern: RegExp): number | undefined {
  const plain = text.replace(',', '.');
  return pattern.test(plain) ? Number(plain) : undefined;
}

const parsers: Readonly<Partial<Record<Control, (text: string, question: Question, timeZone: string) => Parsed>>> = {
  boolean: (text) => (text === 'true' || text === 'false' ? { valueBoolean: text === 'true' } : 'choice'),
  decimal: (text) => {
    const valueDecimal = numberIn(text, /^-?\d{1,12}(\.\d{1,6})?$/);
    return valueDecimal === undefined ? 'number' : { valueDecimal };
  },
  integer: (text) => {
    const valueInteger = numberIn(text, /^-?\d{1,9}$/);
    return valueInteger === undefined ? 'number' : { valueInteger };
  },
  date: (text) => {
    const valueDate = isLocalDay(text) ? text : undefined;
    return valueDate === undefined ? 'date' : { valueDate };
  },
  dateTime: (text, _, timeZone) => {
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? Date.parse(`${text}:00Z`) : Number.NaN;
    return Number.isNaN(time) ? 'date' : { valueDateTime: formatInstant(instantOf(timeZone, time)) };
  },
  time: (text) => (/^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? { valueTime: `${text}:00` } : 'time'),
  string: (text) => ({ valueString: text }),
  text: (text) => ({ valueString: text }),
  url: (text) => (/^https?:\/\/\S+$/.test(text) && URL.canParse(text) ? { valueUri: text } : 'url'),
  choice: (text, { options }) => options[Number(text)]?.answer ?? 'choice',
  'open-choice': (text, { options }) => options[Number(text)]?.answer ?? 'choice',
};

/** The field for the free answer of an open choice. */
export const otherField = (field: string): string => `${field}.other`;

function answersTo(question: Question, form: FormValues, timeZone: string): Parsed[] {
  const { field, control, isRepeated, maxLength } = question;
  const values = form.all(field).slice(0, isRepeated ? 100 : 1);
  const other = control === 'open-choice' ? form.get(otherField(field)) : '';
  const own: Parsed[] = other === '' ? [] : [other.length > maxLength ? 'long' : { valueString: other }];
  const parse = parsers[control];
  const parsed = values.map(
    (text): Parsed => (text.length > maxLength ? 'long' : (parse?.(text, question, timeZone) ?? 'choice')),
  );
  return isRepeated ? [...parsed, ...own] : [...own, ...parsed].slice(0, 1);
}

const isAnswered = ({ answer, item }: QuestionnaireResponseItem): boolean =>
  (answer?.length ?? 0) > 0 || (item?.length ?? 0) > 0;

/** Reads the answers of a form. Questions whose condition is not met are left out and not required. */
export function readAnswers({ questions }: QuestionForm, form: FormValues, timeZone: string): FormAnswers {
  const problems = new Map<string, FieldProblem>();
  const applying = new Set<string>();
  const valuesOf = (field: string): readonly string[] => (applying.has(field) ? form.all(field) : []);
  // Conditions may depend only on earlier questions.
  const markApplying = (list: readonly Question[]): void => {
    for (const { field, enableWhen, questions: inner } of list) {
      if (isEnabled(enableWhen, valuesOf)) {
        applying.add(field);
        markApplying(inner);
      }
    }
  };
  markApplying(questions);
  const itemsOf = (list: readonly Question[]): QuestionnaireResponseItem[] =>
    list
      .filter(({ field, control }) => applying.has(field) && control !== 'display' && control !== 'unsupported')
      .map((question): QuestionnaireResponseItem => {
        const { field, linkId, text, control, isRequired } = question;
        const parsed = control === 'group' ? [] : answersTo(question, form, timeZone);
        const problem = parsed.find((one) => typeof one === 'string');
        if (problem !== undefined || (isRequired && parsed.length === 0 && control !== 'group')) {
          problems.set(field, problem ?? 'missing');
        }
        const response = parsed.filter((one) => typeof one !== 'string');
        const inner = itemsOf(question.questions);
        const [first, ...rest] = response;
        // FHIR nests items below the answer of a question, but below the item of a group.
        const nested =
          inner.length > 0 && control !== 'group' && first ? [{ ...first, item: inner }, ...rest] : response;
        return {
          linkId,
          text,
          ...(nested.length > 0 && { answer: nested }),
          ...(control === 'group' && inner.length > 0 && { item: inner }),
        };
      })
      .filter(isAnswered);
  return { items: itemsOf(questions), problems };
}

function wordsOf(response: QuestionnaireResponseItemAnswer, yesNo: readonly [string, string]): string {
  const { valueBoolean, valueCoding, item: _, ...rest } = response;
  if (valueBoolean !== undefined) {
    return yesNo[valueBoolean ? 0 : 1];
  }
  return valueCoding ? (valueCoding.display ?? valueCoding.code ?? '') : String(Object.values(rest)[0] ?? '');
}

function narrative(items: readonly QuestionnaireResponseItem[], yesNo: readonly [string, string]): string {
  const lines = (list: readonly QuestionnaireResponseItem[]): ReturnType<typeof html>[] =>
    list.flatMap(({ text, answer = [], item = [] }) => [
      html`<p><b>${text}</b> ${answer.map((one) => wordsOf(one, yesNo)).join(', ')}</p>`,
      ...lines([...item, ...answer.flatMap((one) => one.item ?? [])]),
    ]);
  return html`<div xmlns="http://www.w3.org/1999/xhtml">${lines(items)}</div>`.text;
}

/** Converts the answers; `undefined` if there are none. `authored` is a FHIR instant. */
export function toQuestionnaireResponse(
  form: QuestionForm,
  { items }: FormAnswers,
  yesNo: readonly [string, string],
  authored: string,
): QuestionnaireResponse | undefined {
  return items.length === 0
    ? undefined
    : {
        resourceType: 'QuestionnaireResponse',
        status: 'completed',
        ...(form.canonical !== undefined && { questionnaire: form.canonical }),
        authored,
        text: { status: 'generated', div: narrative(items, yesNo) },
        item: [...items],
      };
}
