import { Button, Group, NativeSelect, Popover, SegmentedControl, Stack, TextInput } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import { Link } from 'wouter';
import { addDays, instantAt, isLocalDay, type LocalDay, localDayOf } from '../../../../core/time/local-day.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import { comparable } from '../../appointment/patient-query.ts';
import { conceptText } from '../../appointment/people.ts';
import { titleOf } from '../../day/queries.ts';
import { Choices } from '../parts/choices.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { type DayRoute, newAt } from './route.ts';

/** A likely start for an appointment: the next quarter of an hour today, nine o'clock on other days. */
function workingTime(day: LocalDay): number {
  const quarter = Math.ceil(Date.now() / 900_000) * 900_000;
  return localDayOf(quarter, config.timeZone) === day ? quarter : instantAt(day, '09:00', config.timeZone);
}

/** Number of calendars up to which no search is needed. */
const FEW = 6;

const serviceNames = ({ serviceType }: Schedule): string[] => listOf(serviceType).map(conceptText).filter(Boolean);

function ChooseCalendars({
  schedules,
  shown,
  onChoose,
}: {
  readonly schedules: readonly Schedule[];
  readonly shown: readonly string[];
  readonly onChoose: (ids: readonly string[]) => void;
}) {
  const { day: words } = useTexts();
  const [text, setText] = useState('');
  const services = [...new Set(schedules.flatMap(serviceNames))].toSorted((one, other) => one.localeCompare(other));
  const choose = (some: readonly Schedule[]): void => onChoose(some.flatMap(({ id }) => id ?? []));
  return (
    <Popover position="bottom-end" trapFocus returnFocus withinPortal={false}>
      <Popover.Target>
        <Button variant="default">{words.shown(shown.length, schedules.length)}</Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={words.calendars}>
        {schedules.length > FEW && (
          <Stack gap="xs">
            <TextInput
              aria-label={words.findCalendar}
              placeholder={words.findCalendar}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
            <Group gap="xs" wrap="nowrap">
              <Button size="xs" variant="default" onClick={() => choose(schedules)}>
                {words.all}
              </Button>
              {services.length > 1 && (
                <NativeSelect
                  size="xs"
                  aria-label={words.ofService}
                  value=""
                  onChange={({ currentTarget: { value } }) =>
                    choose(schedules.filter((schedule) => serviceNames(schedule).includes(value)))
                  }
                  data={[{ value: '', label: words.ofService }, ...services]}
                />
              )}
            </Group>
          </Stack>
        )}
        <Choices
          schedules={schedules.filter((schedule) => comparable(titleOf(schedule)).includes(comparable(text)))}
          label={words.calendars}
          chosen={shown}
          // In the order of the list, not of the choices.
          onChoose={(ids) => onChoose(schedules.flatMap(({ id }) => (id && ids.includes(id) ? id : [])))}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

/** The controls for days and calendars. */
export function Toolbar({
  route,
  go,
  schedules,
  shown,
}: {
  readonly route: DayRoute;
  readonly go: (change: Partial<DayRoute>) => void;
  readonly schedules: readonly Schedule[];
  readonly shown: readonly string[];
}) {
  const { day: words, slot, absences } = useTexts();
  const step = route.span === 'day' ? 1 : 7;
  return (
    <Group gap="xs" className="toolbar" role="toolbar" aria-label={words.date}>
      <Button variant="default" aria-label={words.previous} onClick={() => go({ day: addDays(route.day, -step) })}>
        ‹
      </Button>
      <Button variant="default" onClick={() => go({ day: localDayOf(Date.now(), config.timeZone) })}>
        {words.today}
      </Button>
      <Button variant="default" aria-label={words.next} onClick={() => go({ day: addDays(route.day, step) })}>
        ›
      </Button>
      <TextInput
        type="date"
        aria-label={words.date}
        value={route.day}
        onChange={({ currentTarget: { value } }) => isLocalDay(value) && go({ day: value })}
      />
      <SegmentedControl
        aria-label={words.span}
        value={route.span}
        onChange={(span) => go({ span: span === 'week' ? 'week' : 'day' })}
        data={[
          { value: 'day', label: words.day },
          { value: 'week', label: words.week },
        ]}
      />
      {shown.length > 0 && (
        <>
          <Button
            onClick={() => go({ open: newAt(shown.length === 1 ? (shown[0] ?? '') : '', workingTime(route.day)) })}
          >
            {slot.bookTime}
          </Button>
          <Button variant="default" onClick={() => go({ open: 'Block/new' })}>
            {slot.blockTime}
          </Button>
          <Button
            component={Link}
            variant="default"
            href={`/absences?new=${route.day}${shown.length === 1 ? `&calendars=${shown[0]}` : ''}`}
          >
            {absences.announce}
          </Button>
        </>
      )}
      <Button variant="default" onClick={() => window.print()}>
        {words.print}
      </Button>
      <ChooseCalendars schedules={schedules} shown={shown} onChoose={(ids) => go({ schedules: ids })} />
    </Group>
  );
}
