/** What the tests import from `@jest/globals`, for a process that runs them without Jest. */
import { getState } from 'jest-circus';

export { jestExpect as expect } from '@jest/expect';
export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus';

export const jest = {
  setTimeout(milliseconds: number): void {
    getState().testTimeout = milliseconds;
  },
};
