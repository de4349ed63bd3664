import type { ResourceType } from '@medplum/fhirtypes';
import { type Cache, createCache } from './cache.ts';
import type { Version, Write } from './change.ts';

/** All versions of all resources, in memory. A reader names the commit up to which it wants to see. */
export interface Store {
  /** What is not stored at all. */
  readonly cache: Cache;
  /** Number of the newest commit; 0 when nothing was ever written. */
  commit(): number;
  /** The newest version at that commit, which may be a deletion. */
  find(type: ResourceType, id: string, at: number): Version | undefined;
  /** All versions at that commit, the newest first. */
  versions(type: ResourceType, id: string, at: number): Version[];
  /** The newest version of every resource of a type at that commit, what was written last comes last; deletions included. */
  newest(type: ResourceType, at: number): Iterable<Version>;
  /** Makes writes visible, all at once. */
  apply(writes: readonly Write[]): void;
  /** Forgets a resource with all its versions. */
  expunge(type: ResourceType, id: string): void;
}

function lastUpTo(versions: readonly Version[], at: number): Version | undefined {
  for (let index = versions.length - 1; index >= 0; index--) {
    const version = versions[index];
    if (version && version.commit <= at) {
      return version;
    }
  }
  return undefined;
}

/**
 * Creates an empty store.
 *
 * @param now - the time
 */
export function createStore(now: () => Date): Store {
  const types = new Map<string, Map<string, Version[]>>();
  let newestCommit = 0;

  function* newest(type: ResourceType, at: number): Iterable<Version> {
    for (const versions of types.get(type)?.values() ?? []) {
      const version = lastUpTo(versions, at);
      if (version) {
        yield version;
      }
    }
  }

  function add(write: Write): void {
    const resources = types.get(write.type) ?? new Map<string, Version[]>();
    types.set(write.type, resources);
    const versions = resources.get(write.id) ?? [];
    // What was written last comes last, as rows do in PostgreSQL.
    resources.delete(write.id);
    resources.set(write.id, versions);
    versions.push({ ...write, commit: newestCommit });
  }

  return {
    cache: createCache(now),
    commit: () => newestCommit,
    find: (type, id, at) => lastUpTo(types.get(type)?.get(id) ?? [], at),
    versions: (type, id, at) => (types.get(type)?.get(id) ?? []).filter((version) => version.commit <= at).reverse(),
    newest,
    apply(writes) {
      newestCommit++;
      for (const write of writes) {
        add(write);
      }
    },
    expunge: (type, id) => {
      types.get(type)?.delete(id);
    },
  };
}
