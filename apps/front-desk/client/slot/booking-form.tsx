import { Button, Group, NativeSelect, Stack, Textarea } from '@mantine/core';
import type { Appointment, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { useState } from 'react';
import { idIn } from '../../../../core/fhir/reference.ts';
import { isResource, nameOf } from '../../../../core/fhir/resource.ts';
import type { Interval } from '../../../../core/time/interval.ts';
import {
  bookingRequest,
  foundBy,
  lengthWithin,
  onPurpose,
  patientFor,
  servicesOffered,
  type Wanted,
  wantedOf,
} from '../../appointment/booking.ts';
import { conceptText } from '../../appointment/people.ts';
import { withStatus } from '../../appointment/status-steps.ts';
import { timeOf } from '../../day/entries.ts';
import { titleOf } from '../../day/queries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { book, create, resourcesIn, transaction, update } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { dayText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Alternatives } from './alternatives.tsx';
import { firstTime, TimeFields, typedInterval } from './time-fields.tsx';
import { personKey, twinsOf, Who, type WhoDraft } from './who.tsx';

interface Draft extends WhoDraft {
  readonly comment: string;
  /** Ids of the sent requests by content: equal in repeated requests. */
  readonly sent: Readonly<Record<string, string>>;
}

const emptyDraft: Draft = {
  isNew: false,
  search: '',
  patient: '',
  patientName: '',
  given: '',
  family: '',
  birthDate: '',
  phone: '',
  email: '',
  other: '',
  comment: '',
  sent: {},
};

const draftFor = (person: Patient | undefined): Draft => {
  const name = person ? nameOf(person) : '';
  return {
    ...emptyDraft,
    search: `${name} ${person?.birthDate ?? ''}`.trim(),
    patient: person?.id ?? '',
    patientName: name,
  };
};

const noAnswer: Refusal = { refused: true, status: 0, codes: [], sentences: [], alternatives: [] };

/** Books by telephone. Typed text stays until the booking is stored. */
export function BookingForm({
  slot,
  person,
  schedules,
  onBooked,
  onStale,
}: {
  /** The free Slot; without an id, any other time that is booked on purpose. */
  readonly slot: Slot;
  /** The patient for whom staff looked for the time. */
  readonly person: Patient | undefined;
  /** Includes the Slot's calendar. Outside the bookable slots another one can be chosen. */
  readonly schedules: readonly Schedule[];
  readonly onBooked: (appointmentId: string) => void;
  readonly onStale: () => void;
}) {
  const {
    language,
    booking: words,
    appointment: appointmentWords,
    slot: slotWords,
    day: dayWords,
    person: personWords,
  } = useTexts();
  const { draft, change, clear } = useDraft<Draft>(person ? `booking for ${person.id}` : 'booking', draftFor(person));
  const [time, setTime] = useState(() =>
    firstTime(slot, lengthWithin(timeOf(slot) ?? { start: 0, end: 0 }, undefined)),
  );
  const [missing, setMissing] = useState(false);
  const [hasTwin, setTwin] = useState<boolean>();
  const isOnPurpose = slot.id === undefined;
  const [calendar, setCalendar] = useState(idIn(slot.schedule, 'Schedule'));
  const schedule = schedules.find(({ id }) => id === calendar);
  const services = servicesOffered(slot, schedule);
  const [chosen, setChosen] = useState(0);
  const { submit, refusal, isBusy } = useSubmit();
  const interval = typedInterval(slot, time);
  const name = draft.isNew
    ? `${draft.given} ${draft.family}`.trim()
    : draft.patient && (draft.patientName || words.unnamed);

  /** Books outside the bookable slots. A new patient is stored first: the guard of appointments must find it. */
  const sendOnPurpose = async (
    time: Interval,
    record: string,
    uuid: string,
    isOverbooking: boolean,
  ): Promise<Appointment | Refusal> => {
    const made = draft.isNew ? await create('Patient', patientFor(draft, record), foundBy(record)) : undefined;
    if (!schedule || (made && isRefusal(made))) {
      return made && isRefusal(made) ? made : noAnswer;
    }
    const who = made ? { id: made.id ?? '', name: nameOf(made) } : { id: draft.patient, name: draft.patientName };
    const comment = draft.comment.trim();
    const answer = await transaction(
      onPurpose({ ...time, schedule, who, service: services[chosen], comment, uuid, isOverbooking }, config),
    );
    return isRefusal(answer) ? answer : (resourcesIn(answer).find((one) => isResource(one, 'Appointment')) ?? noAnswer);
  };
  const send = async (wanted: Wanted, isOverbooking = false): Promise<void> => {
    const { isNew, given, family, birthDate, phone, email } = draft;
    const who = isNew ? { given, family, birthDate, phone, email } : { id: draft.patient, name: draft.patientName };
    // A different person is a different record; a different person, time or calendar is a different booking.
    const [record, booking] = [JSON.stringify(who), JSON.stringify([who, wanted.start, wanted.end, calendar])];
    // A new patient who was sent before may be stored already.
    if (isNew && !draft.sent[record] && draft.other !== personKey(draft)) {
      const twins = await submit(() => twinsOf(draft));
      setTwin(twins && twins.length > 0);
      if (twins?.length !== 0) {
        return;
      }
    }
    const sent = { [record]: crypto.randomUUID(), [booking]: crypto.randomUUID(), ...draft.sent };
    const uuid = sent[booking] ?? '';
    change({ sent });
    const booked = await submit(
      async () => {
        if (isOnPurpose) {
          return sendOnPurpose(wanted, sent[record] ?? '', uuid, isOverbooking);
        }
        const answer = await book(bookingRequest(wanted, who, services[chosen], draft.comment.trim(), uuid, config));
        if (isRefusal(answer) || answer.status !== 'pending') {
          return answer;
        }
        // A booking by staff needs no confirmation, whatever the calendar says about portals.
        const confirmed = await update('Appointment', withStatus(answer, 'booked'));
        return isRefusal(confirmed) ? answer : confirmed;
      },
      ({ status }) => (status === 'pending' ? appointmentWords.done.requested : appointmentWords.done.booked),
    );
    if (!booked) {
      onStale();
      return;
    }
    clear();
    onBooked(booked.id ?? '');
  };

  return (
    <Form
      onSend={() => {
        const isMissing = !interval || !schedule || (!draft.isNew && !draft.patient);
        setMissing(isMissing);
        if (interval && !isMissing) {
          void send({ ...interval, slot });
        }
      }}
    >
      <Stack gap="md">
        {isOnPurpose && (
          <NativeSelect
            label={dayWords.calendars}
            description={dayText(timeOf(slot)?.start ?? 0, language)}
            required
            value={calendar ?? ''}
            onChange={(event) => setCalendar(event.currentTarget.value)}
            data={[
              ...(calendar ? [] : [{ value: '', label: words.chooseCalendar }]),
              ...schedules.map((one) => ({ value: one.id ?? '', label: titleOf(one) })),
            ]}
          />
        )}
        <TimeFields value={time} onChange={(part) => setTime((before) => ({ ...before, ...part }))} />
        {services.length > 1 && (
          <NativeSelect
            label={appointmentWords.service}
            value={chosen}
            onChange={(event) => setChosen(Number(event.currentTarget.value))}
            data={services.map((concept, index) => ({ value: String(index), label: conceptText(concept) }))}
          />
        )}
        <Who draft={draft} change={change} />
        <Textarea
          label={appointmentWords.comment}
          description={words.commentHelp}
          autosize
          minRows={1}
          maxLength={1000}
          value={draft.comment}
          onChange={(event) => change({ comment: event.currentTarget.value })}
        />
        {hasTwin && draft.isNew && draft.other !== personKey(draft) && (
          <Group role="alert" gap="xs">
            <p>{words.hasTwin}</p>
            <Button variant="default" size="xs" onClick={() => change({ other: personKey(draft) })}>
              {words.isOther}
            </Button>
          </Group>
        )}
        {missing && <p role="alert">{words.required}</p>}
        {refusal && (
          <Problem refusal={refusal}>
            <Alternatives
              alternatives={refusal.alternatives}
              isBusy={isBusy}
              onTake={(alternative) => void send(wantedOf(alternative, slot))}
            />
            {isOnPurpose && interval && refusal.codes.includes('schedule-overbooked') && (
              <Button variant="default" loading={isBusy} onClick={() => void send({ ...interval, slot }, true)}>
                {words.overbook}
              </Button>
            )}
          </Problem>
        )}
        {/* Typed text may belong to an earlier time, so the form names its patient. */}
        {name && (
          <Group justify="space-between">
            <strong>{personWords.bookingFor(name)}</strong>
            <Button variant="default" size="xs" onClick={() => change({ ...draftFor(person), sent: draft.sent })}>
              {words.anew}
            </Button>
          </Group>
        )}
        <Button type="submit" loading={isBusy}>
          {slotWords.book}
        </Button>
      </Stack>
    </Form>
  );
}
