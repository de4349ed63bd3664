import { Button, Loader, Stack, TextInput } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useState } from 'react';
import { instantAt, localDayOf } from '../../../../core/time/local-day.ts';
import { moveAllRequest } from '../../appointment/booking.ts';
import { findRestRequest, insteadOf, proposalsFor, type RestOfSeries } from '../../appointment/series.ts';
import { timeOf } from '../../day/entries.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { bookAll, find } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { momentText, shortDayText, spanText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import type { AppointmentDetails } from './use-appointment.ts';

/** Proposes other times for an appointment and the later ones of its series, and moves them as one. */
export function MoveRest({
  details: { appointment, name },
  rest,
  onMoved,
  onBack,
}: {
  readonly details: AppointmentDetails;
  readonly rest: RestOfSeries;
  readonly onMoved: () => void;
  readonly onBack: () => void;
}) {
  const { language, appointment: words, loading } = useTexts();
  const [day, setDay] = useState(() =>
    localDayOf(Math.max(Date.now(), timeOf(appointment)?.start ?? 0), config.timeZone),
  );
  const look = async () => {
    const from = Math.max(Date.now(), instantAt(day, '00:00', config.timeZone));
    const answer = await find(findRestRequest(rest, from, config));
    return isRefusal(answer) ? answer : proposalsFor(rest, answer);
  };
  const { value: found, refusal, reload } = useLoaded(`rest of ${appointment.id} ${day}`, look);
  const { submitLater, refusal: refused, isBusy, forget } = useSubmit();
  const problem = refused ?? refusal;
  const when = (one: Appointment): string => {
    const time = timeOf(one);
    return time ? `${shortDayText(time.start, language)}, ${spanText(time, language)}` : '';
  };
  const line = (one: Appointment) => <li key={one.id}>{when(one)}</li>;
  const move = async (proposal: readonly Appointment[]): Promise<void> => {
    const request = moveAllRequest(rest.moved, name, proposal);
    if (await submitLater(appointment.id ?? '', words.done.moved, () => bookAll(request))) {
      onMoved();
    }
  };
  return (
    <section aria-label={words.moveRest}>
      <Stack gap="xs">
        <ul>{rest.moved.map(line)}</ul>
        {rest.stays.length > 0 && <p>{words.restStays}</p>}
        <ul>{rest.stays.map(line)}</ul>
        <TextInput
          type="date"
          required
          autoFocus
          label={words.restFrom}
          value={day}
          onChange={(event) => event.currentTarget.value && setDay(event.currentTarget.value)}
        />
        {problem && (
          <Problem
            refusal={problem}
            onReload={() => {
              forget();
              void reload();
            }}
          />
        )}
        <div role="status">
          {!found && !refusal && <Loader aria-label={loading} />}
          {found?.length === 0 && <p>{words.restNone}</p>}
        </div>
        <TakeBack of={appointment.id ?? ''}>
          <ul className="requests">
            {found?.map((proposal) => (
              <li key={proposal.map(({ start }) => start).join()} className="pane">
                <ol>
                  {proposal.map((one) => {
                    const before = insteadOf(one, config);
                    const instead = before !== undefined && ` (${words.restInstead(momentText(before, language))})`;
                    return (
                      <li key={one.start}>
                        {when(one)}
                        {instead}
                      </li>
                    );
                  })}
                </ol>
                <Button size="xs" loading={isBusy} onClick={() => void move(proposal)}>
                  {words.move}: {proposal[0] && when(proposal[0])}
                </Button>
              </li>
            ))}
          </ul>
          <Button variant="default" onClick={onBack}>
            {words.back}
          </Button>
        </TakeBack>
      </Stack>
    </section>
  );
}
