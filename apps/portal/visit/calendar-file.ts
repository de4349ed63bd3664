import { type CalendarEvent, type CalendarFile, calendarFile } from '../../../core/time/calendar-file.ts';
import type { Texts } from '../texts/texts.ts';
import type { AppointmentView } from './appointment.ts';

const statuses: Readonly<Partial<Record<AppointmentView['state'], CalendarEvent['status']>>> = {
  asked: 'tentative',
  cancelled: 'cancelled',
};

type CalendarFileOptions = Pick<CalendarFile, 'clinic' | 'host'> &
  Pick<CalendarEvent, 'changed'> & { readonly url: string };

function eventOf(view: AppointmentView, texts: Texts, { clinic, url, changed }: CalendarFileOptions): CalendarEvent[] {
  const { start, end, id, what, withWhom, where, notes, state } = view;
  return start === undefined || end === undefined
    ? []
    : [
        {
          id,
          status: statuses[state] ?? 'confirmed',
          start,
          end,
          summary: [what ?? texts.appointment.title, withWhom, clinic].filter((one) => one).join(', '),
          at: where ?? clinic,
          description: [notes, view.bring, `${texts.appointment.change} ${url}`].filter((one) => one).join('\n\n'),
          url,
          changed,
        },
      ];
}

/** Writes an appointment, or each step of a visit, as iCalendar; `undefined` if none has a time. */
export function fileOf(
  views: readonly AppointmentView[],
  texts: Texts,
  options: CalendarFileOptions,
): string | undefined {
  const { clinic, host } = options;
  const events = views.flatMap((view) => eventOf(view, texts, options));
  return events.length > 0 ? calendarFile({ clinic, host, language: texts.language }, events) : undefined;
}
