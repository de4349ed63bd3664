import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import {
  type ClosedDay,
  close,
  closedDaysIn,
  emptyClosedDays,
  reopen,
} from '../../../../core/calendar/change/closed-days-list.ts';
import { isLocalDay, localDayOf } from '../../day/local-day.ts';
import type { HoursData } from '../../hours/calendars.ts';
import { dateText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { PreviewList } from './preview-list.tsx';
import { useSaving } from './use-saving.ts';

const empty: ClosedDay = { start: '', end: '', reason: '' };

/** The days on which the whole clinic is closed: those to come, and a form for more. */
export function ClosedForm({ data, onSaved }: { readonly data: HoursData; readonly onSaved: () => void }) {
  const { language, hours: words } = useTexts();
  const { draft, change, clear } = useDraft('closed days', empty);
  const [missing, setMissing] = useState(false);
  const { previews, refusal, busy, preview, save, forget } = useSaving(data, true, onSaved);
  const list = data.closed ?? emptyClosedDays(config);
  const today = localDayOf(Date.now(), config.timeZone);
  const coming = closedDaysIn(list).filter(({ end }) => end >= today);
  const edit = (part: Partial<ClosedDay>): void => {
    forget();
    change(part);
  };
  const checked = (then: (resource: typeof list) => Promise<unknown>): void => {
    const end = draft.end || draft.start;
    const isMissing = !isLocalDay(draft.start) || !isLocalDay(end) || end < draft.start;
    setMissing(isMissing);
    if (!isMissing) {
      void then(close(list, [{ start: draft.start, end, reason: draft.reason.trim() || words.closedReason }]));
    }
  };
  const field = (name: keyof ClosedDay) => ({
    label: words.closedField[name],
    value: draft[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => edit({ [name]: event.currentTarget.value }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        checked(async (resource) => {
          if (await save(resource)) {
            clear();
            change(empty);
          }
        });
      }}
    >
      <Stack gap="md">
        {coming.length === 0 && <p>{words.noClosed}</p>}
        <ul className="closed">
          {coming.map((day) => (
            <li key={`${day.start} ${day.end} ${day.reason}`}>
              {dateText(day.start, language)}
              {day.end !== day.start && `–${dateText(day.end, language)}`}: {day.reason}{' '}
              <Button
                variant="default"
                size="compact-sm"
                aria-label={words.reopenDay(dateText(day.start, language))}
                loading={busy !== undefined}
                onClick={() => void save(reopen(list, { ...day, end: day.start }))}
              >
                {words.reopen}
              </Button>
            </li>
          ))}
        </ul>
        <Group gap="xs" align="end">
          <TextInput type="date" required {...field('start')} />
          <TextInput type="date" {...field('end')} />
          <TextInput maxLength={200} {...field('reason')} />
        </Group>
        {missing && <p role="alert">{words.missingDays}</p>}
        {refusal && <Problem refusal={refusal} onReload={onSaved} />}
        <Group gap="xs">
          <Button variant="default" loading={busy !== undefined} onClick={() => checked(preview)}>
            {words.show}
          </Button>
          <Button type="submit" loading={busy !== undefined}>
            {words.closeDays}
          </Button>
          <span role="status">{busy}</span>
        </Group>
        {previews && <PreviewList previews={previews} data={data} />}
      </Stack>
    </form>
  );
}
