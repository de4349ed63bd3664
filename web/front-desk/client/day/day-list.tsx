import type { Schedule } from '@medplum/fhirtypes';
import { useMemo } from 'react';
import { contactOf, patientIdOf, patientNameOf, servicesOf } from '../../appointment/people.ts';
import { columnsOf } from '../../day/columns.ts';
import type { CalendarData } from '../../day/entries.ts';
import { intervalOf, type LocalDay } from '../../day/local-day.ts';
import { titleOf } from '../../day/queries.ts';
import { dateText, dayText, spanText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** The days on paper: who comes when, calendar by calendar. Only printers show it. */
export function DayList({
  schedules,
  days,
  data,
}: {
  readonly schedules: readonly Schedule[];
  readonly days: readonly LocalDay[];
  readonly data: CalendarData;
}) {
  const { language, appointment: words, kind, day: dayWords } = useTexts();
  const columns = useMemo(() => columnsOf(schedules, days, data, config.timeZone), [schedules, days, data]);
  return (
    <div className="on-paper">
      {columns.map(({ id, schedule, day, entries }) => {
        const taken = entries.filter(({ appointment, kind }) => appointment || kind === 'blocked');
        return (
          <section key={id}>
            <h2>
              {titleOf(schedule)}, {dayText(intervalOf(day, config.timeZone).start, language)}
            </h2>
            {taken.length === 0 ? (
              <p>{dayWords.nothing}</p>
            ) : (
              <table>
                <thead>
                  <tr>
                    {[words.time, words.patient, words.birthDate, words.phone, words.service, words.comment].map(
                      (one) => (
                        <th key={one}>{one}</th>
                      ),
                    )}
                  </tr>
                </thead>
                <tbody>
                  {taken.map((entry) => {
                    const { appointment, slots } = entry;
                    const patient = appointment && data.patients.get(patientIdOf(appointment) ?? '');
                    const name = appointment && (patientNameOf(appointment, data.patients) || words.noPatient);
                    return (
                      <tr key={entry.key}>
                        <td>{spanText(entry, language)}</td>
                        <td>{[name, entry.kind !== 'booked' && kind[entry.kind]].filter(Boolean).join(', ')}</td>
                        <td>{patient?.birthDate && dateText(patient.birthDate, language)}</td>
                        <td>{contactOf(patient, 'phone')}</td>
                        <td>{appointment && servicesOf(appointment)}</td>
                        <td>{appointment ? appointment.comment : slots[0]?.comment}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            )}
          </section>
        );
      })}
    </div>
  );
}
