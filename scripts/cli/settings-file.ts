import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';

const nameOf = (line: string): string | undefined => /^(?:export )?(\w+)=/.exec(line)?.[1];

/**
 * Writes settings into an environment file. A new file is readable for its owner only. Settings with the same names are
 * replaced. All others stay: an operator may keep those of a gateway in the file.
 *
 * @param lines - `NAME=value`
 * @throws Error if the file cannot be read and written
 */
export function writeSettings(file: string, lines: readonly string[]): void {
  // Written in place: owner and rights stay, and an interruption never loses the other settings.
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
