import { Button, SegmentedControl, Stack, Tabs, TextInput } from '@mantine/core';
import type { Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { publishedKeyOf } from '../../../../core/fhir/scheduling/slot-marks.ts';
import { type Entry, timeOf } from '../../day/entries.ts';
import { slotEntry, unblockingOf } from '../../slots/blocks.ts';
import { transaction } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { Form } from '../parts/form.tsx';
import { dayText, spanText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { BlockForm } from './block-form.tsx';
import { BookingForm } from './booking-form.tsx';

function useSlotChange(slot: Slot, onChanged: () => void) {
  const { appointment: words } = useTexts();
  const { submit, submitLater, refusal, isBusy } = useSubmit();
  const send = (change: Parameters<typeof slotEntry>[1]) => () => transaction([slotEntry(slot, change)]);
  const changed = (answer: object | undefined): boolean => {
    if (answer) {
      onChanged();
    }
    return answer !== undefined;
  };
  const block = async (comment: string): Promise<boolean> => {
    const blocked = { status: 'busy-unavailable', ...(comment.trim() && { comment: comment.trim() }) } as const;
    return changed(await submitLater(slot.id ?? '', words.done.blocked, send(blocked)));
  };
  const unblock = async (): Promise<boolean> => {
    const way = unblockingOf(slot, config);
    return (
      way !== 'closed-day' &&
      changed(await submit(send(way === 'delete' ? 'delete' : { status: 'free' }), words.done.unblocked))
    );
  };
  return { block, unblock, refusal, isBusy };
}

interface SlotProps {
  readonly slot: Slot;
  readonly onChanged: () => void;
}

/** Blocks a whole free time, or any time around it. Typed text stays when another time is opened, as for a booking. */
function BlockTab({ slot, schedules, onChanged }: SlotProps & { readonly schedules: readonly Schedule[] }) {
  const { slot: words } = useTexts();
  const { block, refusal, isBusy } = useSlotChange(slot, onChanged);
  const { draft, change, clear } = useDraft('block this time', { reason: '', isOther: false });
  const time = timeOf(slot);
  const own = schedules.filter(({ id }) => slot.schedule?.reference === `Schedule/${id}`);
  return (
    <Stack gap="xs">
      <SegmentedControl
        fullWidth
        aria-label={words.blockWhat}
        value={draft.isOther ? 'other' : 'this'}
        onChange={(value) => change({ isOther: value === 'other' })}
        data={[
          { value: 'this', label: words.blockThis },
          { value: 'other', label: words.blockOther },
        ]}
      />
      {draft.isOther && time ? (
        <BlockForm
          schedules={own}
          time={time}
          draftKey={`block around ${slot.id}`}
          onBlocked={() => {
            clear();
            onChanged();
          }}
        />
      ) : (
        <Form onSend={() => void block(draft.reason).then((isDone) => isDone && clear())}>
          <Stack gap="xs">
            {refusal && <Problem refusal={refusal} />}
            <TextInput
              label={words.blockReason}
              description={words.blockReasonHelp}
              maxLength={200}
              value={draft.reason}
              onChange={(event) => change({ reason: event.currentTarget.value })}
            />
            <TakeBack of={slot.id ?? ''}>
              <Button type="submit" loading={isBusy}>
                {words.block}
              </Button>
            </TakeBack>
          </Stack>
        </Form>
      )}
    </Stack>
  );
}

function Blocked({ slot, onChanged }: SlotProps) {
  const { slot: words } = useTexts();
  const { unblock, refusal, isBusy } = useSlotChange(slot, onChanged);
  if (publishedKeyOf(slot, config)?.kind === 'closed') {
    return <p>{words.closedDay}</p>;
  }
  return (
    <Stack gap="xs">
      {refusal && <Problem refusal={refusal} />}
      <Button onClick={() => void unblock()} loading={isBusy}>
        {words.unblock}
      </Button>
    </Stack>
  );
}

/** A time without an appointment: staff book it, block it, or free it. */
export function SlotPanel({
  entry,
  person,
  isThere,
  calendar,
  schedules,
  onChanged,
  onBooked,
}: {
  readonly entry: Entry;
  readonly person: Patient | undefined;
  readonly isThere: boolean;
  readonly calendar: string;
  readonly schedules: readonly Schedule[];
  readonly onChanged: () => void;
  readonly onBooked: (appointmentId: string) => void;
}) {
  const { language, slot: words, kind } = useTexts();
  const [slot] = entry.slots;
  return (
    <Stack gap="md">
      <p>
        {calendar && <strong>{calendar}: </strong>}
        {kind[entry.kind]}, {dayText(entry.start, language)}, {spanText(entry, language)}
        {slot?.comment && <>: {slot.comment}</>}
      </p>
      {slot && entry.kind === 'free' && (
        <Tabs defaultValue="book" keepMounted={false}>
          <Tabs.List grow>
            <Tabs.Tab value="book">{words.book}</Tabs.Tab>
            <Tabs.Tab value="block">{words.block}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="book" pt="md">
            <BookingForm slot={slot} person={person} schedules={schedules} onBooked={onBooked} onStale={onChanged} />
          </Tabs.Panel>
          <Tabs.Panel value="block" pt="md">
            <BlockTab slot={slot} schedules={schedules} onChanged={onChanged} />
          </Tabs.Panel>
        </Tabs>
      )}
      {slot && isThere && entry.kind === 'blocked' && <Blocked slot={slot} onChanged={onChanged} />}
      {entry.kind === 'taken' && <p>{words.takenWhy}</p>}
      {entry.kind === 'buffer' && <p>{words.bufferWhy}</p>}
    </Stack>
  );
}
