import type { Schedule } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { rollForward } from '../../../../bots/lib/calendar/roll-forward.ts';
import type { Publication } from '../../../../core/calendar/publish/publication.ts';
import type { RollForward } from '../../../../core/calendar/publish/roll-forward.ts';
import { type Calendar, type CalendarServer, DAY, day, type Stored } from '../../calendar/fixtures.ts';

/** Passes through the Schedules of a stand-in of Medplum. */
export function passesThrough(medplum: () => CalendarServer) {
  const inputsOf = async ({ id }: Stored<Schedule>) => (await readOpeningHours(medplum().medplum, id))?.inputs;
  return {
    /** Goes on with a pass, by default a new one that has plenty of time. */
    async run(pass: Partial<RollForward> = {}, time = 60_000) {
      const task = await medplum().pass(pass);
      await rollForward(medplum().medplum, task, Date.now() + time);
    },
    /** A calendar that was published before, up to its end by default. */
    async publishedBefore(more: Partial<Publication> = {}): Promise<Calendar> {
      const found = await medplum().calendar();
      const { schedule } = found;
      const inputs = await inputsOf(schedule);
      await medplum().publication({ schedule: schedule.id, status: 'completed', from: day + DAY, inputs, ...more });
      return found;
    },
    /** An appointment that makes the service busy. */
    somebodyBooks: () => medplum().appointment('booked', []),
  };
}
