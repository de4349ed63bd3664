import { Button, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Interval } from '../../../../core/time/interval.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { patientNameOf } from '../../appointment/people.ts';
import { type CalendarData, calendarData, type Entry, entriesOf } from '../../day/entries.ts';
import { calendarSearches, titleOf } from '../../day/queries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { blockSlot, blockToken, coveredBy, periodText, typedPeriod } from '../../slots/blocks.ts';
import { create, searchAll, searchUrl } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { Form, FromTo } from '../parts/form.tsx';
import { momentText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

interface Draft {
  readonly schedule: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly uuid: string;
}

interface Covered {
  readonly entries: readonly Entry[];
  readonly data: CalendarData;
}

async function readCovered(schedule: Schedule, time: Interval): Promise<Covered | Refusal> {
  const urls = calendarSearches([schedule.id ?? ''], time).map(({ type, query, include = [] }) =>
    searchUrl(type, [...query, ...include]),
  );
  const found = await searchAll(urls);
  if (isRefusal(found)) {
    return found;
  }
  const data = calendarData(found.flat());
  return { entries: coveredBy(entriesOf(schedule, data), time), data };
}

function CoveredList({ covered: { entries, data } }: { readonly covered: Covered }) {
  const { language, slot: words, kind, appointment } = useTexts();
  return (
    <div role="alert">
      <p>
        <strong>{words.covered(entries.length)}</strong> {words.coveredWhy}
      </p>
      <ul>
        {entries.map((entry) => (
          <li key={entry.key}>
            <Link href={`/calendar?date=${localDayOf(entry.start, config.timeZone)}&open=${entry.key}`}>
              {momentText(entry.start, language)},{' '}
              {(entry.appointment && patientNameOf(entry.appointment, data.patients)) || appointment.noPatient}
            </Link>
            {`: ${kind[entry.kind]}`}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Blocks any time of a calendar, initially `time`. Appointments in it are listed before anything is written. */
export function BlockForm({
  schedules,
  preset,
  time,
  draftKey,
  onBlocked,
  onClose,
}: {
  readonly schedules: readonly Schedule[];
  readonly preset?: string | undefined;
  readonly time: Interval;
  readonly draftKey: string;
  readonly onBlocked: () => void;
  /** Closes the container; without it, the container stays. */
  readonly onClose?: () => void;
}) {
  const { slot: words, day, appointment, booking, close } = useTexts();
  const { draft, change, clear } = useDraft<Draft>(draftKey, {
    schedule: preset ?? '',
    ...periodText(time, config.timeZone),
    reason: '',
    uuid: crypto.randomUUID(),
  });
  const { uuid } = draft;
  const { submit, submitLater, refusal, isBusy, forget, isShown } = useSubmit();
  const [isMissing, setMissing] = useState(false);
  const [covered, setCovered] = useState<Covered>();
  const [isDone, setDone] = useState(false);
  const schedule =
    schedules.find(({ id }) => id === draft.schedule) ?? (schedules.length === 1 ? schedules[0] : undefined);
  const edit = (part: Partial<Draft>): void => {
    setCovered(undefined);
    forget();
    // A different time is a different block.
    change({ uuid: crypto.randomUUID(), ...part });
  };

  const block = async (): Promise<void> => {
    const period = typedPeriod(draft, config.timeZone);
    setMissing(!period || !schedule);
    if (!period || !schedule) {
      return;
    }
    const found = covered ?? (await submit(() => readCovered(schedule, period)));
    if (!found || (!covered && found.entries.length > 0)) {
      setCovered(found);
      return;
    }
    change({ uuid });
    const slot = blockSlot(schedule.id ?? '', period, draft.reason, uuid);
    const condition = `identifier=${encodeURIComponent(blockToken(uuid))}`;
    const answer = await submitLater(uuid, appointment.done.blocked, () => create('Slot', slot, condition));
    if (answer) {
      clear();
      onBlocked();
      // The people to call stay visible.
      if (covered) {
        setDone(true);
      } else if (isShown()) {
        onClose?.();
      }
    }
  };
  if (isDone && covered) {
    return (
      <Stack gap="xs">
        <p>{appointment.done.blocked}</p>
        <CoveredList covered={covered} />
        {onClose && <Button onClick={onClose}>{close}</Button>}
      </Stack>
    );
  }
  return (
    <Form noValidate onSend={() => void block()}>
      <Stack gap="xs">
        {schedules.length > 1 && (
          <NativeSelect
            label={day.calendars}
            value={schedule?.id ?? ''}
            onChange={(event) => edit({ schedule: event.currentTarget.value })}
            data={[
              ...(schedule ? [] : [{ value: '', label: booking.chooseCalendar }]),
              ...schedules.map((one) => ({ value: one.id ?? '', label: titleOf(one) })),
            ]}
          />
        )}
        <FromTo type="datetime-local" value={draft} onChange={edit} />
        <TextInput
          label={words.blockReason}
          description={words.blockReasonHelp}
          maxLength={200}
          value={draft.reason}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
        {isMissing && <p role="alert">{schedule ? words.missingTime : booking.chooseCalendar}</p>}
        {covered && <CoveredList covered={covered} />}
        {refusal && <Problem refusal={refusal} />}
        <TakeBack of={uuid}>
          <Button type="submit" loading={isBusy}>
            {covered ? words.blockAnyway : words.block}
          </Button>
        </TakeBack>
      </Stack>
    </Form>
  );
}
