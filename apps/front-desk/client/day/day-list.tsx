import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { type ReactNode, useMemo } from 'react';
import { intervalOf, type LocalDay } from '../../../../core/time/local-day.ts';
import {
  contactOf,
  guardiansIn,
  guardianText,
  patientIdOf,
  patientNameOf,
  payersOf,
  servicesOf,
} from '../../appointment/people.ts';
import { columnsOf } from '../../day/columns.ts';
import { type CalendarData, cancelledIn, timeOf } from '../../day/entries.ts';
import { titleOf } from '../../day/queries.ts';
import { dateText, dayText, momentText, spanText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

interface Line {
  readonly key: string;
  readonly time: string;
  readonly appointment: Appointment | undefined;
  readonly kind: string | false;
  readonly note?: string | undefined;
}

function PaperTable({ lines, data }: { readonly lines: readonly Line[]; readonly data: CalendarData }) {
  const { language, appointment: words, payers } = useTexts();
  const { time, patient, birthDate, phone, service, comment } = words;
  const cellsOf = ({ time, appointment, kind, note }: Line): readonly ReactNode[] => {
    if (!appointment) {
      return [time, kind, '', '', '', note];
    }
    const known = data.patients.get(patientIdOf(appointment) ?? '');
    const name = patientNameOf(appointment, data.patients) || words.noPatient;
    return [
      time,
      [name, kind].filter(Boolean).join(', '),
      known?.birthDate && dateText(known.birthDate, language),
      contactOf(known, 'phone') ?? guardiansIn(data.guardians, known?.id).map(guardianText).join('; '),
      [servicesOf(appointment), payersOf(appointment, payers, config)].filter(Boolean).join(', '),
      appointment.comment,
    ];
  };
  const heads = [time, patient, birthDate, phone, service, comment];
  return (
    <table>
      <thead>
        <tr>
          {heads.map((one) => (
            <th key={one}>{one}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={line.key}>
            {cellsOf(line).map((cell, index) => (
              <td key={heads[index]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The days on paper: appointments by calendar, and cancelled ones. Only printers show it. */
export function DayList({
  schedules,
  all,
  days,
  data,
}: {
  readonly schedules: readonly Schedule[];
  /** All calendars of the clinic, to name those that are not on the list. */
  readonly all: readonly Schedule[];
  readonly days: readonly LocalDay[];
  readonly data: CalendarData;
}) {
  const { language, kind: kinds, day: dayWords } = useTexts();
  const columns = useMemo(() => columnsOf(schedules, days, data, config.timeZone), [schedules, days, data]);
  const missing = all.filter((schedule) => schedule.active !== false && !schedules.includes(schedule));
  const cancelled = cancelledIn(data, schedules, all).map((appointment): Line => {
    const time = timeOf(appointment);
    const text = time && (days.length > 1 ? momentText(time.start, language) : spanText(time, language));
    return { key: appointment.id ?? '', time: text ?? '', appointment, kind: false };
  });
  return (
    <div className="on-paper">
      {missing.length > 0 && (
        <p>
          <strong>{dayWords.shown(schedules.length, schedules.length + missing.length)}</strong>{' '}
          {dayWords.notPrinted(missing.map(titleOf).join('; '))}
        </p>
      )}
      {columns.map(({ id, schedule, day, entries }) => {
        const lines = entries.flatMap((entry): Line[] => {
          const { key, kind, appointment, slots } = entry;
          const more = { kind: kind !== 'booked' && kinds[kind], note: slots[0]?.comment };
          return appointment || kind === 'blocked'
            ? [{ key, time: spanText(entry, language), appointment, ...more }]
            : [];
        });
        return (
          <section key={id}>
            <h2>
              {titleOf(schedule)}, {dayText(intervalOf(day, config.timeZone).start, language)}
            </h2>
            {lines.length === 0 ? <p>{dayWords.nothing}</p> : <PaperTable lines={lines} data={data} />}
          </section>
        );
      })}
      {cancelled.length > 0 && (
        <section>
          <h2>{dayWords.cancelled(cancelled.length)}</h2>
          <PaperTable lines={cancelled} data={data} />
        </section>
      )}
    </div>
  );
}
