import type { ResourceType } from '@medplum/fhirtypes';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { type SearchVersion, standsAs, type Versions, versionsOf } from '../../fhir/versions.ts';
import { type Query, readBundle, resourcesIn, searchAll, searchUrl } from '../fhir/client.ts';
import { type Loaded, type Refused, unlessRefused, useLoaded } from './use-loaded.ts';

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
const MAX_TRIES = 3;

/** How often a page asks whether something has changed, in milliseconds. */
const PAUSE = 4_000;

/**
 * Asks again and again, while the page can be seen, how something stands. One unanswered question is asked again before it
 * counts.
 *
 * @param key - names what is asked
 * @param options - `pause` between two questions in milliseconds; `isLater`: whether the first one waits for it, too
 */
export const useWatched = <T extends object>(
  key: string,
  look: () => Promise<T | Refusal>,
  { pause = PAUSE, isLater = false } = {},
) =>
  useQuery<T | null, Refused>({
    queryKey: ['watched', key],
    queryFn: () => unlessRefused(look()),
    ...(isLater && { initialData: null, staleTime: Number.POSITIVE_INFINITY }),
    refetchInterval: pause,
    refetchOnWindowFocus: 'always',
    retry: 1,
    retryDelay: pause,
  });

/** How searches stand now. */
async function standingsOf(searches: readonly ShownSearch[]): Promise<SearchVersion[] | Refusal> {
  const found = await Promise.all(
    searches.map(async ({ type, query }): Promise<SearchVersion | Refusal> => {
      const bundle = await readBundle(searchUrl(type, [...query, ...NEWEST]));
      return isRefusal(bundle) ? bundle : { total: bundle.total, newest: versionsOf(resourcesIn(bundle), type) };
    }),
  );
  return found.find(isRefusal) ?? found.filter((one): one is SearchVersion => !isRefusal(one));
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
  const { data: standings, dataUpdatedAt, isError } = useWatched(key, () => standingsOf(searches), { isLater: true });
  const tried = useRef({ standing: '', times: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer is compared once, with what is shown then.
  useEffect(() => {
    const { value, refusal, reload } = loaded;
    const isShown = standings?.every((searchVersion, index) =>
      standsAs(value?.versions[index] ?? new Set(), searchVersion),
    );
    if (!standings || ((isShown || !value) && !refusal)) {
      return;
    }
    const standing = JSON.stringify([key, standings]);
    const times = tried.current.standing === standing ? tried.current.times : 0;
    tried.current = { standing, times: times + 1 };
    if (times < MAX_TRIES) {
      void reload();
    }
  }, [dataUpdatedAt]);
  return { ...loaded, value: loaded.value?.value, isBehind: isError && loaded.value !== undefined };
}
