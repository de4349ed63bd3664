import {
  badRequest,
  createReference,
  isReference,
  OperationOutcomeError,
  parseSearchRequest,
  type SearchRequest,
} from '@medplum/core';
import type { Reference, Resource } from '@medplum/fhirtypes';

type Search = (request: SearchRequest) => Promise<readonly Resource[]>;

async function resolve(reference: string, path: string, search: Search): Promise<Reference> {
  const found = await search({ ...parseSearchRequest(reference), count: 2, sortRules: undefined });
  const [only, ...others] = found;
  if (!only || others.length > 0) {
    const problem = only ? 'matched multiple' : 'did not match any';
    throw new OperationOutcomeError(badRequest(`Conditional reference '${reference}' ${problem} resources`, path));
  }
  return createReference(only);
}

async function inValue(value: unknown, path: string, search: Search): Promise<unknown> {
  if (Array.isArray(value)) {
    return Promise.all(
      value.map((item, index) => inValue(item, isReference(item) ? `${path}[${index}]` : path, search)),
    );
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (isReference(value) && value.reference.includes('?')) {
    return resolve(value.reference, path, search);
  }
  const entries = Object.entries(value).map(async ([name, inner]) => [
    name,
    await inValue(inner, `${path}.${name}`, search),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * Replaces conditional references (`Patient?identifier=…`) with literal ones and the display name of their target.
 *
 * @throws OperationOutcomeError (400) if a search finds no resource, or more than one
 * @see https://hl7.org/fhir/R4/http.html#trules
 */
export async function resolveConditionalReferences<T extends Resource>(resource: T, search: Search): Promise<T> {
  const mayHaveOne = /"reference":"[^"]*\?/.test(JSON.stringify(resource));
  return mayHaveOne ? Object.assign({ ...resource }, await inValue(resource, resource.resourceType, search)) : resource;
}
