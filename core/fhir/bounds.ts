import type { Issue } from './outcome.ts';
import { isObject } from './resource.ts';

/** How deep what is sent may be nested. */
export const DEEPEST = 64;

/**
 * Whether a JSON value is nested deeper than a number of levels. It is walked without recursion, each value once, and
 * no further than the limit.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const containers = level.filter((one) => typeof one === 'object' && one !== null);
    if (containers.length > 0 && depth >= levels) {
      return true;
    }
    level = containers.flatMap((one) => Object.values(one ?? {}));
  }
  return false;
}

/** How many entries each list of a resource may have. */
export type Bounds = Readonly<Record<string, number>>;

/** @returns a `malformed-request` for each list of a resource that has more entries than it may */
export function boundIssues(resource: unknown, bounds: Bounds, path: string): Issue[] {
  return Object.entries(bounds).flatMap(([name, most]): Issue[] => {
    const list = isObject(resource) ? resource[name] : undefined;
    const diagnostics = `${path}.${name} can have at most ${most} entries`;
    return Array.isArray(list) && list.length > most
      ? [
          {
            code: 'malformed-request',
            diagnostics: `${diagnostics}; it has ${list.length}.`,
            expression: `${path}.${name}`,
          },
        ]
      : [];
  });
}
