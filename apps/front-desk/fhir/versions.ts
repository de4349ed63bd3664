import { isResource } from '../../../core/fhir/resource.ts';

/** The ids and versions of search results. */
export type Versions = ReadonlySet<string>;

/** The server's state of a search: the number of results, and the versions that were written last. */
export interface SearchVersion {
  readonly total: number | undefined;
  readonly newest: readonly string[];
}

/** The versions of the resources of one type. */
export const versionsOf = (resources: readonly unknown[], type: Parameters<typeof isResource>[1]): string[] =>
  resources.filter((one) => isResource(one, type)).map(({ id, meta }) => `${id} ${meta?.versionId}`);

/**
 * Whether the resources that were read are still current. Every write and deletion is noticed. The newest version alone
 * is not enough: of overlapping writes, the one that began first may be seen last.
 */
export const standsAs = (read: Versions, { total, newest }: SearchVersion): boolean =>
  read.size === total && newest.every((version) => read.has(version));
