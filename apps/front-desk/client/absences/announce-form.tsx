import { Button, Group, Stack, TextInput } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import type { LocalDay } from '../../../../core/time/local-day.ts';
import { absenceIn, announcement, possibleSubstitutes, usualPeriod } from '../../absence/absences.ts';
import { periodText, typedPeriod } from '../../slots/blocks.ts';
import { absence } from '../fhir/client.ts';
import { Choices } from '../parts/choices.tsx';
import { Form, FromTo } from '../parts/form.tsx';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

interface Draft {
  readonly schedules: readonly string[];
  readonly substitutes: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** Announces an absence: the time is blocked at once, and a plan is made. `onPlanned` receives its id. */
export function AnnounceForm({
  schedules,
  chosen,
  day,
  onPlanned,
  onClose,
}: {
  readonly schedules: readonly Schedule[];
  readonly chosen: readonly string[];
  readonly day: LocalDay;
  readonly onPlanned: (id: string | undefined) => void;
  readonly onClose: () => void;
}) {
  const { absences: words, slot, close } = useTexts();
  const { draft, change, clear } = useDraft<Draft>(`absence ${day} ${chosen.join()}`, {
    schedules: chosen,
    substitutes: [],
    ...periodText(usualPeriod(day, Date.now(), config.timeZone), config.timeZone),
    reason: '',
  });
  const [missing, setMissing] = useState('');
  const { submit, refusal, isBusy, forget } = useSubmit();
  const known = draft.schedules.filter((id) => schedules.some((schedule) => schedule.id === id));
  const possible = possibleSubstitutes(schedules, known);
  const substitutes = draft.substitutes.filter((id) => possible.some((schedule) => schedule.id === id));
  const edit = (part: Partial<Draft>): void => {
    forget();
    setMissing('');
    change(part);
  };
  const plan = async (): Promise<void> => {
    const period = typedPeriod(draft, config.timeZone);
    setMissing(known.length === 0 ? words.missing : period ? '' : slot.missingTime);
    if (known.length === 0 || !period) {
      return;
    }
    const body = announcement({ schedules: known, substitutes, period, reason: draft.reason });
    const answer = await submit(
      () => absence(body),
      ({ parameter = [] }) => {
        const count = parameter.filter(({ name }) => name === 'plan').length;
        return count === 0 ? words.notAffected : words.planned(count);
      },
    );
    if (answer) {
      clear();
      onPlanned(absenceIn(answer));
    }
  };
  return (
    <Form noValidate className="pane" aria-label={words.announce} onSend={() => void plan()}>
      <Stack gap="xs">
        <p className="help">{words.help}</p>
        <Choices schedules={schedules} label={words.who} chosen={known} onChoose={(ids) => edit({ schedules: ids })} />
        <FromTo type="datetime-local" value={draft} onChange={edit} />
        <TextInput
          label={slot.blockReason}
          description={slot.blockReasonHelp}
          maxLength={200}
          value={draft.reason}
          onChange={(event) => edit({ reason: event.currentTarget.value })}
        />
        {known.length > 0 && (
          <details>
            <summary>{words.substitutes(substitutes.length)}</summary>
            {possible.length === 0 ? (
              <p>{words.noSubstitutes}</p>
            ) : (
              <Choices
                schedules={possible}
                label={words.sameService}
                chosen={substitutes}
                onChoose={(ids) => edit({ substitutes: ids })}
              />
            )}
          </details>
        )}
        {missing && <p role="alert">{missing}</p>}
        {refusal && <Problem refusal={refusal} />}
        <Group gap="xs">
          <Button type="submit" loading={isBusy}>
            {words.plan}
          </Button>
          <Button variant="default" onClick={onClose}>
            {close}
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
