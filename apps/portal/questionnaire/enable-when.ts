/** A condition on another question, with the value as the form holds it. */
interface Condition {
  /** The name of the other question's field. */
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

/** When a question applies: under all of the conditions, or any. */
export interface EnableWhen {
  readonly conditions: readonly Condition[];
  readonly behavior: 'all' | 'any';
}

/** The values of a form's field; none if it is empty or its question does not apply. */
type ValuesOf = (field: string) => readonly string[];

function compare(value: string, other: string): number {
  const [a, b] = [Number(value), Number(other)];
  return Number.isNaN(a) || Number.isNaN(b) ? value.localeCompare(other) : a - b;
}

type Operator = (values: readonly string[], value: string) => boolean;

const some =
  (test: (order: number) => boolean): Operator =>
  (values, value) =>
    values.some((one) => test(compare(one, value)));

/** The operators of `Questionnaire.item.enableWhen`. */
const operators: Readonly<Record<string, Operator>> = {
  exists: (values, value) => values.length > 0 === (value === 'true'),
  '=': some((order) => order === 0),
  '!=': (values, value) => !values.some((one) => compare(one, value) === 0),
  '>': some((order) => order > 0),
  '<': some((order) => order < 0),
  '>=': some((order) => order >= 0),
  '<=': some((order) => order <= 0),
};

/**
 * Whether a question applies, given the answers to others. The browser asks this while patients write, and the server when
 * the form is sent. An unknown operator is not a condition.
 *
 * @see https://hl7.org/fhir/R4/questionnaire-definitions.html#Questionnaire.item.enableWhen
 */
export function isEnabled({ conditions, behavior }: EnableWhen, valuesOf: ValuesOf): boolean {
  const holds = ({ field, operator, value }: Condition): boolean =>
    operators[operator]?.(valuesOf(field), value) ?? true;
  return behavior === 'any' ? conditions.length === 0 || conditions.some(holds) : conditions.every(holds);
}
