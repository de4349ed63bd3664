import { type CalendarEvent, calendarFile } from '../../../core/messages/calendar-file.ts';
import type { Texts } from '../texts/texts.ts';
import type { AppointmentView } from './appointment.ts';

const statuses: Readonly<Partial<Record<AppointmentView['state'], CalendarEvent['status']>>> = {
  asked: 'tentative',
  cancelled: 'cancelled',
};

/** What the calendar file of an appointment says besides the appointment. */
export type CalendarFileOptions = Pick<CalendarEvent, 'clinic' | 'host' | 'changed'> & { readonly url: string };

/** An appointment as an iCalendar file; `undefined` if it has no time. */
export function fileOf(view: AppointmentView, texts: Texts, options: CalendarFileOptions): string | undefined {
  const { start, end, id, what, withWhom, where, notes, state } = view;
  const { clinic, url } = options;
  return start === undefined || end === undefined
    ? undefined
    : calendarFile({
        ...options,
        id,
        language: texts.language,
        status: statuses[state] ?? 'confirmed',
        start,
        end,
        summary: [what ?? texts.appointment.title, withWhom, clinic].filter((one) => one).join(', '),
        place: where ?? clinic,
        description: [notes, view.bring, `${texts.appointment.change} ${url}`].filter((one) => one).join('\n\n'),
      });
}
