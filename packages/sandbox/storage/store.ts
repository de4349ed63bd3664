import type { ResourceType } from '@medplum/fhirtypes';
import { type Cache, createCache } from './cache.ts';
import type { StoredResource, Version, Write } from './change.ts';

/** Index values; a resource with one of them is found. */
export interface ValueIndex {
  /** Name of the index; each name has one `valuesOf`. */
  readonly name: string;
  readonly valuesOf: (resource: StoredResource) => readonly (string | number)[];
  readonly wanted: readonly (string | number)[];
}

/** All versions of all resources, in memory. Readers name the commit whose state they read. */
export interface Store {
  readonly cache: Cache;
  /** Number of the newest commit; 0 when nothing was ever written. */
  commit(): number;
  /** The newest version at that commit, which may be a deletion. */
  find(type: ResourceType, id: string, at: number): Version | undefined;
  /** All versions at that commit, the newest first. */
  versions(type: ResourceType, id: string, at: number): Version[];
  /** The ids of the resources of a type that satisfy a lookup, or once did. */
  ids(type: ResourceType, lookup: ValueIndex): Set<string>;
  /** An upper bound on the number of ids that `ids` returns, without looking for them. */
  mostIds(type: ResourceType, lookup: ValueIndex): number;
  /**
   * The newest version of every resource of a type at that commit, deletions included; the most recently written comes
   * last.
   *
   * @param ids - if given, only of these resources
   */
  newest(type: ResourceType, at: number, ids?: ReadonlySet<string>): Iterable<Version>;
  /** Puts versions of resources of a type into the order of `newest`. */
  inOrder<T extends Write>(type: ResourceType, versions: readonly T[]): T[];
  /** Makes all writes visible at once. */
  apply(writes: readonly Write[]): void;
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

class Index {
  readonly #ids = new Map<string | number, Set<string>>();
  readonly #valuesOf: ValueIndex['valuesOf'];

  constructor(valuesOf: ValueIndex['valuesOf']) {
    this.#valuesOf = valuesOf;
  }

  add({ id, resource }: Write): void {
    for (const value of resource ? this.#valuesOf(resource) : []) {
      const ids = this.#ids.get(value) ?? new Set();
      this.#ids.set(value, ids.add(id));
    }
  }

  /** An upper bound on the number of ids that `find` returns. */
  most(values: ValueIndex['wanted']): number {
    return values.reduce<number>((sum, value) => sum + (this.#ids.get(value)?.size ?? 0), 0);
  }

  find(values: ValueIndex['wanted']): Set<string> {
    return new Set(values.flatMap((value) => [...(this.#ids.get(value) ?? [])]));
  }
}

class Table {
  readonly rows = new Map<string, Version[]>();
  readonly #written = new Map<string, number>();
  readonly #indexes = new Map<string, Index>();
  #writes = 0;

  add(version: Version): void {
    const versions = this.rows.get(version.id) ?? [];
    // As in PostgreSQL, the most recently written row comes last.
    this.rows.delete(version.id);
    this.rows.set(version.id, versions);
    this.#written.set(version.id, ++this.#writes);
    versions.push(version);
    for (const index of this.#indexes.values()) {
      index.add(version);
    }
  }

  inOrder<T>(items: readonly T[], idOf: (item: T) => string): T[] {
    const orderOf = (item: T): number => this.#written.get(idOf(item)) ?? Number.MAX_SAFE_INTEGER;
    return [...items].sort((one, other) => orderOf(one) - orderOf(other));
  }

  indexOf({ name, valuesOf }: ValueIndex): Index {
    let index = this.#indexes.get(name);
    if (!index) {
      index = new Index(valuesOf);
      for (const version of [...this.rows.values()].flat()) {
        index.add(version);
      }
      this.#indexes.set(name, index);
    }
    return index;
  }
}

/** Creates an empty store. */
export function createStore(now: () => Date): Store {
  const types = new Map<string, Table>();
  let newestCommit = 0;

  const versionsOf = (type: ResourceType, id: string): readonly Version[] => types.get(type)?.rows.get(id) ?? [];

  function tableOf(type: ResourceType): Table {
    const table = types.get(type) ?? new Table();
    types.set(type, table);
    return table;
  }

  function* newest(type: ResourceType, at: number, ids?: ReadonlySet<string>): Iterable<Version> {
    const table = tableOf(type);
    for (const id of ids ? table.inOrder([...ids], (each) => each) : table.rows.keys()) {
      const version = lastUpTo(table.rows.get(id) ?? [], at);
      if (version) {
        yield version;
      }
    }
  }

  return {
    cache: createCache(now),
    commit: () => newestCommit,
    find: (type, id, at) => lastUpTo(versionsOf(type, id), at),
    versions: (type, id, at) =>
      versionsOf(type, id)
        .filter((version) => version.commit <= at)
        .reverse(),
    ids: (type, lookup) => tableOf(type).indexOf(lookup).find(lookup.wanted),
    mostIds: (type, lookup) => tableOf(type).indexOf(lookup).most(lookup.wanted),
    newest,
    inOrder: (type, versions) => tableOf(type).inOrder(versions, ({ id }) => id),
    apply(writes) {
      newestCommit++;
      for (const write of writes) {
        tableOf(write.type).add({ ...write, commit: newestCommit });
      }
    },
    expunge: (type, id) => {
      types.get(type)?.rows.delete(id);
    },
  };
}
