import { common } from './jest.config.js';
import { room } from './stryker.config.js';

/**
 * The tests that are to notice what mutation testing breaks in a room: the room's own, which need no other process.
 *
 * @type {import('jest').Config}
 */
export default { ...common, testMatch: [`<rootDir>/test/${room}/**/*.test.ts`], testTimeout: 30_000 };
