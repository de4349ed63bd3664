import ical, { ICalAlarmType, ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator';

const statuses = {
  tentative: ICalEventStatus.TENTATIVE,
  confirmed: ICalEventStatus.CONFIRMED,
  cancelled: ICalEventStatus.CANCELLED,
} as const;

/** The time of a calendar's reminder before an appointment, in seconds. */
const REMINDER = 86_400;

/** An event of a calendar file; times are milliseconds since 1970 UTC. */
export interface CalendarEvent {
  /** Id of the appointment. Together with the host it is the event's id. */
  readonly id: string;
  readonly status: keyof typeof statuses;
  readonly start: number;
  readonly end: number;
  readonly summary: string;
  readonly at: string;
  readonly description: string;
  readonly url?: string | undefined;
  /** The last change of the appointment. A calendar replaces an older event. */
  readonly changed: number;
  /** The number of the message with the event: of two changes within a second, the later one has the greater. */
  readonly count?: number;
}

export interface CalendarFile {
  /** The host name of the pages or of the sender. */
  readonly host: string;
  readonly clinic: string;
  readonly language: string;
  /** Addresses of the e-mail with the file. A calendar then follows a single appointment automatically. */
  readonly sent?: { readonly from: string; readonly to: string };
}

/** The iTIP method of a file: an invitation to one appointment. Several appointments are only published. */
export const methodOf = ([first, ...others]: readonly Pick<CalendarEvent, 'status'>[]): ICalCalendarMethod =>
  others.length > 0
    ? ICalCalendarMethod.PUBLISH
    : first?.status === 'cancelled'
      ? ICalCalendarMethod.CANCEL
      : ICalCalendarMethod.REQUEST;

/**
 * Appointments as an iCalendar file, in UTC. A later event with the same id replaces an earlier one.
 * @see https://www.rfc-editor.org/rfc/rfc5545 and, for e-mail, https://www.rfc-editor.org/rfc/rfc5546
 */
export function calendarFile({ host, clinic, language, sent }: CalendarFile, events: readonly CalendarEvent[]): string {
  const method = sent && methodOf(events);
  const calendar = ical({
    prodId: { company: clinic, product: 'appointments', language: language.toUpperCase() },
    ...(method && { method }),
  });
  for (const { id, status, start, end, summary, at, description, url, changed, count = 0 } of events) {
    const event = calendar.createEvent({
      id: `${id}@${host}`,
      sequence: (Math.floor(changed / 1000) + count) % 2_147_483_647,
      stamp: new Date(changed),
      start: new Date(start),
      end: new Date(end),
      summary,
      status: statuses[status],
      ...(url !== undefined && { url }),
      location: at,
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

/** An event of a calendar feed; times are milliseconds since 1970 UTC. */
export interface CalendarFileEvent extends Pick<CalendarEvent, 'start' | 'end' | 'summary' | 'changed'> {
  /** Stable as long as the appointment exists. */
  readonly id: string;
  readonly status: 'tentative' | 'confirmed';
}

/**
 * Appointments as the iCalendar file of a calendar feed. The text depends on the appointments only.
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
