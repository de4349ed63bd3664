import { Button, Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { useState } from 'react';
import { Link } from 'wouter';
import {
  type Concerned,
  confirmation,
  counted,
  countsOf,
  ending,
  isChoosable,
  isSameTime,
  type Line,
  type OpenAbsence,
  otherTimes,
  otherTimesSearch,
  type Proposal,
  type Silence,
  silences,
  type Wanted,
} from '../../absence/absences.ts';
import { patientIdOf, patientNameOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import { titleOf } from '../../day/queries.ts';
import { periodText, typedPeriod } from '../../slots/blocks.ts';
import { searchAll, searchUrl, absence as send } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { momentText } from '../parts/format.ts';
import { Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

interface Known {
  readonly concerned: Concerned;
  readonly schedules: ReadonlyMap<string, Schedule>;
}

const nameOf = (id: string, { schedules }: Pick<Known, 'schedules'>): string => {
  const schedule = schedules.get(id);
  return schedule ? titleOf(schedule) : `Schedule/${id}`;
};

function useLineWords(known: Known) {
  const { concerned } = known;
  const { language, absences: words, appointment: appointmentWords } = useTexts();
  return (line: Line) => {
    const appointment = concerned.appointments.get(line.appointment);
    const time = appointment && timeOf(appointment);
    const { proposal } = line;
    const who = proposal ? nameOf(proposal.schedule, known) : '';
    return {
      name: (appointment && patientNameOf(appointment, concerned.patients)) || appointmentWords.noPatient,
      patient: appointment && patientIdOf(appointment),
      time: time ? momentText(time.start, language) : '',
      proposed:
        proposal &&
        (isSameTime(line, appointment)
          ? words.sameTime(who)
          : words.otherTime(momentText(proposal.start, language), who)),
    };
  };
}

/** Number of lines that are shown at first. */
const FIRST = 50;

function Lines({
  lines,
  known,
  children,
}: {
  readonly lines: readonly Line[];
  readonly known: Known;
  readonly children: (line: Line, words: { name: string; proposed: string | undefined }) => React.ReactNode;
}) {
  const { absences: words } = useTexts();
  const [isWhole, setWhole] = useState(false);
  const wordsOf = useLineWords(known);
  return (
    <>
      <ul className="affected" aria-label={words.proposals}>
        {(isWhole ? lines : lines.slice(0, FIRST)).map((line) => {
          const { name, patient, time, proposed } = wordsOf(line);
          return (
            <li key={line.appointment}>
              <p>
                <strong>{patient ? <Link href={`/people/${patient}`}>{name}</Link> : name}</strong>
                {time && <>, {time}</>}
              </p>
              {children(line, { name, proposed })}
            </li>
          );
        })}
      </ul>
      {!isWhole && lines.length > FIRST && (
        <Button variant="default" size="xs" onClick={() => setWhole(true)}>
          {words.more(lines.length)}
        </Button>
      )}
    </>
  );
}

interface CardProps {
  readonly absence: OpenAbsence;
  readonly lines: readonly Line[];
  readonly known: Known;
  readonly onChanged: () => Promise<void>;
}

function OtherTimes({
  absence,
  appointment,
  known,
  used,
  name,
  onChosen,
}: Pick<CardProps, 'absence' | 'known'> & {
  readonly appointment: Appointment;
  /** Ids of Slots that are proposed for other appointments. */
  readonly used: ReadonlySet<string>;
  readonly name: string;
  readonly onChosen: (proposal: Proposal) => void;
}) {
  const { language, absences: words } = useTexts();
  const found = useLoaded(`times ${absence.id}`, async () => {
    const { type, query } = otherTimesSearch(absence, Date.now());
    return searchAll([searchUrl(type, query)]);
  });
  if (!found.value) {
    return <Loading of={[found]} />;
  }
  const times = otherTimes(found.value.flat(), appointment, absence, known.schedules, used, config);
  return times.length === 0 ? (
    <p role="status">{words.noneFree}</p>
  ) : (
    <NativeSelect
      label={words.another(name)}
      defaultValue=""
      onChange={({ currentTarget: { value: at } }) => {
        const chosen = times[Number(at)];
        if (at && chosen) {
          onChosen(chosen);
        }
      }}
      data={[
        { value: '', label: words.choose },
        ...times.map(({ start, schedule }, index) => ({
          value: String(index),
          label: words.otherTime(momentText(start, language), nameOf(schedule, known)),
        })),
      ]}
    />
  );
}

function Plan({ absence, lines, known, onChanged }: CardProps) {
  const { absences: words } = useTexts();
  const { draft, change, clear } = useDraft<{
    readonly wanted: Readonly<Record<string, Wanted>>;
    readonly silence: Silence;
  }>(`plan ${absence.id}`, { wanted: {}, silence: 'keep' });
  const [searched, setSearched] = useState<string>();
  const { submit, refusal, isBusy } = useSubmit();
  if (lines.length === 0) {
    return <p>{words.notAffected}</p>;
  }
  const want = (id: string, one: Wanted | undefined): void => {
    const { [id]: _, ...others } = draft.wanted;
    change({ wanted: one ? { ...others, [id]: one } : others });
  };
  const wished = lines.map((line): Line => {
    const own = draft.wanted[line.appointment];
    return own && own !== 'call' ? { ...line, proposal: own } : line;
  });
  const confirm = async (): Promise<void> => {
    const sent = lines.flatMap(({ appointment: id }) => (draft.wanted[id] ? [[id, draft.wanted[id]] as const] : []));
    if (await submit(() => send(confirmation(absence, draft.silence, Object.fromEntries(sent))), words.confirmed)) {
      clear();
    }
    await onChanged();
  };
  return (
    <Form onSend={() => void confirm()}>
      <Stack gap="xs">
        <p>
          {words.planned(lines.length)} {words.toConfirm}
        </p>
        {lines.some(({ proposal }) => proposal) && <p className="help">{words.offerHelp}</p>}
        <Lines lines={wished} known={known}>
          {(line, { name, proposed }) => {
            const id = line.appointment;
            const isOffered = draft.wanted[id] !== 'call';
            const appointment = known.concerned.appointments.get(id);
            return (
              <>
                {proposed ? (
                  <Checkbox
                    label={proposed}
                    description={isOffered ? words.reach[line.reach] : words.byCall}
                    aria-label={`${words.offer(name)}: ${proposed}`}
                    checked={isOffered}
                    onChange={() => want(id, isOffered ? 'call' : undefined)}
                  />
                ) : (
                  <p>{words.nothing}</p>
                )}
                {appointment && searched === id ? (
                  <OtherTimes
                    absence={absence}
                    appointment={appointment}
                    known={known}
                    used={new Set(wished.flatMap(({ proposal }) => proposal?.slots ?? []))}
                    name={name}
                    onChosen={(chosen) => {
                      want(id, chosen);
                      setSearched(undefined);
                    }}
                  />
                ) : (
                  appointment &&
                  isChoosable(appointment, config) && (
                    <Button
                      variant="subtle"
                      size="compact-sm"
                      aria-label={words.another(name)}
                      onClick={() => setSearched(id)}
                    >
                      {words.anotherTime}
                    </Button>
                  )
                )}
              </>
            );
          }}
        </Lines>
        <NativeSelect
          label={words.silence}
          value={draft.silence}
          onChange={({ currentTarget: { value } }) =>
            change({ silence: silences.find((one) => one === value) ?? 'keep' })
          }
          data={silences.map((value) => ({ value, label: words.silences[value] }))}
        />
        {refusal && <Problem refusal={refusal} onReload={() => void onChanged()} />}
        <Group gap="xs">
          <Button type="submit" loading={isBusy}>
            {words.confirm}
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}

function Progress({ lines, known }: Pick<CardProps, 'lines' | 'known'>) {
  const { absences: words } = useTexts();
  const counts = countsOf(lines);
  const shown = counted.filter((one) => counts[one] > 0 || one !== 'done').map((one) => words.counts[one](counts[one]));
  return (
    <>
      <p role="status">
        <strong>{shown.join(' · ')}</strong>
      </p>
      {counts.call > 0 && (
        <p>
          <Link href="/messages">{words.toCall}</Link>
        </p>
      )}
      <Lines lines={lines} known={known}>
        {({ step }, { proposed }) => (
          <p>
            {[words.step[step], proposed && step !== 'call' && step !== 'called' && proposed]
              .filter(Boolean)
              .join(' · ')}
          </p>
        )}
      </Lines>
    </>
  );
}

function EndEarly({ absence, onChanged }: Pick<CardProps, 'absence' | 'onChanged'>) {
  const { absences: words, appointment } = useTexts();
  const [at, setAt] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  const { submit, refusal, isBusy } = useSubmit();
  const textOf = (time: number): string => periodText({ start: time, end: time }, config.timeZone).from;
  const last = textOf(absence.period.end);
  if (at === undefined) {
    return (
      <Group>
        <Button variant="default" size="xs" onClick={() => setAt(textOf(Date.now()))}>
          {words.end}
        </Button>
      </Group>
    );
  }
  const end = async (): Promise<void> => {
    const typed = typedPeriod({ from: at, to: last }, config.timeZone);
    setMissing(!typed);
    if (typed && (await submit(() => send(ending(absence, typed.start)), words.ended))) {
      setAt(undefined);
      await onChanged();
    }
  };
  return (
    <Form noValidate onSend={() => void end()}>
      <Stack gap="xs">
        <TextInput
          type="datetime-local"
          required
          label={words.endAt}
          description={words.endHelp}
          value={at}
          onChange={(event) => setAt(event.currentTarget.value)}
        />
        {isMissing && <p role="alert">{words.endMissing}</p>}
        {refusal && <Problem refusal={refusal} onReload={() => void onChanged()} />}
        <Group gap="xs">
          <Button type="submit" loading={isBusy}>
            {words.endSure}
          </Button>
          <Button variant="default" onClick={() => setAt(undefined)}>
            {appointment.back}
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}

/** An absence: its plan until staff confirm it, then its progress. */
export function AbsenceCard(props: CardProps) {
  const { language } = useTexts();
  const { absence, known } = props;
  const { schedules, period, reason, isConfirmed } = absence;
  const who = schedules.map((id) => nameOf(id, known)).join(', ');
  return (
    <section className="pane" aria-labelledby={`absence-${absence.id} time-${absence.id}`}>
      <h2 id={`absence-${absence.id}`} tabIndex={-1}>
        {who}
      </h2>
      <p id={`time-${absence.id}`}>
        {momentText(period.start, language)} – {momentText(period.end, language)}
        {reason && `: ${reason}`}
      </p>
      <Stack gap="xs" mt="xs">
        {isConfirmed ? <Progress {...props} /> : <Plan {...props} />}
        <EndEarly absence={absence} onChanged={props.onChanged} />
      </Stack>
    </section>
  );
}
