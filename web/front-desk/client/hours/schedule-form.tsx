import { Checkbox, Group, NativeSelect, NumberInput, Stack, TextInput } from '@mantine/core';
import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import { isLocalDay } from '../../day/local-day.ts';
import { type HoursData, servicesIn } from '../../hours/calendars.ts';
import { lengthNames, lengthsOf } from '../../hours/lengths.ts';
import { hasClosures, type OwnHours, ownHoursOf, scheduleWith } from '../../hours/own-hours.ts';
import { areComplete, rowsOf } from '../../hours/weekly-rows.ts';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { SavingPart } from './saving-part.tsx';
import { useSaving } from './use-saving.ts';
import { WeeklyRows } from './weekly-rows.tsx';

interface ScheduleProps {
  readonly schedule: Schedule & { readonly id: string };
  readonly data: HoursData;
  readonly onSaved: () => void;
}

/** What one calendar says of one service: hours, lengths, and how far ahead it is published. */
function OwnHoursForm({ schedule, service, data, onSaved }: ScheduleProps & { readonly service: HealthcareService }) {
  const { hours: words } = useTexts();
  const reference = `HealthcareService/${service.id}`;
  const stored = ownHoursOf(schedule, reference, rowsOf(service.availableTime), config.timeZone);
  const { draft, change, clear } = useDraft<OwnHours>(`hours ${schedule.id} ${service.id}`, stored);
  const [isMissing, setMissing] = useState(false);
  const saving = useSaving(data, () => {
    clear();
    onSaved();
  });
  const edit = (part: Partial<OwnHours>): void => {
    saving.forget();
    change(part);
  };
  const checked = (then: (schedule: Schedule) => Promise<unknown>): void => {
    const isComplete =
      (!draft.isOwn || areComplete(draft.rows)) &&
      draft.duration !== 0 &&
      (draft.until === stored.until || draft.until === '' || isLocalDay(draft.until));
    setMissing(!isComplete);
    if (isComplete) {
      void then(scheduleWith(schedule, reference, stored, draft));
    }
  };
  const ofService = lengthsOf(service);
  const mustStay = stored.isOwn && hasClosures(schedule, reference);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        checked(saving.save);
      }}
    >
      <Stack gap="md">
        <Checkbox
          label={words.own}
          description={mustStay ? words.ownMustStay : words.ownHelp}
          checked={draft.isOwn}
          disabled={mustStay}
          onChange={(event) => edit({ isOwn: event.currentTarget.checked })}
        />
        {draft.isOwn && <WeeklyRows rows={draft.rows} onChange={(rows) => edit({ rows })} />}
        <Group gap="xs" grow align="end">
          {lengthNames.map((name) => (
            <NumberInput
              key={name}
              label={words[name]}
              placeholder={words.asService(ofService[name])}
              min={name === 'duration' ? 1 : 0}
              max={1440}
              hideControls
              value={draft[name]}
              onChange={(value) => edit({ [name]: value === '' ? '' : Number(value) })}
            />
          ))}
        </Group>
        <p className="help">{words.lengthsHelp}</p>
        <TextInput
          type="date"
          label={words.until}
          description={words.untilHelp(config.calendar.horizonWeeks)}
          value={draft.until}
          onChange={(event) => edit({ until: event.currentTarget.value })}
        />
        <SavingPart
          saving={saving}
          data={data}
          missing={isMissing && words.missing}
          save={words.save}
          onShow={() => checked(saving.preview)}
          onReload={onSaved}
        />
      </Stack>
    </form>
  );
}

/** The hours of one calendar. If it offers several services, each has hours of its own. */
export function ScheduleForm({ schedule, data, onSaved }: ScheduleProps) {
  const { hours: words } = useTexts();
  const services = servicesIn(schedule, data);
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
