import { Button, Chip, Group, NumberInput, Stack, TextInput } from '@mantine/core';
import type { HealthcareService } from '@medplum/fhirtypes';
import { useState } from 'react';
import { changeService } from '../../../../core/calendar/change/opening-hours.ts';
import type { HoursData } from '../../hours/calendars.ts';
import { lengthsOf } from '../../hours/lengths.ts';
import { areComplete, areSame, availableTimes, rowsOf, type WeeklyRow, weekdays } from '../../hours/weekly-rows.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { PreviewList } from './preview-list.tsx';
import { useSaving } from './use-saving.ts';

/** One line: days, from when to when. */
function Row({
  row,
  number,
  onChange,
  onRemove,
}: {
  readonly row: WeeklyRow;
  readonly number: number;
  readonly onChange: (row: WeeklyRow) => void;
  readonly onRemove: () => void;
}) {
  const { hours: words } = useTexts();
  return (
    <fieldset className="weekly">
      <legend>{words.line(number)}</legend>
      <Chip.Group
        multiple
        value={[...row.days]}
        onChange={(days) => onChange({ ...row, days: weekdays.filter((day) => days.includes(day)) })}
      >
        <Group gap={4}>
          {weekdays.map((day) => (
            <Chip key={day} value={day} size="sm">
              {words.weekday[day]}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <Group gap="xs" align="end">
        {(['start', 'end'] as const).map((name) => (
          <TextInput
            key={name}
            type="time"
            required
            label={words[name]}
            value={row[name]}
            onChange={(event) => onChange({ ...row, [name]: event.currentTarget.value })}
          />
        ))}
        <Button variant="default" onClick={onRemove}>
          {words.remove(number)}
        </Button>
      </Group>
    </fieldset>
  );
}

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
  const texts = useTexts();
  const { hours: words } = texts;
  const stored = { rows: rowsOf(service.availableTime), ...lengthsOf(service) };
  const { draft, change, clear } = useDraft(`hours ${service.id}`, stored);
  const [missing, setMissing] = useState(false);
  const { previews, refusal, busy, preview, save, forget } = useSaving(data, false, () => {
    clear();
    onSaved();
  });
  const edit = (part: Partial<typeof stored>): void => {
    forget();
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
    const isMissing = !areComplete(draft.rows) || !draft.duration;
    setMissing(isMissing);
    if (!isMissing) {
      void then(changed());
    }
  };
  const length = (name: 'duration' | 'bufferBefore' | 'bufferAfter') => (
    <NumberInput
      label={words[name]}
      min={name === 'duration' ? 1 : 0}
      max={1440}
      hideControls
      value={draft[name]}
      onChange={(value) => edit({ [name]: Number(value) })}
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        checked(save);
      }}
    >
      <Stack gap="md">
        {!stored.duration && <p>{words.byHand}</p>}
        {draft.rows.length === 0 && <p>{words.never}</p>}
        {draft.rows.map((row, index) => (
          <Row
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other key.
            key={index}
            row={row}
            number={index + 1}
            onChange={(one) => edit({ rows: draft.rows.map((other, at) => (at === index ? one : other)) })}
            onRemove={() => edit({ rows: draft.rows.filter((_, at) => at !== index) })}
          />
        ))}
        <div>
          <Button
            variant="default"
            onClick={() => edit({ rows: [...draft.rows, { days: [], start: '09:00', end: '12:00' }] })}
          >
            {words.add}
          </Button>
        </div>
        <Group gap="xs" grow>
          {length('duration')}
          {length('bufferBefore')}
          {length('bufferAfter')}
        </Group>
        {missing && <p role="alert">{words.missing}</p>}
        {refusal && <Problem refusal={refusal} onReload={onSaved} />}
        <Group gap="xs">
          <Button variant="default" loading={busy !== undefined} onClick={() => checked(preview)}>
            {words.show}
          </Button>
          <Button type="submit" loading={busy !== undefined}>
            {words.save}
          </Button>
          <span role="status">{busy}</span>
        </Group>
        {previews && <PreviewList previews={previews} data={data} />}
      </Stack>
    </form>
  );
}
