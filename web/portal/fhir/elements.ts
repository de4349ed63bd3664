/** The objects of a list; none where the clinic's record has something else. */
export const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && typeof one === 'object') : [];

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
