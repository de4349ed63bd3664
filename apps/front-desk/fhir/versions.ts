import { isResource } from '../../../core/fhir/resource.ts';

/** What a search has found, as id and version of each resource. */
export type Versions = ReadonlySet<string>;

/** The state of a search at the server: how many resources it finds, and the versions of those that were written last. */
export interface SearchVersion {
  readonly total: number | undefined;
  readonly newest: readonly string[];
}

/** The versions of the resources of one type among all that were read. */
export const versionsOf = (resources: readonly unknown[], type: Parameters<typeof isResource>[1]): string[] =>
  resources.filter((one) => isResource(one, type)).map(({ id, meta }) => `${id} ${meta?.versionId}`);

/**
 * Whether what was read is what the server has. Nothing written or deleted in between is overlooked, whether it happened
 * before or after the reading; of writes that overlap, the one that began first may be seen last, so that the newest resource
 * alone does not tell.
 */
export const standsAs = (read: Versions, { total, newest }: SearchVersion): boolean =>
  read.size === total && newest.every((version) => read.has(version));
