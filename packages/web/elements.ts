import type { Extension } from '@medplum/fhirtypes';

/** The objects of a list; none where the clinic's record has something else. */
export const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && typeof one === 'object') : [];

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The first of some extensions that has an address. */
export const extensionIn = (all: readonly Extension[] | undefined, url: string | undefined): Extension | undefined =>
  listOf(all).find((extension) => url !== undefined && extension.url === url);

/** What such an extension consists of. */
export const partsOf = (all: readonly Extension[] | undefined, url: string | undefined): readonly Extension[] =>
  listOf(extensionIn(all, url)?.extension);
