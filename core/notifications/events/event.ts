import type { Communication, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isId } from '../../fhir/reference.ts';
import { newRow, rowSearch } from '../../rows/row.ts';

/** After how many milliseconds a deletion is overdue for processing. */
const OVERDUE = 5_000;

/** After how many milliseconds a deletion has failed if its appointment still exists. */
const FAILED = 10 * 60_000;

/**
 * The Task that is written before an appointment is deleted. Medplum does not find deleted resources. Without the Task,
 * no subscriber would be notified of a deletion whose job is lost.
 */
export function deletionTask(id: string, config: PublicConfig): Task {
  const description = 'The slots and subscribers of an appointment follow its deletion';
  return newRow('deletion', { status: 'requested', description, focus: { reference: `Appointment/${id}` } }, config);
}

export const deletionsOf = (id: string, config: PublicConfig): string =>
  rowSearch(['deletion'], { focus: `Appointment/${id}` }, config);

/** The search for deletions that are overdue; `now` in milliseconds since 1970 UTC. */
export const overdueDeletions = (now: number, config: PublicConfig): string =>
  rowSearch(['deletion'], { _lastUpdated: `lt${formatInstant(now - OVERDUE)}` }, config);

/** The id of the appointment in a deletion Task. */
export const deletedId = ({ focus }: Task): string => focus?.reference?.split('/')[1] ?? '';

/** Whether a deletion failed after its check, given that its appointment still exists. */
export function hasFailed({ meta }: Task, now: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < now - FAILED;
}

const eventKinds = ['create', 'update', 'delete'] as const;

export type EventKind = (typeof eventKinds)[number];

/** An event of one Subscription: a change of an appointment. */
export interface Event {
  /** 1, 2, 3 … within the Subscription. */
  readonly number: number;
  readonly timestamp: string;
  readonly appointment: string;
  /** `meta.versionId` of the new version, or of the last one before a deletion. */
  readonly version: string;
  readonly kind: EventKind;
}

/** The key that identifies an event in the history of its appointment. */
export const eventKey = ({ version, kind }: Pick<Event, 'version' | 'kind'>): string =>
  kind === 'delete' ? `${version} deleted` : version;

export type EventFacts = Omit<Event, 'number'>;

type EventNumbers = ReadonlyMap<string, number>;

/**
 * The Communication that stores an event for all Subscriptions of one subscriber. It is written once. Each `identifier`
 * is a Subscription with the event's number; `based-on` finds the events of an appointment.
 */
export function eventResource(event: EventFacts, numbers: EventNumbers, config: PublicConfig): Communication {
  const appointment = `Appointment/${event.appointment}`;
  const system = artefactUri(config, 'LocalEvent');
  return {
    resourceType: 'Communication',
    identifier: [...numbers].map(([subscription, number]) => ({ system, value: `${subscription}/${number}` })),
    status: 'completed',
    basedOn: [{ reference: appointment }],
    about: [{ reference: `${appointment}/_history/${event.version}` }],
    topic: { text: event.kind },
    sent: formatInstant(Date.parse(event.timestamp)),
  };
}

/** The numbers of an event; empty if the Communication is not an event. */
export function eventNumbersOf({ identifier = [] }: Communication, config: PublicConfig): EventNumbers {
  const system = artefactUri(config, 'LocalEvent');
  const numbers = identifier.flatMap((one): [string, number][] => {
    const [id, number] = one.system === system ? (one.value?.split('/') ?? []) : [];
    return id && Number(number) > 0 ? [[id, Number(number)]] : [];
  });
  return new Map(numbers);
}

/** Reads an event of a Subscription; `undefined` if the Communication has none. */
export function eventOf(stored: Communication, subscriptionId: string, config: PublicConfig): Event | undefined {
  const { about, sent, topic, identifier = [] } = stored;
  const [eventSystem, prefix] = [artefactUri(config, 'LocalEvent'), `${subscriptionId}/`];
  // Identifiers of other Subscriptions are skipped first, because there may be many.
  const found = identifier.find(({ system, value }) => value?.startsWith(prefix) && system === eventSystem);
  const number = Number(found?.value?.slice(prefix.length));
  const [, appointment, , version] = about?.[0]?.reference?.split('/') ?? [];
  if (!(number > 0) || !isId(appointment) || !isId(version) || sent === undefined) {
    return undefined;
  }
  const kind = eventKinds.find((one) => one === topic?.text) ?? 'update';
  return { number, timestamp: sent, appointment, version, kind };
}

/** The search for events by Subscriptions and numbers, at most a hundred. */
export function eventsQuery(wanted: readonly (readonly [id: string, number: number])[], config: PublicConfig): string {
  const system = artefactUri(config, 'LocalEvent');
  const tokens = wanted.map(([id, number]) => `${system}|${id}/${number}`);
  return `Communication?identifier=${encodeURIComponent(tokens.join(','))}&_count=${wanted.length}`;
}

/** A sentence about requested events (`from` to `to`) that no longer exist; `undefined` if all are in `found`. */
export function missingEvents(from: number, to: number, found: readonly number[]): string | undefined {
  const kept = new Set(found);
  const missing: [first: number, last: number][] = [];
  for (let number = from; number <= to; number++) {
    const range = missing.at(-1);
    if (kept.has(number)) {
      continue;
    }
    if (range?.[1] === number - 1) {
      range[1] = number;
    } else {
      missing.push([number, number]);
    }
  }
  const ranges = missing.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
  return ranges.length > 0
    ? `The events ${ranges.join(', ')} are no longer kept: read the appointments to see their state.`
    : undefined;
}
