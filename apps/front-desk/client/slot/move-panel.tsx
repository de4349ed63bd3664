import { Button, Group, Stack } from '@mantine/core';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { useState } from 'react';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { lengthWithin, moveRequest, type Wanted, wantedOf } from '../../appointment/booking.ts';
import { timeOf } from '../../day/entries.ts';
import type { AppointmentDetails } from '../appointment/use-appointment.ts';
import { book, judge } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { shortDayText, spanText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { Alternatives } from './alternatives.tsx';
import { firstTime, TimeFields, typedInterval } from './time-fields.tsx';

/** Moves an appointment to a time after confirmation. */
export function MovePanel({
  moving: { appointment, name: patientName, calendars },
  slot,
  calendar,
  onJudged,
  onStale,
  onBack,
  onOvertaken,
}: {
  readonly moving: AppointmentDetails;
  readonly slot: Slot;
  readonly calendar: string;
  /** The service would move it: the move is written unless it is undone. */
  readonly onJudged: () => void;
  readonly onStale: () => void;
  readonly onBack: () => void;
  readonly onOvertaken: () => void;
}) {
  const { language, appointment: words } = useTexts();
  const from = timeOf(appointment);
  const [time, setTime] = useState(() => firstTime(slot, lengthWithin(timeOf(slot) ?? { start: 0, end: 0 }, from)));
  const { submit, submitLater, refusal, isBusy } = useSubmit();
  const to = typedInterval(slot, time);
  const move = async (wanted: Wanted): Promise<void> => {
    const request = moveRequest(appointment, patientName, wanted);
    const version = appointment.meta?.versionId;
    if (!(await submit(() => judge(request, version)))) {
      onStale();
      return;
    }
    const said = [from, wanted].map((time) =>
      time ? `${shortDayText(time.start, language)}, ${spanText(time, language)}` : '',
    );
    const text = `${patientName || words.noPatient}: ${words.moves(said[0] ?? '', said[1] ?? '')}`;
    const becomes: Appointment = {
      ...appointment,
      start: formatInstant(wanted.start),
      end: formatInstant(wanted.end),
      slot: [{ reference: `Slot/${wanted.slot.id}` }],
    };
    onJudged();
    await submitLater(appointment.id ?? '', text, () => book(request, version), becomes);
    onStale();
  };
  return (
    <Form onSend={() => void (to && move({ ...to, slot }))}>
      <Stack gap="md">
        <p>{words.moving(patientName || words.noPatient)}</p>
        {calendars !== calendar && <strong>{words.otherCalendar}</strong>}
        <dl className="facts">
          {(
            [
              [words.moveFrom, from, calendars],
              [words.moveTo, to, calendar],
            ] as const
          ).map(([term, time, name]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>
                {[time && `${shortDayText(time.start, language)}, ${spanText(time, language)}`, name]
                  .filter(Boolean)
                  .join(', ')}
              </dd>
            </div>
          ))}
        </dl>
        <TimeFields value={time} onChange={(part) => setTime((before) => ({ ...before, ...part }))} />
        {refusal && (
          <Problem refusal={refusal} {...(refusal.status === 412 && { onReload: onOvertaken })}>
            <Alternatives
              alternatives={refusal.alternatives}
              isBusy={isBusy}
              onTake={(alternative) => void move(wantedOf(alternative, slot))}
            />
          </Problem>
        )}
        <Group gap="xs">
          <Button type="submit" loading={isBusy} data-autofocus>
            {words.move}
          </Button>
          <Button variant="default" onClick={onBack}>
            {words.back}
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
