import type { HealthcareService } from '@medplum/fhirtypes';
import { changeService } from '../../../../core/fhir/scheduling/change-hours.ts';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import { areComplete, areSame, availableTimes, rowsOf } from '../../../../core/time/weekly-rows.ts';
import { lengthsOf } from '../../hours/lengths.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { HoursForm, LengthFields, useHoursForm } from './hours-form.tsx';
import { WeeklyRows } from './weekly-rows.tsx';

/** The weekly hours of one service, with a preview. */
export function WeeklyForm({
  service,
  data,
  onSaved,
}: {
  readonly service: HealthcareService;
  readonly data: HoursData;
  readonly onSaved: () => void;
}) {
  const { hours: words } = useTexts();
  const stored = { rows: rowsOf(service.availableTime), ...lengthsOf(service) };
  const changed = (draft: typeof stored): HealthcareService | undefined => {
    const { rows, duration, bufferBefore, bufferAfter } = draft;
    if (!areComplete(rows) || duration <= 0) {
      return undefined;
    }
    const isLonger = duration !== stored.duration;
    return changeService(service, {
      ...(!areSame(rows, stored.rows) && { hours: availableTimes(rows) }),
      ...(duration && isLonger && { duration, ...(1440 % duration === 0 && { every: duration }) }),
      ...(bufferBefore !== stored.bufferBefore && { bufferBefore }),
      ...(bufferAfter !== stored.bufferAfter && { bufferAfter }),
      ...(stored.isNew && { timeZone: config.timeZone }),
    });
  };
  const { draft, edit, frame } = useHoursForm({ name: `${service.id}`, stored, data, onSaved, changed });
  return (
    <HoursForm frame={frame}>
      {!stored.duration && <p>{words.byHand}</p>}
      <WeeklyRows rows={draft.rows} onChange={(rows) => edit({ rows: [...rows] })} />
      <LengthFields lengths={draft} onChange={(name, value) => edit({ [name]: Number(value) })} />
    </HoursForm>
  );
}
