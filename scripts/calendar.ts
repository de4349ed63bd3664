import type { Command } from 'commander';
import { addSchedule, addService } from './calendar/add.ts';
import { changeHorizon, changeHours, showPreview } from './calendar/change.ts';
import { closeDays, listClosedDays, reopenDays } from './calendar/close.ts';
import { HOURS_HELP } from './calendar/hours-text.ts';
import { list, publish, show } from './calendar/show.ts';
import { changeVisit, VISIT_HELP } from './calendar/visit.ts';
import { withCredentials } from './cli/credentials.ts';
import { wholeNumber } from './cli/whole-number.ts';

const minutes = wholeNumber(0, 1440);

/** The options of a command that sets when appointments are possible. */
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

/** The options of a command that changes what is published. */
function withWriting(command: Command): Command {
  return command
    .option('--dry-run', 'say what would change, change nothing')
    .option('--no-wait', 'do not wait until it is published');
}

/** The command line: opening hours, closed days, and what is published of them. */
export function define(program: Command): void {
  program
    .description('Shows and changes opening hours and closed days, and what is published of them.')
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
    .option('--no-wait', 'do not wait until it is published')
    .action(addSchedule);
  withWriting(withHours(withCredentials(program.command('hours').argument('<schedule|service>'))))
    .description('sets opening hours; what is not given stays')
    .option('--service <service>', 'which service of the schedule, if it has several')
    .action(changeHours);
  withWriting(withCredentials(program.command('horizon').argument('<schedule|service>')))
    .description('sets how far ahead free slots are published')
    .option('--until <date>', 'the last day')
    .option('--rolling', 'as many weeks ahead as the installation says')
    .action(changeHorizon);
  withCredentials(program.command('closed')).description('lists the closed days').action(listClosedDays);
  withWriting(withCredentials(program.command('close').argument('[first]').argument('[last]')))
    .description('closes all schedules on some days, or one schedule for an absence')
    .option('--reason <text>', 'what staff see')
    .option('--holidays <region>', 'public holidays of a country or state: DE-BY')
    .option('--year <year>', 'of the holidays', wholeNumber(2000, 2100))
    .option('--schedule <schedule>', 'closes this schedule only')
    .action(closeDays);
  withWriting(withCredentials(program.command('reopen').argument('<first>').argument('[last]')))
    .description('reopens the closed days that begin on these days')
    .action(reopenDays);
  withCredentials(program.command('visit').argument('<service>'))
    .description('sets the steps or the series of a service, and shows what it would offer within a week')
    .option('--step <text...>', 'a step; all of them are given anew')
    .option('--series <text>', 'the same appointment several times')
    .option('--by-step', 'portals may move and cancel steps one by one')
    .option('--none', 'the service takes one appointment')
    .option('--dry-run', 'say what it would offer, change nothing')
    .addHelpText('after', VISIT_HELP)
    .action(changeVisit);
  withCredentials(program.command('preview').argument('<schedule|service>'))
    .description('says what would be published and withdrawn now')
    .action(showPreview);
  withCredentials(program.command('publish').argument('[schedule|service]'))
    .description('publishes again, checking every slot; without an argument, all schedules')
    .option('--no-wait', 'do not wait until it is published')
    .action(publish);
}
