import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { baseElementsFile } from './generate/base-elements.ts';
import { elementsModule } from './generate/elements.ts';
import { errorsPage } from './generate/errors-page.ts';
import { openApiFile } from './generate/openapi-file.ts';
import { packageFiles } from './generate/package-files.ts';
import { searchDefinitionsModule } from './generate/search-definitions.ts';

const files: Readonly<Record<string, () => string>> = {
  'docs/errors.md': errorsPage,
  'docs/openapi.json': openApiFile,
  'core/fhir/types/elements.ts': elementsModule,
  'profiles/base-elements.json': baseElementsFile,
  'gateway/search/parameters/definitions.ts': searchDefinitionsModule,
  ...packageFiles,
};

/** The command line. */
export function define(command: Command): void {
  command
    .description('Generates the files that derive from tables in the code and from the definitions of FHIR R4.')
    .option('--check', 'write nothing; fail if a file is not current')
    .action(main);
}

/** Writes the generated files. With `check`, fails at the first that is not current. */
async function main({ check }: { check?: boolean }): Promise<void> {
  for (const [path, make] of Object.entries(files)) {
    const text = make();
    if (!check) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
      throw new Error(`${path} is not current: run npm run generate and commit the result.`);
    }
  }
}
