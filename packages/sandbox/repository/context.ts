import { badRequest, OperationOutcomeError } from '@medplum/core';
import { assertResourceType, assertSupports } from '../access/permissions.ts';
import type { Caller, Platform } from '../platform.ts';
import type { SearchSource } from '../search/source.ts';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

/** The caller and the unit of work of a repository. */
export interface RepositoryContext {
  readonly platform: Platform;
  readonly caller: Caller;
  readonly unit: UnitOfWork;
}

/** The source of a caller's searches. */
export function searchSource({ caller, unit }: RepositoryContext): SearchSource {
  return {
    ids: unit.ids,
    mostIds: unit.mostIds,
    newest: (type, ids) => unit.newest(type, ids),
    assertSearchable(type) {
      assertResourceType(type);
      if (type === 'Binary') {
        throw new OperationOutcomeError(badRequest('Cannot search on Binary resource type'));
      }
      assertSupports(caller, 'search', type);
    },
  };
}
