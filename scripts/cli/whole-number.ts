import { InvalidArgumentError } from 'commander';

/**
 * Reads an option that is a whole number.
 *
 * @param least - the smallest number that is allowed, 0 at least
 * @param most - the greatest, if there is one
 * @returns the function that commander calls with the text; it refuses anything else with a message
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
