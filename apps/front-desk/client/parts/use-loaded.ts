import { QueryClient, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';

/** A refusal as an error, by which the query library tells it from a value. */
export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(`Refused with status ${refusal.status}.`);
    this.refusal = refusal;
  }
}

/** The value of a response. A refusal is thrown as {@link Refused}. */
export async function unlessRefused<T extends object>(answer: Promise<T | Refusal>): Promise<T> {
  const given = await answer;
  if (isRefusal(given)) {
    throw new Refused(given);
  }
  return given;
}

/** Queries and mutations without a cache: changes to an old version would be refused. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      gcTime: 0,
      retry: false,
      networkMode: 'always',
      structuralSharing: false,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      throwOnError: (error) => !(error instanceof Refused),
    },
    mutations: { gcTime: 0, networkMode: 'always' },
  },
});

/** A loaded value, or the refusal. The previous value stays while it is loaded again. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly refusal: Refusal | undefined;
  /** Time of loading, in milliseconds since 1970 UTC. */
  readonly at: number | undefined;
  readonly reload: () => Promise<void>;
}

/**
 * Loads a value, and loads it again when its key changes. All users of a key share the value; without one nothing is
 * loaded. The signal of `load` ends a request whose response is no longer wanted.
 */
export function useLoaded<T extends object>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T | Refusal>,
): Loaded<T> {
  const { data, error, dataUpdatedAt, refetch } = useQuery<T, Refused>({
    queryKey: [key],
    queryFn: ({ signal }) => unlessRefused(load(signal)),
    enabled: key !== undefined,
  });
  const reload = useCallback(async () => void (await refetch()), [refetch]);
  return { value: data, refusal: error?.refusal, at: dataUpdatedAt || undefined, reload };
}
