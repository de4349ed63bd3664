import ical, { ICalAlarmType, ICalEventStatus } from 'ical-generator';
import type { Texts } from '../texts/texts.ts';
import type { AppointmentView } from './appointment.ts';

const statuses: Readonly<Partial<Record<AppointmentView['state'], ICalEventStatus>>> = {
  asked: ICalEventStatus.TENTATIVE,
  cancelled: ICalEventStatus.CANCELLED,
};

/** How long before its start a calendar reminds of an appointment, in seconds. */
const REMINDER = 86_400;

/** What the calendar file of an appointment says besides the appointment. */
export interface CalendarFileOptions {
  readonly clinic: string;
  /** The host name of the portal: with the appointment's id it makes the event's own id. */
  readonly host: string;
  /** Where the appointment can be seen. */
  readonly url: string;
  /** When the appointment was last changed, in milliseconds since 1970 UTC: a calendar replaces an older event. */
  readonly changed: number;
}

/**
 * An appointment as an iCalendar file, in UTC; `undefined` if it has no time. A file loaded again after a move replaces the
 * earlier event.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5545
 */
export function calendarFile(view: AppointmentView, texts: Texts, options: CalendarFileOptions): string | undefined {
  const { start, end, id, what, withWhom, where, notes, state } = view;
  if (start === undefined || end === undefined) {
    return undefined;
  }
  const calendar = ical({
    prodId: { company: options.clinic, product: 'appointments', language: texts.language.toUpperCase() },
  });
  const summary = [what ?? texts.appointment.title, withWhom, options.clinic].filter((one) => one).join(', ');
  const event = calendar.createEvent({
    id: `${id}@${options.host}`,
    sequence: Math.floor(options.changed / 1000) % 2_147_483_647,
    stamp: new Date(options.changed),
    start: new Date(start),
    end: new Date(end),
    summary,
    status: statuses[state] ?? ICalEventStatus.CONFIRMED,
    url: options.url,
    location: where ?? options.clinic,
    description: {
      plain: [notes, view.bring, `${texts.appointment.change} ${options.url}`].filter((one) => one).join('\n\n'),
    },
  });
  if (state !== 'cancelled') {
    event.createAlarm({ type: ICalAlarmType.display, trigger: REMINDER, description: summary });
  }
  return calendar.toString();
}
