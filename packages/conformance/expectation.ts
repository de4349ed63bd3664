import { evalFhirPath } from '@medplum/core';
import type { Bundle, ResourceType } from '@medplum/fhirtypes';
import type { KitResponse } from './client.ts';
import { isObject, isResource } from './resource.ts';
import { type Data, fillText } from './template.ts';

/** Something that an answer has to satisfy. */
export interface Expectation {
  /** In words, or as FHIRPath; with placeholders. */
  readonly says: string;
  readonly holds: (response: KitResponse, data: Data) => boolean;
}

/** The status is one of these. */
export const status = (...wanted: readonly number[]): Expectation => ({
  says: `status ${wanted.join(' or ')}`,
  holds: (response) => wanted.includes(response.status),
});

/** The request was carried out. */
export const success: Expectation = {
  says: 'status 2xx',
  holds: (response) => Math.trunc(response.status / 100) === 2,
};

/** What is no judgement of what was sent: who sends it, how, or how often. */
const OF_THE_SENDER = [401, 405, 406, 415, 429];

/** The request was refused. */
export const refusal: Expectation = {
  says: `status 4xx, but not ${OF_THE_SENDER.join(', ')}`,
  holds: ({ status: code }) => Math.trunc(code / 100) === 4 && !OF_THE_SENDER.includes(code),
};

/** The body is a resource of this type. */
export const resource = (type: ResourceType): Expectation => ({
  says: `a resource of type ${type}`,
  holds: (response) => isResource(response.resource, type),
});

/** A value, escaped for a FHIRPath string. */
const quotable = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll("'", "\\'");

const holdsFor = (expression: string, one: object, data: Data): boolean =>
  evalFhirPath(fillText(expression, data, quotable), one)[0] === true;

/** A FHIRPath expression holds for the resource that was answered. */
export const that = (expression: string): Expectation => ({
  says: expression,
  holds: ({ resource: answered }, data) => isObject(answered) && holdsFor(expression, answered, data),
});

/** A header of the answer fits a pattern. */
export const header = (name: string, pattern: RegExp): Expectation => ({
  says: `header ${name} like ${pattern.source}`,
  holds: (response) => pattern.test(response.header[name.toLowerCase()] ?? ''),
});

/** An OperationOutcome describes the error in coded form. */
export const codedOutcome: Expectation = {
  says: 'an OperationOutcome whose issues have a code',
  holds: ({ resource: outcome }) =>
    isResource(outcome, 'OperationOutcome') &&
    outcome.issue.length > 0 &&
    outcome.issue.every(({ severity, code }) => severity && code),
};

/** Resources of one type in a searchset; what was included does not count. */
export function matchesIn(response: KitResponse, type: ResourceType) {
  const { entry = [] }: Bundle = isResource(response.resource, 'Bundle')
    ? response.resource
    : { resourceType: 'Bundle', type: 'searchset' };
  return entry.flatMap((one) => (one.resource?.resourceType === type ? [one.resource] : []));
}

/** A searchset that has resources of a type, each of which satisfies an expression (FHIRPath). */
export const findsOnly = (type: ResourceType, expression: string): readonly Expectation[] => [
  status(200),
  that("type = 'searchset'"),
  { says: `finds resources of type ${type}`, holds: (response) => matchesIn(response, type).length > 0 },
  {
    says: `every ${type}: ${expression}`,
    holds: (response, data) => matchesIn(response, type).every((one) => holdsFor(expression, one, data)),
  },
];

/** A searchset that contains a resource. */
export const has = (placeholder: string): Expectation => ({
  says: `finds ${placeholder}`,
  holds: (response, data) => isIn(response, fillText(placeholder, data)),
});

/** A searchset that does not contain a resource. */
export const hasNot = (placeholder: string): Expectation => ({
  says: `does not find ${placeholder}`,
  holds: (response, data) => isResource(response.resource, 'Bundle') && !isIn(response, fillText(placeholder, data)),
});

function isIn({ resource: bundle }: KitResponse, reference: string): boolean {
  const entries = isResource(bundle, 'Bundle') ? (bundle.entry ?? []) : [];
  return entries.some(({ resource: one }) => `${one?.resourceType}/${one?.id}` === reference);
}

/** That an element has a canonical address, with or without a version (FHIRPath). */
export const names = (element: string, placeholder: string): string =>
  `${element}.where($this = '${placeholder}' or $this.startsWith('${placeholder}|')).exists()`;

/** That a reference leads to a resource, whatever its address and version (FHIRPath on an element `reference`). */
export const leadsTo = (placeholder: string): string => `reference.matches('(^|/)${placeholder}(/_history/.+)?$')`;
