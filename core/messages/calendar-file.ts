import ical, { ICalAlarmType, ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator';

const statuses = {
  tentative: ICalEventStatus.TENTATIVE,
  confirmed: ICalEventStatus.CONFIRMED,
  cancelled: ICalEventStatus.CANCELLED,
} as const;

/** How long before its start a calendar reminds of an appointment, in seconds. */
const REMINDER = 86_400;

/** An appointment as calendars keep it; times are milliseconds since 1970 UTC. */
export interface CalendarEvent {
  /** Id of the appointment: with the host it makes the event's own id. */
  readonly id: string;
  /** The host name of the pages, or of the sender. */
  readonly host: string;
  readonly clinic: string;
  readonly language: string;
  readonly status: keyof typeof statuses;
  readonly start: number;
  readonly end: number;
  readonly summary: string;
  readonly place: string;
  readonly description: string;
  /** Where the appointment can be seen. */
  readonly url?: string | undefined;
  /** When the appointment was last changed: a calendar replaces an older event. */
  readonly changed: number;
  /** The addresses between which it is sent by e-mail: calendars then follow changes and cancellations by themselves. */
  readonly sent?: { readonly from: string; readonly to: string };
}

/**
 * An appointment as an iCalendar file, in UTC. A later one with the same id replaces the earlier event.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5545 and, for what is sent, https://www.rfc-editor.org/rfc/rfc5546
 */
export function calendarFile(one: CalendarEvent): string {
  const { id, host, clinic, language, status, start, end, summary, place, description, url, changed, sent } = one;
  const isOff = status === 'cancelled';
  const calendar = ical({
    prodId: { company: clinic, product: 'appointments', language: language.toUpperCase() },
    ...(sent && { method: isOff ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST }),
  });
  const event = calendar.createEvent({
    id: `${id}@${host}`,
    sequence: Math.floor(changed / 1000) % 2_147_483_647,
    stamp: new Date(changed),
    start: new Date(start),
    end: new Date(end),
    summary,
    status: statuses[status],
    ...(url !== undefined && { url }),
    location: place,
    description: { plain: description },
    ...(sent && { organizer: { name: clinic, email: sent.from } }),
  });
  if (sent) {
    event.createAttendee({ email: sent.to, status: ICalAttendeeStatus.ACCEPTED, rsvp: false });
  }
  if (!isOff) {
    event.createAlarm({ type: ICalAlarmType.display, trigger: REMINDER, description: summary });
  }
  return calendar.toString();
}

/** An appointment in a feed; times are milliseconds since 1970 UTC. */
export interface FeedEvent extends Pick<CalendarEvent, 'start' | 'end' | 'summary' | 'changed'> {
  /** The same as long as the appointment exists. */
  readonly id: string;
  readonly status: 'tentative' | 'confirmed';
}

/**
 * Appointments as one iCalendar file that programs read again and again. The same appointments are the same text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5545
 */
export function calendarFeed(events: readonly FeedEvent[], language: string): string {
  const calendar = ical({ prodId: { company: 'appointments', product: 'feed', language: language.toUpperCase() } });
  for (const { id, start, end, status, summary, changed } of events) {
    calendar.createEvent({
      id,
      sequence: Math.floor(changed / 1000) % 2_147_483_647,
      stamp: new Date(changed),
      start: new Date(start),
      end: new Date(end),
      summary,
      status: statuses[status],
    });
  }
  return calendar.toString();
}
