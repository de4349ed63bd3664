import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Communication, Task } from '@medplum/fhirtypes';
import { patientOf } from '../../../core/booking/jobs/confirmation-task.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import type { Member } from '../../../core/messages/message.ts';
import { afterAttempt, type Step, saidAtOnce } from '../../../core/messages/next-step.ts';
import { isOfClinic } from '../../../core/messages/recipient.ts';
import { areOff, type Thread, threadOf, threadsSearch, threadTask } from '../../../core/messages/thread.ts';
import { seriesOf } from '../../../core/visits/group.ts';
import { config } from '../config.ts';
import { ofType, readInTransaction } from '../read.ts';
import { groupSearch } from '../visits/dependent-appointments.ts';

/** Another appointment of a series, with what was said about it. */
interface Occurrence {
  readonly appointment: Appointment;
  readonly row: Task | undefined;
  readonly thread: Thread | undefined;
}

/** The others of a series, of the same patient and requestor, in the order of time; none if it is no series. */
async function readOccurrences(medplum: MedplumClient, own: Appointment): Promise<Occurrence[]> {
  const series = seriesOf(own, config);
  const [found] = series === undefined ? [] : await readInTransaction(medplum, [groupSearch(series)]);
  const timeOf = ({ start }: Appointment): number => parseInstant(start) ?? 0;
  const others = ofType('Appointment', found)
    .filter(({ id }) => id !== own.id)
    .filter(
      (appointment) =>
        patientOf(appointment)?.reference === patientOf(own)?.reference &&
        ownerOf(appointment, config) === ownerOf(own, config),
    )
    .filter((appointment) => isOfClinic(appointment, config))
    .sort((appointment, other) => timeOf(appointment) - timeOf(other));
  const ids = others.flatMap(({ id }) => id ?? []);
  const [known] = ids.length > 0 ? await readInTransaction(medplum, [threadsSearch(ids, config)]) : [];
  const rows = new Map(ofType('Task', known).map((row) => [idIn(row.focus, 'Appointment'), row]));
  return others.map((appointment) => {
    const row = rows.get(appointment.id);
    return { appointment, row, thread: row && threadOf(row) };
  });
}

/** What a message about an appointment of a series says at once of others of it. */
export interface AtOnce {
  readonly members: readonly Member[];
  /** The id of an earlier one of which the same is to be said: its message says it of all. */
  readonly earlier: string | undefined;
  /** The rows that are needed first, as threads. */
  readonly unknown: readonly Thread[];
  /** The entries that keep what the others of the series are told, or are no longer. */
  readonly entry: readonly BundleEntry[];
}

const alone: AtOnce = { members: [], earlier: undefined, unknown: [], entry: [] };

/** A member whose row says of what was told. */
const memberOf = ({ appointment, row }: Occurrence, thread: Thread): Member[] =>
  row && thread.known ? [{ appointment, row, thread: { ...thread, known: thread.known } }] : [];

/**
 * Which others of its series a message about an appointment is about.
 *
 * @param last - the Communication of a message that was claimed and may not have been sent
 * @param next - what is to be done about another appointment
 */
export async function readAtOnce(
  medplum: MedplumClient,
  step: Step,
  own: Appointment | undefined,
  last: Communication | undefined,
  next: (thread: Thread | undefined, appointment: Appointment) => Step,
): Promise<AtOnce> {
  const claimed = new Set((last?.about ?? []).flatMap((reference) => idIn(reference, 'Appointment') ?? []));
  const isNew = step.do === 'send' && step.isNew && saidAtOnce.includes(step.kind);
  if (!own || step.do === 'nothing' || (!isNew && claimed.size < 2)) {
    return alone;
  }
  const others = await readOccurrences(medplum, own);
  const before = others.filter(({ appointment: { id = '' } }) => claimed.has(id));
  if (step.do === 'send' && !step.isNew) {
    const still = before.filter(({ appointment }) => areOff([appointment]) === areOff([own]));
    return { ...alone, members: still.flatMap((occurrence) => memberOf(occurrence, occurrence.thread ?? step.thread)) };
  }
  const now = Date.now();
  const same = others.flatMap((occurrence) => {
    const its = occurrence.thread?.claimed ? undefined : next(occurrence.thread, occurrence.appointment);
    return isNew && its?.do === 'send' && its.isNew && its.kind === step.kind
      ? [{ one: occurrence, thread: its.thread }]
      : [];
  });
  const members = same.flatMap(({ one, thread }) => memberOf(one, afterAttempt(thread, true, now).thread));
  const [first] = same.map(({ one }) => one.appointment);
  const isEarlier = (parseInstant(first?.start) ?? 0) < (parseInstant(own.start) ?? 0);
  const notified = new Set(members.map(({ row }) => row));
  // Who was to be told by a message that is not sent is told by the next one.
  const notNotified = before.flatMap(({ row, thread }) =>
    row && thread && !thread.claimed && !notified.has(row)
      ? [updateEntry(row, threadTask({ ...thread, known: undefined, due: now }, config, row))]
      : [],
  );
  return {
    members,
    earlier: isEarlier ? first?.id : undefined,
    unknown: same.flatMap(({ one, thread }) => (one.row ? [] : [thread])),
    entry: [...members.map(({ row, thread }) => updateEntry(row, threadTask(thread, config, row))), ...notNotified],
  };
}
