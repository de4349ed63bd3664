import type { Communication } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isId } from '../../fhir/reference.ts';

const eventKinds = ['create', 'update', 'delete'] as const;

/** What has happened to the appointment of an event. */
export type EventKind = (typeof eventKinds)[number];

/** An event of one Subscription: something that happened to an appointment and that its subscriber must know of. */
export interface Event {
  /** 1, 2, 3 … within the Subscription. */
  readonly number: number;
  /** When it happened, as an instant. */
  readonly timestamp: string;
  /** Id of the appointment. */
  readonly appointment: string;
  /** `meta.versionId` of the version that the event is about: the new one, or the last one before a deletion. */
  readonly version: string;
  readonly kind: EventKind;
}

/** The key by which an event is recognized when it is found again in the history of its appointment. */
export const eventKey = ({ version, kind }: Pick<Event, 'version' | 'kind'>): string =>
  kind === 'delete' ? `${version} deleted` : version;

/** What an event says of itself, whoever is told of it. */
export type EventFacts = Omit<Event, 'number'>;

/** The number of an event in each of the Subscriptions that are told of it, by their ids. */
type EventNumbers = ReadonlyMap<string, number>;

/**
 * The Communication in which an event is kept for all Subscriptions of one subscriber: each `identifier` is a Subscription
 * and the number that the event has there; `based-on` finds the events about an appointment. It is written once.
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

/** The numbers of an event; none if the Communication is not an event. */
export function eventNumbersOf({ identifier = [] }: Communication, config: PublicConfig): EventNumbers {
  const system = artefactUri(config, 'LocalEvent');
  const numbers = identifier.flatMap((one): [string, number][] => {
    const [id, number] = one.system === system ? (one.value?.split('/') ?? []) : [];
    return id && Number(number) > 0 ? [[id, Number(number)]] : [];
  });
  return new Map(numbers);
}

/** Reads an event of a Subscription; `undefined` if the Communication is none. */
export function eventOf(stored: Communication, subscriptionId: string, config: PublicConfig): Event | undefined {
  const { about, sent, topic, identifier = [] } = stored;
  const [own, start] = [artefactUri(config, 'LocalEvent'), `${subscriptionId}/`];
  // Those of the other Subscriptions, of which there may be many, are not read.
  const found = identifier.find(({ system, value }) => value?.startsWith(start) && system === own);
  const number = Number(found?.value?.slice(start.length));
  const [, appointment, , version] = about?.[0]?.reference?.split('/') ?? [];
  if (!(number > 0) || !isId(appointment) || !isId(version) || sent === undefined) {
    return undefined;
  }
  const kind = eventKinds.find((one) => one === topic?.text) ?? 'update';
  return { number, timestamp: sent, appointment, version, kind };
}

/**
 * The search that finds events by Subscriptions and numbers.
 *
 * @param wanted - at most a hundred at once
 */
export function eventsQuery(wanted: readonly (readonly [id: string, number: number])[], config: PublicConfig): string {
  const system = artefactUri(config, 'LocalEvent');
  const tokens = wanted.map(([id, number]) => `${system}|${id}/${number}`);
  return `Communication?identifier=${encodeURIComponent(tokens.join(','))}&_count=${wanted.length}`;
}

/**
 * Says which of the events that were asked for no longer exist.
 *
 * @param from - the first number asked for; `to` is the last
 * @param found - the numbers that still exist
 * @returns a sentence for the subscriber; `undefined` if none is missing
 */
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
