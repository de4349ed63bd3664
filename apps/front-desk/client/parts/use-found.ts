import type { ResourceType } from '@medplum/fhirtypes';
import { useRef } from 'react';
import { isRefusal } from '../../fhir/refusal.ts';
import { type Standing, standsAs, type Versions, versionsOf } from '../../fhir/versions.ts';
import { type Query, readBundle, resourcesIn, searchAll, searchUrl } from '../fhir/client.ts';
import { type Loaded, useLoaded, useWatch } from './use-loaded.ts';

/** A search whose results are kept up to date with the server. */
interface ShownSearch {
  readonly type: ResourceType;
  readonly query: Query;
  /** What is read with it, such as by `_include`. A change of that alone does not appear. */
  readonly include?: Query;
}

/** What was found, kept up to date with the server. */
export interface Watched<T> extends Loaded<T> {
  /** Whether something is shown of which it is not known at the moment whether it is still current. */
  readonly isBehind: boolean;
}

/** How many of the resources that were written last are looked at. */
const NEWEST: Query = [
  ['_sort', '-_lastUpdated'],
  ['_count', '20'],
  ['_total', 'accurate'],
  ['_fields', 'id'],
];

/** How often the results are read again for the same standing, when they do not agree with it. */
const MOST_TRIES = 3;

/** How searches stand now; `undefined` if that is not known. */
async function standingsOf(searches: readonly ShownSearch[]): Promise<Standing[] | undefined> {
  const found = await Promise.all(
    searches.map(async ({ type, query }): Promise<Standing | undefined> => {
      const bundle = await readBundle(searchUrl(type, [...query, ...NEWEST]));
      return isRefusal(bundle) ? undefined : { total: bundle.total, newest: versionsOf(resourcesIn(bundle), type) };
    }),
  );
  return found.includes(undefined) ? undefined : found.filter((one) => one !== undefined);
}

/**
 * Shows what searches find. What others change appears by itself, whenever it happens; so does what could not be read at
 * first.
 *
 * @param key - says what is shown
 * @param make - makes what is shown from the resources that were found, complete or not
 */
export function useFound<T extends object>(
  key: string,
  searches: readonly ShownSearch[],
  make: (resources: readonly unknown[]) => T | Promise<T>,
): Watched<T> {
  const loaded = useLoaded<{ value: T; versions: Versions[] }>(key, async () => {
    const found = await searchAll(
      searches.map(({ type, query, include = [] }) => searchUrl(type, [...query, ...include])),
    );
    if (isRefusal(found)) {
      return found;
    }
    const versions = searches.map(({ type }, index) => new Set(versionsOf(found[index] ?? [], type)));
    return { value: await make(found.flat()), versions };
  });
  const tried = useRef({ standing: '', times: 0 });
  const isBehind = useWatch(
    key,
    () => standingsOf(searches),
    async (standings) => {
      const { value, refusal, reload } = loaded;
      const isShown = standings.every((one, index) => standsAs(value?.versions[index] ?? new Set(), one));
      if ((isShown || !value) && !refusal) {
        return;
      }
      const standing = JSON.stringify([key, standings]);
      const times = tried.current.standing === standing ? tried.current.times : 0;
      tried.current = { standing, times: times + 1 };
      if (times < MOST_TRIES) {
        await reload();
      }
    },
  );
  return { ...loaded, value: loaded.value?.value, isBehind: isBehind && loaded.value !== undefined };
}
