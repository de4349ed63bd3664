import type { ResourceType } from '@medplum/fhirtypes';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

/** The resources that a search reads. */
export interface SearchSource extends Pick<UnitOfWork, 'ids' | 'mostIds' | 'newest'> {
  /** Throws 403 for a type that the caller may not search. */
  assertSearchable(type: string): asserts type is ResourceType;
}
