import type { Command } from 'commander';
import { addSchedule, addService } from './calendar/add.ts';
import { HOURS_HELP } from './calendar/hours-text.ts';
import { list } from './calendar/list.ts';
import { withCredentials } from './cli/credentials.ts';
import { wholeNumber } from './cli/whole-number.ts';

/** The command line: the first services and calendars, and what is published. */
export function define(program: Command): void {
  program
    .description('Adds services and calendars, and shows what is published. The front desk changes opening hours.')
    .showHelpAfterError()
    .addHelpText('after', `\n${HOURS_HELP}\nServices are named by id, name or code.`);
  withCredentials(program.command('list')).description('lists schedules and services').action(list);
  withCredentials(program.command('add-service').argument('<name>'))
    .description('adds a service that takes appointments')
    .requiredOption('--hours <text>', 'weekly opening hours: "mon-fri 09:00-12:30; wed 14:00-18:00"')
    .requiredOption('--duration <minutes>', 'length of an appointment', wholeNumber(1, 1440))
    .requiredOption('--time-zone <name>', 'for example Europe/Berlin')
    .requiredOption('--code <code>', 'its code in LocalServiceType, by which portals find it')
    .option('--specialty <code...>', 'its specialties, as codes or system|code; ISiK demands one')
    .action(addService);
  withCredentials(program.command('add').argument('<name>'))
    .description('adds a practitioner with a schedule')
    .requiredOption('--service <service...>', 'what can be booked there')
    .option('--specialty <code...>', 'its specialties; without, those of its services')
    .option('--actor <reference>', 'a practitioner, location or device that is there already')
    .option('--confirmation <kind>', 'automatic, or manual: each booking is confirmed by hand')
    .action(addSchedule);
}
