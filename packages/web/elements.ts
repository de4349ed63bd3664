import type { Extension } from '@medplum/fhirtypes';

/** The objects of a list; none if the stored value is not a list. */
export const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && typeof one === 'object') : [];

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The first extension with a URL. */
export const extensionIn = (all: readonly Extension[] | undefined, url: string | undefined): Extension | undefined =>
  listOf(all).find((extension) => url !== undefined && extension.url === url);

/** The parts of the first extension with a URL. */
export const partsOf = (all: readonly Extension[] | undefined, url: string | undefined): readonly Extension[] =>
  listOf(extensionIn(all, url)?.extension);
