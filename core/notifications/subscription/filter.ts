import type { Appointment } from '@medplum/fhirtypes';
import { type Issue, quoted } from '../../fhir/outcome/outcome.ts';
import { parseReference, storedReference } from '../../fhir/reference.ts';
import { isObject } from '../../fhir/resource.ts';

/** One condition of a filter: one of its values must match. */
export interface Condition {
  readonly name: FilterName;
  readonly values: readonly string[];
}

interface FilterParameter {
  /** The resource types of a reference; absent for codes. */
  readonly targets?: readonly ('Patient' | 'Practitioner' | 'PractitionerRole' | 'HealthcareService' | 'Location')[];
  readonly of: (appointment: Appointment) => readonly (string | undefined)[];
}

const actors = ({ participant }: Appointment) => (participant ?? []).map(({ actor }) => actor?.reference);

/** The search parameters of Appointment that filters support. */
const filterParameters = {
  status: { of: ({ status }) => [status] },
  actor: { targets: ['Patient', 'Practitioner', 'PractitionerRole', 'HealthcareService', 'Location'], of: actors },
  patient: { targets: ['Patient'], of: actors },
} as const satisfies Record<string, FilterParameter>;

type FilterName = keyof typeof filterParameters;

const names = Object.keys(filterParameters) as readonly FilterName[];

/** A value in stored form, `undefined` if it is invalid. If only one type is possible, an id suffices. */
function readValue(name: FilterName, text: string, baseUrl: string): string | undefined {
  const { targets }: FilterParameter = filterParameters[name];
  if (!targets) {
    return /^[a-z-]+$/.test(text) ? text : undefined;
  }
  const [only, ...others] = targets;
  const complete = only && others.length === 0 && !text.includes('/') ? `${only}/${text}` : text;
  const reference = parseReference(complete, baseUrl, targets);
  return reference && `${reference.type}/${reference.id}`;
}

/** Reads one condition, or returns a sentence about why it is invalid. */
function readCondition([sent, text]: [string, string], baseUrl: string): Condition | string {
  const name = names.find((candidate) => candidate === sent);
  if (!name) {
    return `There is no filter ${quoted(sent)}. Supported: ${names.join(', ')}.`;
  }
  const read = text.split(',').map((value) => readValue(name, value, baseUrl));
  const values = read.flatMap((value) => value ?? []);
  return values.length === read.length ? { name, values } : `${quoted(text)} is not a value of the filter '${name}'.`;
}

const MAX_FILTER_LENGTH = 4_000;

/**
 * Reads the text of a `backport-filter-criteria`, for example `Appointment?status=booked,cancelled&patient=Patient/1`.
 * @param expression - FHIRPath of the element, for the issue
 * @returns the conditions, all of which must be met, or the issue
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/StructureDefinition-backport-filter-criteria.html
 */
export function parseFilter(text: unknown, expression: string, baseUrl: string): readonly Condition[] | Issue {
  const issue = (diagnostics: string): Issue => ({ code: 'filter-unsupported', diagnostics, expression });
  if (typeof text === 'string' && text.length > MAX_FILTER_LENGTH) {
    return issue(`A filter can have at most ${MAX_FILTER_LENGTH} characters.`);
  }
  const query = typeof text === 'string' ? /^Appointment\?(.+)$/.exec(text.trim())?.[1] : undefined;
  if (!query) {
    return issue(`A filter must have the form Appointment?name=value. Supported names: ${names.join(', ')}.`);
  }
  const read = [...new URLSearchParams(query)].map((parameter) => readCondition(parameter, baseUrl));
  const conditions = read.flatMap((condition) => (typeof condition === 'string' ? [] : condition));
  const wrong = read.find((condition) => typeof condition === 'string');
  return wrong === undefined ? conditions : issue(wrong);
}

/**
 * The valid filters of a Subscription in stored form: relative references, so that they stay valid if the service's
 * address changes. No filter becomes longer, and so too long to be read.
 */
export function storedFilters(criteria: unknown, baseUrl: string): unknown {
  const textOf = (sent: unknown): unknown => {
    const [type, query] = typeof sent === 'string' ? sent.trim().split('?', 2) : [];
    const values = (text: string): string =>
      text
        .split(',')
        .map((one) => storedReference(one, baseUrl))
        .join(',');
    const read = [...new URLSearchParams(query)].map(([name, text]) => `${name}=${values(text)}`);
    return query === undefined ? sent : `${type}?${read.join('&')}`;
  };
  return isObject(criteria) && Array.isArray(criteria.extension)
    ? { ...criteria, extension: criteria.extension.map((one) => ({ ...one, valueString: textOf(one.valueString) })) }
    : criteria;
}

/** Returns the patients that were merged into one, as references; empty for other resources. */
export type FormerOf = (reference: string) => readonly string[];

/**
 * Whether an appointment meets all conditions. A filter for a merged patient also matches its successor (`formerOf`).
 */
export function matchesFilter(
  appointment: Appointment,
  conditions: readonly Condition[],
  formerOf: FormerOf = () => [],
): boolean {
  return conditions.every(({ name, values }) =>
    filterParameters[name]
      .of(appointment)
      .some((value) => value !== undefined && [value, ...formerOf(value)].some((one) => values.includes(one))),
  );
}
