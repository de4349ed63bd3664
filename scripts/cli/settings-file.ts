import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

const nameOf = (line: string): string | undefined => /^(?:export )?(\w+)=/.exec(line)?.[1];

/**
 * Writes settings into an environment file; one that is new only its owner can read. Settings of the same names are replaced;
 * all others stay, since an operator may keep those of a gateway in it.
 *
 * @param lines - `NAME=value`
 * @throws Error if the file cannot be read and written
 */
export function writeSettings(file: string, lines: readonly string[]): void {
  // In place: its owner and rights stay, and what stays in it is never away, whenever this ends.
  const handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const names = lines.map(nameOf);
    const before = readFileSync(handle, 'utf8').trimEnd().split('\n');
    const kept = before.filter((line) => line !== '' && !names.includes(nameOf(line) ?? ''));
    const text = Buffer.from(`${[...kept, ...lines].join('\n')}\n`);
    for (let done = 0; done < text.length; ) {
      done += writeSync(handle, text, done, text.length - done, done);
    }
    ftruncateSync(handle, text.length);
  } finally {
    closeSync(handle);
  }
}
