import type { Command } from 'commander';
import * as bookings from './bench/bookings.ts';
import * as operations from './bench/operations.ts';
import * as publishing from './bench/publishing.ts';
import * as readers from './bench/readers.ts';
import * as releaseDay from './bench/release-day.ts';
import * as writes from './bench/writes.ts';

const cases = {
  bookings,
  operations,
  publishing,
  readers,
  'release-day': releaseDay,
  writes,
};

/** The command line: one measurement of the bench; by default, bookings. */
export function define(program: Command): void {
  program.description('Measures an installation; -- <command> --help says more.');
  for (const [name, { define: defineCase }] of Object.entries(cases)) {
    const command = program.command(name, { isDefault: name === 'bookings' });
    defineCase(command);
    command.summary(/^[^.:;,(]*/.exec(command.description())?.[0] ?? '');
  }
}
