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
}

/** What a calendar file says besides its appointments. */
export interface CalendarFile {
  /** The host name of the pages, or of the sender. */
  readonly host: string;
  readonly clinic: string;
  readonly language: string;
  /** The addresses between which it is sent by e-mail: calendars then follow one appointment by themselves. */
  readonly sent?: { readonly from: string; readonly to: string };
}

/** How calendars treat what is sent: as an invitation to one appointment; several are only published. */
export const methodOf = ([first, ...others]: readonly Pick<CalendarEvent, 'status'>[]): ICalCalendarMethod =>
  others.length > 0
    ? ICalCalendarMethod.PUBLISH
    : first?.status === 'cancelled'
      ? ICalCalendarMethod.CANCEL
      : ICalCalendarMethod.REQUEST;

/**
 * An appointment, or those of a visit, as an iCalendar file, in UTC. A later event with the same id replaces an earlier one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5545 and, for what is sent, https://www.rfc-editor.org/rfc/rfc5546
 */
export function calendarFile({ host, clinic, language, sent }: CalendarFile, events: readonly CalendarEvent[]): string {
  const method = sent && methodOf(events);
  const calendar = ical({
    prodId: { company: clinic, product: 'appointments', language: language.toUpperCase() },
    ...(method && { method }),
  });
  for (const { id, status, start, end, summary, place, description, url, changed } of events) {
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
    if (sent && method !== ICalCalendarMethod.PUBLISH) {
      event.createAttendee({ email: sent.to, status: ICalAttendeeStatus.ACCEPTED, rsvp: false });
    }
    if (status !== 'cancelled') {
      event.createAlarm({ type: ICalAlarmType.display, trigger: REMINDER, description: summary });
    }
  }
  return calendar.toString();
}

/** An appointment in a feed; times are milliseconds since 1970 UTC. */
export interface CalendarFileEvent extends Pick<CalendarEvent, 'start' | 'end' | 'summary' | 'changed'> {
  /** The same as long as the appointment exists. */
  readonly id: string;
  readonly status: 'tentative' | 'confirmed';
}

/**
 * Appointments as one iCalendar file that programs read again and again. The same appointments are the same text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5545
 */
export function calendarFeed(events: readonly CalendarFileEvent[], language: string): string {
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
