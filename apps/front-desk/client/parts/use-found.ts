import type { ResourceType } from '@medplum/fhirtypes';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { type SearchVersion, standsAs, type Versions, versionsOf } from '../../fhir/versions.ts';
import { type Query, readBundle, resourcesIn, searchAll, searchUrl } from '../fhir/client.ts';
import { type Loaded, type Refused, unlessRefused, useLoaded } from './use-loaded.ts';

interface ShownSearch {
  readonly type: ResourceType;
  readonly query: Query;
  /** Linked resources that are read, too, such as by `_include`. Their changes alone do not appear. */
  readonly include?: Query;
}

/** Search results that are kept up to date. */
export interface Watched<T> extends Loaded<T> {
  /** Whether the shown value may be outdated at the moment. */
  readonly isBehind: boolean;
}

/** The versions of the resources that were written last are compared. */
const NEWEST: Query = [
  ['_sort', '-_lastUpdated'],
  ['_count', '20'],
  ['_total', 'accurate'],
  ['_fields', 'id'],
];

const MAX_TRIES = 3;

/** Pause between two checks for changes, in milliseconds. */
const PAUSE = 4_000;

/** Polls while the page is visible. One failed request is repeated. With `isLater`, the first request waits, too. */
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

async function readVersions(searches: readonly ShownSearch[]): Promise<SearchVersion[] | Refusal> {
  const found = await Promise.all(
    searches.map(async ({ type, query }): Promise<SearchVersion | Refusal> => {
      const bundle = await readBundle(searchUrl(type, [...query, ...NEWEST]));
      return isRefusal(bundle) ? bundle : { total: bundle.total, newest: versionsOf(resourcesIn(bundle), type) };
    }),
  );
  return found.find(isRefusal) ?? found.filter((one): one is SearchVersion => !isRefusal(one));
}

/** Shows search results, kept up to date with the server; results that could not be read at first appear, too. */
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
  const {
    data: foundVersions,
    dataUpdatedAt,
    isError,
  } = useWatched(key, () => readVersions(searches), { isLater: true });
  const tried = useRef({ versionKey: '', times: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer is compared once, with what is shown then.
  useEffect(() => {
    const { value, refusal, reload } = loaded;
    const isShown = foundVersions?.every((searchVersion, index) =>
      standsAs(value?.versions[index] ?? new Set(), searchVersion),
    );
    if (!foundVersions || ((isShown || !value) && !refusal)) {
      return;
    }
    const versionKey = JSON.stringify([key, foundVersions]);
    const times = tried.current.versionKey === versionKey ? tried.current.times : 0;
    tried.current = { versionKey, times: times + 1 };
    if (times < MAX_TRIES) {
      void reload();
    }
  }, [dataUpdatedAt]);
  return { ...loaded, value: loaded.value?.value, isBehind: isError && loaded.value !== undefined };
}
