import { Group, TextInput } from '@mantine/core';
import type { Slot } from '@medplum/fhirtypes';
import type { Interval } from '../../../../core/time/interval.ts';
import { clockTimeOf, instantWithin } from '../../../../core/time/local-day.ts';
import { timeOf } from '../../day/entries.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

const MINUTE = 60_000;

/** A time within a day as typed: `09:30`, and minutes. */
interface TypedTime {
  readonly start: string;
  readonly minutes: number;
}

/** The typed time on the day of a Slot; `undefined` if it is not valid. */
export function typedInterval(slot: Slot, { start, minutes }: TypedTime): Interval | undefined {
  const time = timeOf(slot);
  if (!time || !/^\d\d:\d\d$/.test(start) || !(minutes > 0)) {
    return undefined;
  }
  const from = instantWithin(time, start, config.timeZone);
  return { start: from, end: from + minutes * MINUTE };
}

/** The start of a Slot as a typed time; `length` in milliseconds. */
export function firstTime(slot: Slot, length: number): TypedTime {
  const time = timeOf(slot);
  return { start: time ? clockTimeOf(time.start, config.timeZone) : '', minutes: Math.round(length / MINUTE) };
}

/** The fields for the start and length of an appointment. */
export function TimeFields({
  value,
  onChange,
}: {
  readonly value: TypedTime;
  readonly onChange: (value: Partial<TypedTime>) => void;
}) {
  const { booking: words } = useTexts();
  return (
    <Group grow align="end">
      <TextInput
        type="time"
        required
        label={words.start}
        value={value.start}
        onChange={(event) => onChange({ start: event.currentTarget.value })}
      />
      <TextInput
        type="number"
        required
        label={words.minutes}
        min={1}
        max={1440}
        value={value.minutes || ''}
        onChange={(event) => onChange({ minutes: Number(event.currentTarget.value) })}
      />
    </Group>
  );
}
