import { Link } from 'wouter';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { patientNameOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import { titleOf } from '../../day/queries.ts';
import type { ChangePreview } from '../../hours/preview.ts';
import { momentText } from '../parts/format.ts';
import { ServerSays } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import type { Previews } from './use-hours.ts';

/** Number of times that are listed; the rest is counted. */
const NAMED = 12;

function Times({ label, times }: { readonly label: string; readonly times: readonly number[] }) {
  const { language } = useTexts();
  return times.length === 0 ? null : (
    <details>
      <summary>{label}</summary>
      <ul>
        {times.slice(0, NAMED).map((time) => (
          <li key={time}>{momentText(time, language)}</li>
        ))}
        {times.length > NAMED && <li>…</li>}
      </ul>
    </details>
  );
}

function Outside({ preview }: { readonly preview: ChangePreview }) {
  const { language, hours: words, appointment } = useTexts();
  return preview.outside.length === 0 ? null : (
    <>
      <p>
        <strong>{words.outside(preview.outside.length)}</strong>
      </p>
      <ul>
        {preview.outside.map((one) => {
          const time = timeOf(one);
          const day = localDayOf(time?.start ?? 0, config.timeZone);
          return (
            <li key={one.id}>
              <Link href={`/calendar?date=${day}&open=Appointment/${one.id}`}>
                {time && momentText(time.start, language)}, {patientNameOf(one, new Map()) || appointment.noPatient}
              </Link>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** The Slots that would be published and withdrawn, by calendar, and the bookings outside the new hours. */
export function PreviewList({ previews, data }: { readonly previews: Previews; readonly data: HoursData }) {
  const { hours: words } = useTexts();
  return (
    <section aria-label={words.preview} className="pane" role="status">
      <h2>{words.preview}</h2>
      {previews.size === 0 && <p>{words.noSchedule}</p>}
      {data.schedules
        .flatMap((schedule) => {
          const preview = previews.get(schedule.id);
          return preview ? [{ schedule, preview }] : [];
        })
        .map(({ schedule, preview }) => (
          <div key={schedule.id}>
            <h3>{titleOf(schedule)}</h3>
            <p>{words.wouldChange(preview.published.length, preview.withdrawn.length)}</p>
            {preview.problems.length > 0 && <p>{words.unusable}</p>}
            <ServerSays sentences={preview.problems} />
            <Times label={words.come(preview.published.length)} times={preview.published} />
            <Times label={words.go(preview.withdrawn.length)} times={preview.withdrawn} />
            <Outside preview={preview} />
          </div>
        ))}
    </section>
  );
}
