import { pathToFileURL } from 'node:url';

type SystemError = Error & { readonly code?: string; readonly port?: number };

const remedies: Readonly<Record<string, (error: SystemError) => string>> = {
  EADDRINUSE: ({ port }) =>
    `Port ${port} is in use. Stop the program that uses it, or choose another port: PORT for the gateway, METRICS_PORT ` +
    'for metrics, MEDPLUM_PORT for the embedded Medplum of npm start.',
  EACCES: ({ message, port }) =>
    port === undefined ? message : `This user may not open port ${port}: choose one above 1023 (PORT).`,
};

function explain(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { code = '' }: SystemError = error;
  return remedies[code]?.(error) ?? error.message;
}

/**
 * Runs a script's command if the script was started as a program, not imported. An error is printed as a sentence, and
 * the exit status is 1.
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
    console.error(explain(error));
    process.exitCode = 1;
  }
}
