/**
 * What each process loads first, those of services included; Bots find it in `process`. `MUTANT` is the mutant that is
 * switched on; `REACHED` names a file for those that are reached, and when, in milliseconds.
 */
import { appendFileSync } from 'node:fs';

/** How long a mutant is not written again. */
const PAUSE = 300;

const { MUTANT, REACHED } = process.env;
const { now } = Date;
const written = new Map<string, number>();

/** Writes at once, for a process may be killed. */
function reach(...ids: readonly string[]): void {
  for (const id of ids) {
    const time = now();
    if (time > (written.get(id) ?? 0) + PAUSE) {
      written.set(id, time);
      appendFileSync(REACHED ?? '', `${time} ${id}\n`);
    }
  }
}

const mutation = { isActive: (id: string): boolean => id === MUTANT, reach: REACHED ? reach : (): void => undefined };
Object.assign(process, { mutation });
