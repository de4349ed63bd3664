import { Group, NumberInput, Stack } from '@mantine/core';
import type { HealthcareService } from '@medplum/fhirtypes';
import { useState } from 'react';
import { changeService } from '../../../../core/calendar/change/opening-hours.ts';
import type { HoursData } from '../../hours/calendars.ts';
import { lengthNames, lengthsOf } from '../../hours/lengths.ts';
import { areComplete, areSame, availableTimes, rowsOf } from '../../hours/weekly-rows.ts';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { SavingPart } from './saving-part.tsx';
import { useSaving } from './use-saving.ts';
import { WeeklyRows } from './weekly-rows.tsx';

/** The weekly hours of one service, with what a change would do. */
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
  const { draft, change, clear } = useDraft(`hours ${service.id}`, stored);
  const [isMissing, setMissing] = useState(false);
  const saving = useSaving(data, () => {
    clear();
    onSaved();
  });
  const edit = (part: Partial<typeof stored>): void => {
    saving.forget();
    change(part);
  };
  const changed = (): HealthcareService => {
    const { rows, duration, bufferBefore, bufferAfter } = draft;
    const isLonger = duration !== stored.duration;
    return changeService(service, {
      ...(!areSame(rows, stored.rows) && { hours: availableTimes(rows) }),
      ...(duration && isLonger && { duration, ...(1440 % duration === 0 && { every: duration }) }),
      ...(bufferBefore !== stored.bufferBefore && { bufferBefore }),
      ...(bufferAfter !== stored.bufferAfter && { bufferAfter }),
      ...(stored.isNew && { timeZone: config.timeZone }),
    });
  };
  const checked = (then: (service: HealthcareService) => Promise<unknown>): void => {
    const isComplete = areComplete(draft.rows) && draft.duration > 0;
    setMissing(!isComplete);
    if (isComplete) {
      void then(changed());
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        checked(saving.save);
      }}
    >
      <Stack gap="md">
        {!stored.duration && <p>{words.byHand}</p>}
        <WeeklyRows rows={draft.rows} onChange={(rows) => edit({ rows: [...rows] })} />
        <Group gap="xs" grow>
          {lengthNames.map((name) => (
            <NumberInput
              key={name}
              label={words[name]}
              min={name === 'duration' ? 1 : 0}
              max={1440}
              hideControls
              value={draft[name]}
              onChange={(value) => edit({ [name]: Number(value) })}
            />
          ))}
        </Group>
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
