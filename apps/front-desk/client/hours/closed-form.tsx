import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import {
  type ClosedDay,
  close,
  closedDaysIn,
  emptyClosedDays,
  reopen,
} from '../../../../core/fhir/scheduling/closed-days.ts';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import { isLocalDay, localDayOf } from '../../../../core/time/local-day.ts';
import { Form } from '../parts/form.tsx';
import { dateText } from '../parts/format.ts';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Holidays } from './holidays.tsx';
import { SavingPart, useSaving } from './saving.tsx';

interface Draft extends ClosedDay {
  readonly holidays: readonly ClosedDay[];
}

const empty: Draft = { start: '', end: '', reason: '', holidays: [] };

/** The typed days: a period, holidays, or both; `undefined` if there are none, or the period is not valid. */
function typedDays({ start, end, reason, holidays }: Draft, usualReason: string): ClosedDay[] | undefined {
  if (start === '' && end === '' && holidays.length > 0) {
    return [...holidays];
  }
  const last = end || start;
  return isLocalDay(start) && isLocalDay(last) && last >= start
    ? [...holidays, { start, end: last, reason: reason.trim() || usualReason }]
    : undefined;
}

function DayText({ day: { start, end, reason } }: { readonly day: ClosedDay }) {
  const { language } = useTexts();
  return (
    <>
      {dateText(start, language)}
      {end !== start && `–${dateText(end, language)}`}: {reason}{' '}
    </>
  );
}

/** The closed days of the whole clinic: the coming ones, and a form for more. */
export function ClosedForm({ data, onSaved }: { readonly data: HoursData; readonly onSaved: () => void }) {
  const { language, hours: words } = useTexts();
  const { draft, change, clear } = useDraft('closed days', empty);
  const [isMissing, setMissing] = useState(false);
  const saving = useSaving(data, onSaved);
  const list = data.closed[0] ?? emptyClosedDays(config);
  const today = localDayOf(Date.now(), config.timeZone);
  const coming = closedDaysIn(list).filter(({ end }) => end >= today);
  const edit = (part: Partial<Draft>): void => {
    saving.forget();
    change(part);
  };
  const checked = (then: (resource: typeof list) => Promise<unknown>): void => {
    const days = typedDays(draft, words.closedReason);
    setMissing(days === undefined);
    if (days) {
      void then(close(list, days));
    }
  };
  const save = (): void =>
    checked(async (resource) => {
      if (await saving.save(resource)) {
        clear();
        change(empty);
      }
    });
  const field = (name: 'start' | 'end' | 'reason') => ({
    label: words.closedField[name],
    value: draft[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => edit({ [name]: event.currentTarget.value }),
  });
  return (
    <Form onSend={save}>
      <Stack gap="md">
        {coming.length === 0 && <p>{words.noClosed}</p>}
        <ul className="closed">
          {coming.map((day) => (
            <li key={`${day.start} ${day.end} ${day.reason}`}>
              <DayText day={day} />
              <Button
                variant="default"
                size="compact-sm"
                aria-label={words.reopenDay(dateText(day.start, language))}
                loading={saving.busy !== undefined}
                onClick={() => void saving.save(reopen(list, { ...day, end: day.start }))}
              >
                {words.reopen}
              </Button>
            </li>
          ))}
        </ul>
        <Group gap="xs" align="end">
          <TextInput type="date" {...field('start')} />
          <TextInput type="date" {...field('end')} />
          <TextInput maxLength={200} {...field('reason')} />
        </Group>
        <Holidays onFound={(holidays) => edit({ holidays })} />
        {draft.holidays.length > 0 && (
          <>
            <p role="status">{words.foundHolidays(draft.holidays.length)}</p>
            <ul className="closed">
              {draft.holidays.map((day) => (
                <li key={`${day.start} ${day.reason}`}>
                  <DayText day={day} />
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={words.leaveOutDay(dateText(day.start, language))}
                    onClick={() => edit({ holidays: draft.holidays.filter((closedDay) => closedDay !== day) })}
                  >
                    {words.leaveOut}
                  </Button>
                </li>
              ))}
            </ul>
          </>
        )}
        <SavingPart
          saving={saving}
          data={data}
          missing={isMissing && words.missingDays}
          save={words.closeDays}
          onShow={() => checked(saving.preview)}
          onReload={onSaved}
        />
      </Stack>
    </Form>
  );
}
