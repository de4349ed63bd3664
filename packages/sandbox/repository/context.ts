import { badRequest, OperationOutcomeError } from '@medplum/core';
import { assertResourceType, assertSupports } from '../access/permissions.ts';
import type { Caller, Platform } from '../platform.ts';
import type { SearchSource } from '../search/source.ts';
import type { UnitOfWork } from '../storage/unit-of-work.ts';

/** On whose behalf and in which unit of work the repository reads and writes. */
export interface RepositoryContext {
  readonly platform: Platform;
  readonly caller: Caller;
  readonly unit: UnitOfWork;
}

/** What searches of this caller read from. */
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
