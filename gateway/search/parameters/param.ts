import type { Resource } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import type { SearchedPeriod } from './parameters.ts';

/** A search parameter as in a query: `name` includes its modifier or chain. */
export interface SearchParam {
  readonly name: string;
  readonly value: string;
}

/** An issue about a search parameter. No element is at fault, so the expression is the name of the parameter. */
export function searchIssue(name: string, diagnostics: string): Issue {
  return { code: 'malformed-request', diagnostics, expression: `http.${name}` };
}

/** Whether reading a parameter ended in an issue. */
export function isIssue<T extends object>(result: T | Issue): result is Issue {
  return 'code' in result && 'diagnostics' in result;
}

/** A condition of a search that Medplum cannot check. */
export interface ResourceFilter {
  /** The element that it depends on. */
  readonly element: 'useContext' | 'extension' | SearchedPeriod['element'];
  readonly matches: (resource: Resource) => boolean;
}
