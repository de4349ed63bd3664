import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import { type HoursData, servicesOf } from '../../../../core/fhir/scheduling/hours-data.ts';
import { isLocalDay } from '../../../../core/time/local-day.ts';
import { areComplete, rowsOf } from '../../../../core/time/weekly-rows.ts';
import { lengthsOf } from '../../hours/lengths.ts';
import { hasClosures, type OwnHours, ownHoursOf, scheduleWith } from '../../hours/own-hours.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { HoursForm, LengthFields, useHoursForm } from './hours-form.tsx';
import { WeeklyRows } from './weekly-rows.tsx';

interface ScheduleProps {
  readonly schedule: Schedule & { readonly id: string };
  readonly data: HoursData;
  readonly onSaved: () => void;
}

function OwnHoursForm({ schedule, service, data, onSaved }: ScheduleProps & { readonly service: HealthcareService }) {
  const { hours: words } = useTexts();
  const reference = `HealthcareService/${service.id}`;
  const stored = ownHoursOf(schedule, reference, rowsOf(service.availableTime), config.timeZone);
  const changed = (draft: OwnHours): Schedule | undefined => {
    const isComplete =
      (!draft.isOwn || areComplete(draft.rows)) &&
      draft.duration !== 0 &&
      (draft.until === stored.until || draft.until === '' || isLocalDay(draft.until));
    return isComplete ? scheduleWith(schedule, reference, stored, draft) : undefined;
  };
  const name = `${schedule.id} ${service.id}`;
  const { draft, edit, frame } = useHoursForm<OwnHours>({ name, stored, data, onSaved, changed });
  const ofService = lengthsOf(service);
  const mustStay = stored.isOwn && hasClosures(schedule, reference);
  return (
    <HoursForm frame={frame}>
      <Checkbox
        label={words.own}
        description={mustStay ? words.ownMustStay : words.ownHelp}
        checked={draft.isOwn}
        disabled={mustStay}
        onChange={(event) => edit({ isOwn: event.currentTarget.checked })}
      />
      {draft.isOwn && <WeeklyRows rows={draft.rows} onChange={(rows) => edit({ rows })} />}
      <LengthFields
        lengths={draft}
        placeholder={(length) => words.asService(ofService[length])}
        onChange={(length, value) => edit({ [length]: value })}
      />
      <p className="help">{words.lengthsHelp}</p>
      <TextInput
        type="date"
        label={words.until}
        description={words.untilHelp(config.calendar.horizonWeeks)}
        value={draft.until}
        onChange={(event) => edit({ until: event.currentTarget.value })}
      />
    </HoursForm>
  );
}

/** The hours of one calendar. If it offers several services, each has hours of its own. */
export function ScheduleForm({ schedule, data, onSaved }: ScheduleProps) {
  const { hours: words } = useTexts();
  const services = servicesOf(schedule, data);
  const [chosen, choose] = useState<string>();
  const service = services.find(({ id }) => id === chosen) ?? services[0];
  if (!service) {
    return <p>{words.noService}</p>;
  }
  return (
    <>
      {services.length > 1 && (
        <NativeSelect
          label={words.service}
          value={service.id}
          onChange={(event) => choose(event.currentTarget.value)}
          data={services.map(({ id = '', name }) => ({ value: id, label: name || `HealthcareService/${id}` }))}
        />
      )}
      <OwnHoursForm key={service.id} schedule={schedule} service={service} data={data} onSaved={onSaved} />
    </>
  );
}
