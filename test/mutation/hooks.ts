import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The query parameter that tells the modules of one test file from those of another. */
const OWNER = 'test';

const globals = new URL('globals.ts', import.meta.url).href;
const tests = `${pathToFileURL(resolve('test')).href}/`;

const ownerOf = (url: string | undefined): string | null =>
  (url ? URL.parse(url)?.searchParams.get(OWNER) : null) ?? null;

function owned(url: string, owner: string): string {
  const own = new URL(url);
  own.searchParams.set(OWNER, owner);
  return own.href;
}

/**
 * Lets this process load test files: `@jest/globals` is `globals.ts`, and each test file has the modules of `test/` to
 * itself, as in Jest. The modules under test are loaded once.
 */
export function registerTestHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@jest/globals') {
        return { url: globals, shortCircuit: true };
      }
      const resolved = next(specifier, context);
      const owner = ownerOf(context.parentURL);
      return owner && resolved.url.startsWith(tests) ? { ...resolved, url: owned(resolved.url, owner) } : resolved;
    },
  });
}

/** The address to import a test file by. */
export const testUrl = (file: string): string => owned(pathToFileURL(resolve(file)).href, file);
