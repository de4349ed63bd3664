interface Condition {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

/** The conditions of a question, of which all or any must hold. */
export interface EnableWhen {
  readonly conditions: readonly Condition[];
  readonly behavior: 'all' | 'any';
}

/** Returns the values of a field; none if its question does not apply. */
type ValuesOf = (field: string) => readonly string[];

function compare(value: string, other: string): number {
  const [a, b] = [Number(value), Number(other)];
  return Number.isNaN(a) || Number.isNaN(b) ? Number(value > other) - Number(value < other) : a - b;
}

type Operator = (values: readonly string[], value: string) => boolean;

const some =
  (test: (order: number) => boolean): Operator =>
  (values, value) =>
    values.some((one) => test(compare(one, value)));

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
 * Whether the conditions of a question hold. Used by the browser and the server. An unknown operator counts as met.
 *
 * @see https://hl7.org/fhir/R4/questionnaire-definitions.html#Questionnaire.item.enableWhen
 */
export function isEnabled({ conditions, behavior }: EnableWhen, valuesOf: ValuesOf): boolean {
  const holds = ({ field, operator, value }: Condition): boolean =>
    operators[operator]?.(valuesOf(field), value) ?? true;
  return behavior === 'any' ? conditions.length === 0 || conditions.some(holds) : conditions.every(holds);
}
