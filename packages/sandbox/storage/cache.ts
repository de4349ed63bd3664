import type { ResourceType } from '@medplum/fhirtypes';
import { type Change, isCacheOnly, type Write } from './change.ts';

/** Resources kept in memory only. They have no history, no search finds them, and they expire after a day. */
export interface Cache {
  find(type: ResourceType, id: string): Write | undefined;
  /** Caches resources that are never stored. A stored resource removes the cached one with its id. */
  apply(changes: readonly Change[]): void;
  delete(type: ResourceType, id: string): void;
}

const lifetime = 24 * 60 * 60_000;

function key(type: string, id: string): string {
  return `${type}/${id}`;
}

/** Creates an empty cache, the part of Medplum's cache that has no row in its database. */
export function createCache(now: () => Date): Cache {
  const writes = new Map<string, Write>();
  const isOver = ({ lastUpdated }: Write): boolean => Date.parse(lastUpdated) + lifetime <= now().getTime();

  function dropOutdated(): void {
    for (const [name, write] of writes) {
      if (isOver(write)) {
        writes.delete(name);
      }
    }
  }

  return {
    find(type, id) {
      const write = writes.get(key(type, id));
      return write && !isOver(write) ? write : undefined;
    },
    apply(changes) {
      for (const change of changes) {
        const { type, id, resource } = change.write;
        if (resource && isCacheOnly(change)) {
          dropOutdated();
          writes.set(key(type, id), change.write);
        } else {
          writes.delete(key(type, id));
        }
      }
    },
    delete: (type, id) => writes.delete(key(type, id)),
  };
}
