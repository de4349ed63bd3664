import { pathToFileURL } from 'node:url';

/**
 * Runs a script's command if the script was started as a program, not imported. What goes wrong is printed as a
 * sentence, and the exit status is 1.
 *
 * @param moduleUrl - `import.meta.url` of the script
 */
export async function runAsProgram(moduleUrl: string, command: () => Promise<void>): Promise<void> {
  if (moduleUrl !== pathToFileURL(process.argv[1] ?? '').href) {
    return;
  }
  try {
    await command();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
