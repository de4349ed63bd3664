import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const globals = new URL('test-globals.ts', import.meta.url).href;
const tests = `${pathToFileURL(resolve('test')).href}/`;

/**
 * Lets this process load test files without virtual machines: `@jest/globals` is `test-globals.ts`, and each test file,
 * whose address has a query of its own, has the modules of `test/` to itself. The modules under test are loaded once.
 */
export function registerTestHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@jest/globals') {
        return { url: globals, shortCircuit: true };
      }
      const resolved = next(specifier, context);
      const owner = URL.parse(context.parentURL ?? '')?.search;
      return owner && resolved.url.startsWith(tests) ? { ...resolved, url: `${resolved.url}${owner}` } : resolved;
    },
  });
}
