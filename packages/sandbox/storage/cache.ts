import type { ResourceType } from '@medplum/fhirtypes';
import { type Change, isCacheOnly, type Write } from './change.ts';

/** Resources kept in memory only: no search finds them, they have no history, and they are forgotten after a day. */
export interface Cache {
  find(type: ResourceType, id: string): Write | undefined;
  /** Keeps resources that are never stored; one that is stored replaces what was kept under the same id. */
  apply(changes: readonly Change[]): void;
  delete(type: ResourceType, id: string): void;
}

const lifetime = 24 * 60 * 60_000;

function key(type: string, id: string): string {
  return `${type}/${id}`;
}

/**
 * Creates an empty cache, the part of Medplum's that has no row in its database.
 *
 * @param now - the time
 */
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
