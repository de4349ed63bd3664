import { evalFhirPath } from '@medplum/core';
import type { Bundle, ResourceType } from '@medplum/fhirtypes';
import type { KitResponse } from './client.ts';
import { isObject, isResource } from './resource.ts';
import { type Data, fillText } from './template.ts';

/** An expectation of a response. */
export interface Expectation {
  /** Description or FHIRPath, with placeholders. */
  readonly says: string;
  readonly holds: (response: KitResponse, data: Data) => boolean;
}

export const status = (...wanted: readonly number[]): Expectation => ({
  says: `status ${wanted.join(' or ')}`,
  holds: (response) => wanted.includes(response.status),
});

export const success: Expectation = {
  says: 'status 2xx',
  holds: (response) => Math.trunc(response.status / 100) === 2,
};

/** Statuses that do not judge the content of a request, but its sender, format or rate. */
const OF_THE_SENDER = [401, 405, 406, 415, 429];

/** The request was refused because of its content. */
export const refusal: Expectation = {
  says: `status 4xx, but not ${OF_THE_SENDER.join(', ')}`,
  holds: ({ status: code }) => Math.trunc(code / 100) === 4 && !OF_THE_SENDER.includes(code),
};

export const resource = (type: ResourceType): Expectation => ({
  says: `a resource of type ${type}`,
  holds: (response) => isResource(response.resource, type),
});

const quotable = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll("'", "\\'");

const holdsFor = (expression: string, one: object, data: Data): boolean =>
  evalFhirPath(fillText(expression, data, quotable), one)[0] === true;

/** A FHIRPath expression holds for the resource of the response. */
export const that = (expression: string): Expectation => ({
  says: expression,
  holds: ({ resource: answered }, data) => isObject(answered) && holdsFor(expression, answered, data),
});

export const header = (name: string, pattern: RegExp): Expectation => ({
  says: `header ${name} like ${pattern.source}`,
  holds: (response) => pattern.test(response.header[name.toLowerCase()] ?? ''),
});

/** The body is an OperationOutcome whose issues have severity and code. */
export const codedOutcome: Expectation = {
  says: 'an OperationOutcome whose issues have a code',
  holds: ({ resource: outcome }) =>
    isResource(outcome, 'OperationOutcome') &&
    outcome.issue.length > 0 &&
    outcome.issue.every(({ severity, code }) => severity && code),
};

/** Returns the resources of one type in a searchset. */
export function matchesIn(response: KitResponse, type: ResourceType) {
  const { entry = [] }: Bundle = isResource(response.resource, 'Bundle')
    ? response.resource
    : { resourceType: 'Bundle', type: 'searchset' };
  return entry.flatMap((one) => (one.resource?.resourceType === type ? [one.resource] : []));
}

/** The body is a searchset with resources of a type, which all satisfy a FHIRPath expression. */
export const findsOnly = (type: ResourceType, expression: string): readonly Expectation[] => [
  status(200),
  that("type = 'searchset'"),
  { says: `finds resources of type ${type}`, holds: (response) => matchesIn(response, type).length > 0 },
  {
    says: `every ${type}: ${expression}`,
    holds: (response, data) => matchesIn(response, type).every((one) => holdsFor(expression, one, data)),
  },
];

/** The body is a searchset that contains a resource. */
export const has = (placeholder: string): Expectation => ({
  says: `finds ${placeholder}`,
  holds: (response, data) => isIn(response, fillText(placeholder, data)),
});

/** The body is a Bundle that does not contain a resource. */
export const hasNot = (placeholder: string): Expectation => ({
  says: `does not find ${placeholder}`,
  holds: (response, data) => isResource(response.resource, 'Bundle') && !isIn(response, fillText(placeholder, data)),
});

function isIn({ resource: bundle }: KitResponse, reference: string): boolean {
  const entries = isResource(bundle, 'Bundle') ? (bundle.entry ?? []) : [];
  return entries.some(({ resource: one }) => `${one?.resourceType}/${one?.id}` === reference);
}

/** FHIRPath: an element has a canonical URL, with or without a version. */
export const names = (element: string, placeholder: string): string =>
  `${element}.where($this = '${placeholder}' or $this.startsWith('${placeholder}|')).exists()`;

/** FHIRPath on an element `reference`: it refers to a resource, ignoring the server's address and the version. */
export const leadsTo = (placeholder: string): string => `reference.matches('(^|/)${placeholder}(/_history/.+)?$')`;
