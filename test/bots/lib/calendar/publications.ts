import type { Schedule } from '@medplum/fhirtypes';
import { workOn } from '../../../../bots/lib/calendar/publication.ts';
import type { Publication } from '../../../../core/calendar/publish/publication.ts';
import { type CalendarServer, date, type Stored } from '../../calendar/fixtures.ts';

/** A turn that has plenty of time. */
export const turn = { turn: 60_000, portion: 100 };

/** A planning horizon of so many weeks: the calendars of these tests are open on one day of each. */
export const weeks = (count: number): Partial<Schedule> => ({
  planningHorizon: { start: date(), end: date(7 * (count - 1)) },
});

/** Publications on a stand-in of Medplum. */
export const publicationsOn = (medplum: () => CalendarServer) => ({
  /** Works on a publication of a Schedule, by default a new one. */
  async work({ id }: Stored<Schedule>, given: Partial<Publication> = {}, by = turn) {
    const task = await medplum().publication({ schedule: id, status: 'requested', ...given });
    return { task, isUnfinished: await workOn(medplum().medplum, task, by) };
  },
});
