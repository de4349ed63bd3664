import type { Command } from 'commander';
import { addSchedule, addService } from './calendar/add.ts';
import { changeHours } from './calendar/change.ts';
import { HOURS_HELP } from './calendar/hours-text.ts';
import { list, publish, show } from './calendar/show.ts';
import { withCredentials } from './cli/credentials.ts';
import { wholeNumber } from './cli/whole-number.ts';

const minutes = wholeNumber(0, 1440);

function withHours(command: Command): Command {
  return command
    .option('--hours <text>', 'weekly opening hours: "mon-fri 09:00-12:30; wed 14:00-18:00"')
    .option('--duration <minutes>', 'length of an appointment', wholeNumber(1, 1440))
    .option('--every <minutes>', 'from one possible start to the next; must divide a day (new: the duration)', minutes)
    .option('--buffer-before <minutes>', 'time before an appointment that must be free', minutes)
    .option('--buffer-after <minutes>', 'time after an appointment that must be free', minutes)
    .option('--places <number>', 'appointments at the same time', wholeNumber(1, 100))
    .option('--time-zone <name>', 'for example Europe/Berlin');
}

/** The command line: opening hours, and their publication. */
export function define(program: Command): void {
  program
    .description('Shows and changes opening hours, and what is published of them.')
    .showHelpAfterError()
    .addHelpText(
      'after',
      `\n${HOURS_HELP}\nSchedules are named by id, Schedule/id or the name of the practitioner; services by id, name or code.`,
    );
  withCredentials(program.command('list')).description('lists schedules and services').action(list);
  withCredentials(program.command('show').argument('<schedule|service>'))
    .description('shows opening hours, and how far they are published')
    .action(show);
  withHours(withCredentials(program.command('add-service').argument('<name>')))
    .description('adds a service that takes appointments')
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
  withHours(withCredentials(program.command('hours').argument('<schedule|service>')))
    .description('sets opening hours; what is not given stays')
    .option('--service <service>', 'which service of the schedule, if it has several')
    .action(changeHours);
  withCredentials(program.command('publish').argument('[schedule|service]'))
    .description('publishes again, checking every slot; without an argument, all schedules')
    .action(publish);
}
