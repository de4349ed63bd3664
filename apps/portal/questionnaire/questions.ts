import type { Coding, Questionnaire, QuestionnaireItem, QuestionnaireItemEnableWhen } from '@medplum/fhirtypes';
import { listOf, textOf } from '../../../packages/web/elements.ts';
import type { EnableWhen } from './enable-when.ts';

/** The form control of a question. */
export type Control =
  | 'group'
  | 'display'
  | 'boolean'
  | 'decimal'
  | 'integer'
  | 'date'
  | 'dateTime'
  | 'time'
  | 'string'
  | 'text'
  | 'url'
  | 'choice'
  | 'open-choice'
  | 'unsupported';

interface Option {
  readonly label: string;
  readonly answer:
    | { readonly valueCoding: Coding }
    | { readonly valueString: string }
    | { readonly valueInteger: number }
    | { readonly valueDate: string }
    | { readonly valueTime: string };
}

/** A question of the form. */
export interface Question {
  /** Field name, independent of `linkId`, which an invalid Questionnaire may lack or repeat. */
  readonly field: string;
  readonly linkId: string;
  readonly text: string;
  readonly control: Control;
  readonly isRequired: boolean;
  readonly isRepeated: boolean;
  readonly maxLength: number;
  readonly options: readonly Option[];
  readonly enableWhen: EnableWhen;
  readonly questions: readonly Question[];
}

/** The questions of a service. */
export interface QuestionForm {
  /** The value of `QuestionnaireResponse.questionnaire`. */
  readonly canonical: string | undefined;
  readonly title: string | undefined;
  readonly questions: readonly Question[];
}

const controls: readonly string[] = [
  'group',
  'display',
  'boolean',
  'decimal',
  'integer',
  'date',
  'dateTime',
  'time',
  'string',
  'text',
  'url',
  'choice',
  'open-choice',
] satisfies Control[];

/** The rest of a larger Questionnaire is not shown. */
const most = { depth: 6, items: 60, options: 100, length: 4_000 } as const;

function optionsOf({ answerOption }: QuestionnaireItem): Option[] {
  return listOf(answerOption)
    .slice(0, most.options)
    .flatMap(({ valueCoding, valueString, valueInteger, valueDate, valueTime }): Option[] => {
      const label = valueCoding?.display ?? valueCoding?.code;
      if (valueCoding && label) {
        return [{ label, answer: { valueCoding } }];
      }
      if (valueString) {
        return [{ label: valueString, answer: { valueString } }];
      }
      if (valueInteger !== undefined) {
        return [{ label: String(valueInteger), answer: { valueInteger } }];
      }
      if (valueDate) {
        return [{ label: valueDate, answer: { valueDate } }];
      }
      return valueTime ? [{ label: valueTime, answer: { valueTime } }] : [];
    });
}

/** Unknown types, and choices without options, are unsupported. */
function controlOf({ type }: QuestionnaireItem, options: readonly Option[]): Control {
  const control = controls.find((one) => one === type) as Control | undefined;
  return control === undefined || (control === 'choice' && options.length === 0) ? 'unsupported' : control;
}

function conditionValue(condition: QuestionnaireItemEnableWhen, question: Question): string {
  const { answerBoolean, answerDecimal, answerInteger, answerDate, answerDateTime, answerTime, answerString } =
    condition;
  const coding = condition.answerCoding;
  if (coding) {
    const index = question.options.findIndex(
      ({ answer }) =>
        'valueCoding' in answer &&
        answer.valueCoding.code === coding.code &&
        answer.valueCoding.system === coding.system,
    );
    return String(index);
  }
  const value = [
    answerBoolean,
    answerDecimal,
    answerInteger,
    answerDate,
    answerDateTime,
    answerTime,
    answerString,
  ].find((one) => one !== undefined);
  const index = question.options.findIndex(({ label }) => label === value);
  return index >= 0 ? String(index) : String(value);
}

/** Flattens nested questions, in order. */
export function allQuestions(questions: readonly Question[]): Question[] {
  return questions.flatMap((question) => [question, ...allQuestions(question.questions)]);
}

interface Draft {
  readonly item: QuestionnaireItem;
  readonly question: Question;
}

function withConditions(question: Question, drafts: ReadonlyMap<string, Draft>, all: readonly Question[]): Question {
  const item = drafts.get(question.field)?.item;
  const conditions = listOf(item?.enableWhen).flatMap((condition) => {
    const other = all.find(({ linkId }) => linkId === condition.question);
    return other
      ? [{ field: other.field, operator: String(condition.operator), value: conditionValue(condition, other) }]
      : [];
  });
  const behavior = item?.enableBehavior === 'all' ? 'all' : 'any';
  const questions = question.questions.map((inner) => withConditions(inner, drafts, all));
  return { ...question, questions, enableWhen: { conditions, behavior } };
}

/** Reads a Questionnaire. Invalid parts are left out or shown as unsupported. */
export function questionForm(questionnaire: Questionnaire): QuestionForm {
  const drafts = new Map<string, Draft>();
  const read = (items: readonly QuestionnaireItem[] | undefined, prefix: string, depth: number): Question[] =>
    listOf(items).flatMap((item, index) => {
      if (drafts.size >= most.items || depth > most.depth) {
        return [];
      }
      const field = `${prefix}.${index}`;
      const options = optionsOf(item);
      const linkId = textOf(item.linkId) ?? field;
      const question: Question = {
        field,
        linkId,
        text: textOf(item.text) ?? textOf(item.prefix) ?? linkId,
        control: controlOf(item, options),
        isRequired: item.required === true,
        isRepeated: item.repeats === true,
        maxLength: Math.min(
          typeof item.maxLength === 'number' && item.maxLength > 0 ? item.maxLength : most.length,
          most.length,
        ),
        options,
        enableWhen: { conditions: [], behavior: 'all' },
        questions: [],
      };
      drafts.set(field, { item, question });
      return [{ ...question, questions: read(item.item, field, depth + 1) }];
    });
  const questions = read(questionnaire.item, 'q', 1);
  const all = allQuestions(questions);
  const { url, version, id, title } = questionnaire;
  const canonical = url ? `${url}${version ? `|${version}` : ''}` : id && `Questionnaire/${id}`;
  return {
    canonical,
    title: textOf(title),
    questions: questions.map((question) => withConditions(question, drafts, all)),
  };
}
