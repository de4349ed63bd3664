import { conflict, OperationOutcomeError, type WithId } from '@medplum/core';
import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import { type Change, isCacheOnly, type Version, type Write } from './change.ts';
import type { Store, ValueIndex } from './store.ts';

/** Makes changes durable, and all of them visible at once. */
export type Commit = (changes: readonly Change[], stillValid: () => void) => Promise<void>;

/** Starts the jobs of a change before it is committed. */
export type Announce = (change: Change) => Promise<void>;

/** Reads and writes of one caller, with or without a transaction. */
export interface UnitOfWork {
  readonly isTransaction: boolean;
  find(type: ResourceType, id: string): Write | undefined;
  /** A resource that is kept in memory only. As in Medplum, a transaction does not see it. */
  cached(type: ResourceType, id: string): Write | undefined;
  /** All versions, the newest first. */
  versions(type: ResourceType, id: string): Write[];
  /** The ids of the committed resources of a type that satisfy a lookup, or once did. */
  ids(type: ResourceType, lookup: ValueIndex): Set<string>;
  /** An upper bound on the number of ids that `ids` returns, without looking for them. */
  mostIds(type: ResourceType, lookup: ValueIndex): number;
  /**
   * The newest version of every resource of a type; deletions included.
   *
   * @param ids - if given, only of these resources and of those written in this unit of work
   */
  newest(type: ResourceType, ids?: ReadonlySet<string>): Iterable<Write>;
  write(change: Change): Promise<void>;
  /** Checks the condition of an earlier read again before the transaction commits (serializable isolation). */
  guard(stillTrue: (current: UnitOfWork) => Promise<boolean>): void;
}

/** A unit of work that can be committed, and whose latest writes can be undone. */
export interface Transaction extends UnitOfWork {
  commit(): Promise<void>;
  /** Marks a point to which `rollback` returns (SAVEPOINT). */
  savepoint(): number;
  rollback(savepoint: number): void;
}

type Stored<T extends ResourceType> = WithId<ExtractResource<T>>;

/** The current version of a resource; `undefined` if it is unknown or deleted. */
export const resourceOf = <T extends ResourceType>(unit: Pick<UnitOfWork, 'find'>, type: T, id: string | undefined) =>
  unit.find(type, id ?? '')?.resource as Stored<T> | undefined;

/** The current versions of all resources of a type. */
export const resourcesOf = <T extends ResourceType>(unit: Pick<UnitOfWork, 'newest'>, type: T) =>
  [...unit.newest(type)].flatMap(({ resource }) => resource ?? []) as Stored<T>[];

const serializationFailure = '40001';

/** PostgreSQL's serialization failure in Medplum's form: 409. */
function serializationConflict(): OperationOutcomeError {
  return new OperationOutcomeError(
    conflict('could not serialize access due to concurrent update', serializationFailure),
  );
}

/** Whether Medplum runs a transaction a second time after an error. */
export function isSerializationConflict(error: unknown): boolean {
  return (
    error instanceof OperationOutcomeError &&
    error.outcome.issue.some((issue) => issue.details?.coding?.some(({ code }) => code === serializationFailure))
  );
}

/** Reads and writes without a transaction: everything committed is visible, and each write is a separate commit. */
export function directUnit(store: Store, commit: Commit): UnitOfWork {
  const now = Number.POSITIVE_INFINITY;
  return {
    isTransaction: false,
    find: (type, id) => store.find(type, id, now),
    cached: (type, id) => store.cache.find(type, id),
    versions: (type, id) => store.versions(type, id, now),
    ids: store.ids,
    mostIds: store.mostIds,
    newest: (type, ids) => store.newest(type, now, ids),
    write: (change) => commit([change], () => undefined),
    guard: () => undefined,
  };
}

function key(type: string, id: string): string {
  return `${type}/${id}`;
}

/**
 * Begins a transaction at PostgreSQL's REPEATABLE READ. It sees its own writes and everything committed before it
 * began. It fails as soon as it writes a resource that another transaction has committed in the meantime.
 *
 * @param announce - called at once for each deletion: as in Medplum, its jobs do not wait for the commit
 */
export function beginTransaction(store: Store, commit: Commit, announce: Announce): Transaction {
  const snapshot = store.commit();
  const changes: Change[] = [];
  const guards: ((current: UnitOfWork) => Promise<boolean>)[] = [];
  let staged = new Map<string, Write[]>();

  function stage(change: Change): void {
    const { write } = change;
    if (isCacheOnly(change)) {
      return;
    }
    const own = staged.get(key(write.type, write.id));
    staged.set(key(write.type, write.id), own ? [write, ...own] : [write]);
  }

  function failIfTaken(type: ResourceType, id: string): void {
    const committed: Version | undefined = store.find(type, id, Number.POSITIVE_INFINITY);
    if (committed && committed.commit > snapshot) {
      throw serializationConflict();
    }
  }

  /** Writes of this transaction replace earlier versions, or come last. */
  function newest(type: ResourceType, ids?: ReadonlySet<string>): Write[] {
    const found = new Map<string, Write>();
    for (const version of store.newest(type, snapshot, ids)) {
      found.set(version.id, version);
    }
    const own = [...staged.values()].flatMap(([write]) => (write?.type === type ? [write] : []));
    const isUnordered = own.some(({ id }) => !found.has(id));
    for (const write of own) {
      found.set(write.id, write);
    }
    return isUnordered ? store.inOrder(type, [...found.values()]) : [...found.values()];
  }

  async function checkGuards(): Promise<void> {
    const current = directUnit(store, commit);
    for (const stillTrue of guards) {
      if (store.commit() !== snapshot && !(await stillTrue(current))) {
        throw serializationConflict();
      }
    }
  }

  return {
    isTransaction: true,
    find: (type, id) => staged.get(key(type, id))?.[0] ?? store.find(type, id, snapshot),
    cached: () => undefined,
    versions: (type, id) => [...(staged.get(key(type, id)) ?? []), ...store.versions(type, id, snapshot)],
    ids: store.ids,
    mostIds: store.mostIds,
    newest,
    async write(change) {
      failIfTaken(change.write.type, change.write.id);
      const isAnnounced = change.interaction === 'delete';
      changes.push({ ...change, isAnnounced });
      stage(change);
      await (isAnnounced && announce(change));
    },
    guard: (stillTrue) => guards.push(stillTrue),
    savepoint: () => changes.length,
    rollback(savepoint) {
      changes.length = savepoint;
      staged = new Map();
      changes.forEach(stage);
    },
    async commit() {
      await checkGuards();
      if (changes.length > 0) {
        await commit(changes, () => {
          for (const { write } of changes) {
            failIfTaken(write.type, write.id);
          }
        });
      }
    },
  };
}
