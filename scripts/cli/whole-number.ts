import { InvalidArgumentError } from 'commander';

/**
 * Creates the parser of an option that is a whole number. It refuses any other text with a message.
 *
 * @param least - the smallest number that is allowed, 0 at least
 * @param most - the greatest, if there is one
 */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`;
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      throw new InvalidArgumentError(`Give a whole number${range}.`);
    }
    return value;
  };
}
