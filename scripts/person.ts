import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { mapConcurrently } from '../bots/lib/concurrency.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { isId } from '../core/fhir/reference.ts';
import { exportBundle } from '../core/person/export.ts';
import { type CredentialArguments, open, withCredentials } from './cli/credentials.ts';
import { type ErasureResult, erase, UNDER_WAY } from './person/erase.ts';
import { findPerson, readAuditEvents, versionsOf } from './person/read.ts';

interface EraseArguments extends CredentialArguments {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
}

const CONCURRENCY = 4;

/** Exit status of a refused erasure. */
const REFUSED = 2;

function idOf(reference: string): string {
  const [, id] = /^Patient\/(.+)$/.exec(reference) ?? [];
  if (!isId(id)) {
    throw new Error(`Name the patient as Patient/{id}, not '${reference}'.`);
  }
  return id;
}

/**
 * A person's data in the service, in every stored version, and the audit events of reads and changes, as one Bundle.
 *
 * @throws Error when nothing is known of the patient, or Medplum does not respond
 */
export async function exportPerson(
  medplum: Parameters<typeof findPerson>[0],
  id: string,
  config: BookingConfig,
  onProgress: (line: string) => void = () => undefined,
): Promise<ReturnType<typeof exportBundle>> {
  const { records, keptPatients, person } = await findPerson(medplum, id, config);
  const { patients: _, earlier, ...others } = records;
  const references = [
    ...keptPatients.map((one) => ['Patient', one] as const),
    ...Object.values(others).flatMap((all) => all.map((one) => [one.resourceType, one.id] as const)),
    ...earlier.flatMap(({ versions: [newest], id: one }) => (newest ? [[newest.resourceType, one] as const] : [])),
  ];
  onProgress(`resources: ${references.length}`);
  const versions = await mapConcurrently(references, CONCURRENCY, ([type, one]) => versionsOf(medplum, type, one));
  if (versions.flat().length === 0) {
    throw new Error(`Nothing is stored about Patient/${id}. Check the project and the id.`);
  }
  const accesses = await readAuditEvents(
    medplum,
    references.map((one) => one.join('/')),
  );
  return exportBundle([...versions.flat(), ...accesses], Date.now(), person, config);
}

async function runExport(reference: string, given: CredentialArguments & { output?: string }): Promise<void> {
  const id = idOf(reference);
  const { medplum, config } = await open(given);
  const bundle = await exportPerson(medplum, id, config, (line) => console.error(line));
  const text = `${JSON.stringify(bundle, undefined, 2)}\n`;
  if (given.output) {
    await writeFile(given.output, text, { mode: 0o600, flag: 'wx' });
    console.error(`${given.output} contains all versions: ${bundle.entry?.length ?? 0}.`);
  } else {
    process.stdout.write(text);
  }
}

/** The final message of an erasure. */
export function summaryOf({ outcome, erasure }: ErasureResult): string {
  const { obstacles, toCancel, removals, left } = erasure;
  if (outcome === 'refused') {
    return ['Nothing was removed.', ...obstacles].join('\n');
  }
  const head =
    outcome === 'planned'
      ? [
          ...toCancel.map((reference) => `would be cancelled          ${reference}`),
          ...removals.map(({ reference, replacement, isHandedOn }) => {
            const what = isHandedOn
              ? 'would be copied'
              : replacement
                ? 'would be made pseudonymous'
                : 'would be removed';
            return `${what.padEnd(26)}  ${reference}`;
          }),
        ]
      : [removals.length > 0 ? `Removed with all versions: ${removals.length}.` : 'There is nothing left to remove.'];
  return [
    ...head,
    ...(left.length > 0 ? ['What stays:', ...left.map((line) => `  ${line}`)] : []),
    'Not reached from here: the inputs of Bots, the server\'s logs and backups (docs/operators.md, "Old data"), and',
    'what portals and subscribers have received.',
  ].join('\n');
}

async function runErase(reference: string, given: EraseArguments): Promise<void> {
  const { dryRun = false, yes = false, force = false } = given;
  const id = idOf(reference);
  if (dryRun === yes) {
    throw new Error('This cannot be undone. Add --dry-run to see what would be removed, or --yes to do it.');
  }
  const { medplum, config } = await open(given);
  const onProgress = (line: string): void => console.error(line);
  const result = await erase({ medplum, config, id, force, dryRun, underWay: UNDER_WAY, onProgress });
  console.log(summaryOf(result));
  if (result.outcome === 'refused') {
    process.exitCode = REFUSED;
  }
}

const exitStatus = `
Exit status: 0 done (also if nothing is kept any more), 1 it could not be done, 2 refused.`;

/** The command line: export and erasure of a person's data in the service. */
export function define(program: Command): void {
  program.description('Exports or erases everything that the service stores about a patient.').showHelpAfterError();
  withCredentials(program.command('export').argument('<Patient/id>'))
    .description('writes every stored version as one Bundle')
    .option('--output <file>', 'a new file that only you can read (default: standard output)')
    .action(runExport);
  withCredentials(program.command('erase').argument('<Patient/id>'))
    .description('permanently removes the patient; appointments stay without the patient, so that they can be counted')
    .option('--dry-run', 'print what would be done, change nothing')
    .option('--yes', 'do it')
    .option('--force', 'cancel open appointments and waiting asynchronous bookings first')
    .addHelpText('after', exitStatus)
    .action(runErase);
}
