import type { Resource } from '@medplum/fhirtypes';

/** A condition of a search that Medplum cannot check. */
export interface ResourceFilter {
  /** The element that it depends on. */
  readonly element: 'useContext' | 'period' | 'extension';
  readonly matches: (resource: Resource) => boolean;
}
