import { Button, Group, NativeSelect, Stack } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useState } from 'react';
import { isResource } from '../../../../core/fhir/resource.ts';
import { addDays, intervalOf, isLocalDay, localDayOf } from '../../../../core/time/local-day.ts';
import { YEAR } from '../../../../core/time/time-zone.ts';
import { conceptText, otherNamesIn, servicesOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import { joinRequest, positionIn, waitedFor, waitedSearches, waitedServices } from '../../waitlist/joining.ts';
import { waitlist } from '../fhir/client.ts';
import { Form, FromTo } from '../parts/form.tsx';
import { momentText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useFound } from '../parts/use-found.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Default length of the requested period, in days from today. */
const DAYS = 28;

/** Adds a patient to the waitlist: service, period, actor, and current appointment. */
export function JoinForm({
  who,
  coming,
  onJoined,
  onClose,
}: {
  readonly who: { readonly id: string; readonly name: string };
  /** Coming appointments, one of which may be kept as the current appointment. */
  readonly coming: readonly Appointment[];
  readonly onJoined: () => void;
  readonly onClose: () => void;
}) {
  const { language, waitlist: words, appointment: appointmentWords, close } = useTexts();
  const today = localDayOf(Date.now(), config.timeZone);
  const { draft, change, clear } = useDraft(`wait ${who.id}`, {
    service: 0,
    actor: '',
    current: '',
    from: today,
    to: addDays(today, DAYS),
    uuid: '',
  });
  const [isMissing, setMissing] = useState(false);
  const { submit, refusal, isBusy } = useSubmit();
  const found = useFound('waited', waitedSearches, (resources) => ({
    services: waitedServices(resources, config),
    schedules: resources.filter((one) => isResource(one, 'Schedule')),
  }));
  const { services = [], schedules = [] } = found.value ?? {};
  const service = services[draft.service] ?? services[0];
  const actors = waitedFor(service, schedules);
  const current = coming.filter(({ status }) => status === 'booked' || status === 'pending');
  const join = async (): Promise<void> => {
    const [from, to] = [draft.from, draft.to].map((day) =>
      isLocalDay(day) ? intervalOf(day, config.timeZone) : undefined,
    );
    const isValid = from && to && from.start < to.end && to.end <= Date.now() + YEAR;
    setMissing(!isValid);
    if (!isValid || !service) {
      return;
    }
    const uuid = draft.uuid || crypto.randomUUID();
    change({ uuid });
    const wish = {
      who,
      service,
      actor: actors.find(({ reference }) => reference === draft.actor),
      current: current.find(({ id }) => id === draft.current)?.id,
      start: from.start,
      end: to.end,
      uuid,
    };
    const joined = await submit(
      () => waitlist(joinRequest(wish, config)),
      (entry) => words.joined(who.name, positionIn(entry, config) ?? 1),
    );
    if (joined) {
      clear();
      onJoined();
    }
  };
  if (found.value && services.length === 0) {
    return <p role="status">{words.noService}</p>;
  }
  return (
    <Form noValidate className="pane" aria-label={words.join} onSend={() => void join()}>
      <Stack gap="xs">
        <p className="help">{words.joinHelp}</p>
        {found.refusal && <Problem refusal={found.refusal} onReload={() => void found.reload()} />}
        <NativeSelect
          data-autofocus
          label={appointmentWords.service}
          value={draft.service}
          onChange={(event) => change({ service: Number(event.currentTarget.value), actor: '' })}
          data={services.map((concept, index) => ({ value: String(index), label: conceptText(concept) }))}
        />
        <FromTo type="date" value={draft} onChange={change} />
        {actors.length > 1 && (
          <NativeSelect
            label={words.with}
            value={draft.actor}
            onChange={(event) => change({ actor: event.currentTarget.value })}
            data={[
              { value: '', label: words.anybody },
              ...actors.map(({ reference = '', display }) => ({ value: reference, label: display ?? reference })),
            ]}
          />
        )}
        {current.length > 0 && (
          <NativeSelect
            label={words.current}
            value={draft.current}
            onChange={(event) => change({ current: event.currentTarget.value })}
            data={[
              { value: '', label: words.nothingStands },
              ...current.map((appointment) => ({
                value: appointment.id ?? '',
                label: [
                  momentText(timeOf(appointment)?.start ?? 0, language),
                  servicesOf(appointment) || otherNamesIn(appointment),
                ]
                  .filter(Boolean)
                  .join(', '),
              })),
            ]}
          />
        )}
        {isMissing && <p role="alert">{words.missing}</p>}
        {refusal && <Problem refusal={refusal} />}
        <Group gap="xs">
          <Button type="submit" loading={isBusy} disabled={!service}>
            {words.join}
          </Button>
          <Button variant="default" onClick={onClose}>
            {close}
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
