import type { Command } from 'commander';
import * as absence from './bench/absence.ts';
import * as bookings from './bench/bookings.ts';
import * as coldStart from './bench/cold-start.ts';
import * as operations from './bench/operations.ts';
import * as publishing from './bench/publishing.ts';
import * as readers from './bench/readers.ts';
import * as receivers from './bench/receivers.ts';
import * as releaseDay from './bench/release-day.ts';
import * as visits from './bench/visits.ts';
import * as waitlist from './bench/waitlist.ts';
import * as web from './bench/web.ts';
import * as writes from './bench/writes.ts';

/** What is measured, by name. */
const cases = {
  absence,
  bookings,
  'cold-start': coldStart,
  operations,
  publishing,
  readers,
  receivers,
  'release-day': releaseDay,
  visits,
  waitlist,
  web,
  writes,
};

/** The command line: one case of the bench; without a name, bookings. */
export function define(program: Command): void {
  program.description('Measures an installation; -- <command> --help says more.');
  for (const [name, { define: defineCase }] of Object.entries(cases)) {
    const command = program.command(name, { isDefault: name === 'bookings' });
    defineCase(command);
    command.summary(/^[^.:;,(]*/.exec(command.description())?.[0] ?? '');
  }
}
