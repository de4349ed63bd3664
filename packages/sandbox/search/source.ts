import type { ResourceType } from '@medplum/fhirtypes';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

/** What a search reads from. */
export interface SearchSource extends Pick<UnitOfWork, 'ids' | 'mostIds' | 'newest'> {
  /** Refuses a search that passes through a type that the caller may not search (403). */
  assertSearchable(type: string): asserts type is ResourceType;
}
