import type { Communication } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isId } from '../../fhir/reference/reference.ts';

/** What has happened to the appointment of an event. */
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

const identifierValue = (subscriptionId: string, number: number): string => `${subscriptionId}/${number}`;

/**
 * The Communication in which an event is kept: `part-of` finds those of a Subscription, `based-on` those about an
 * appointment, `status` those that wait (`preparation`) and those delivered (`completed`), `identifier` one by
 * Subscription and number.
 */
export function eventResource(event: Event, subscriptionId: string, config: ArtefactConfig): Communication {
  const appointment = `Appointment/${event.appointment}`;
  return {
    resourceType: 'Communication',
    identifier: [{ system: artefactUri(config, 'LocalEvent'), value: identifierValue(subscriptionId, event.number) }],
    status: 'preparation',
    partOf: [{ reference: `Subscription/${subscriptionId}` }],
    basedOn: [{ reference: appointment }],
    about: [{ reference: `${appointment}/_history/${event.version}` }],
    topic: { text: event.kind },
    sent: formatInstant(Date.parse(event.timestamp)),
  };
}

/** Reads an event from its Communication; `undefined` if the Communication is not an event. */
export function eventOf({ identifier, about, sent, topic }: Communication, config: ArtefactConfig): Event | undefined {
  const system = artefactUri(config, 'LocalEvent');
  const [, number] = identifier?.find((one) => one.system === system)?.value?.split('/') ?? [];
  const [, appointment, , version] = about?.[0]?.reference?.split('/') ?? [];
  if (!number || !isId(appointment) || !isId(version) || sent === undefined) {
    return undefined;
  }
  const kind = eventKinds.find((one) => one === topic?.text) ?? 'update';
  return { number: Number(number), timestamp: sent, appointment, version, kind };
}

/** An event's Communication after its delivery. */
export function deliveredEvent(stored: Communication, now: number): Communication {
  return { ...stored, status: 'completed', received: formatInstant(now) };
}

/**
 * The search that finds the events of a Subscription by their numbers.
 *
 * @param from - the first number
 * @param to - the last number; at most a hundred at once
 */
export function eventsQuery(subscriptionId: string, from: number, to: number, config: ArtefactConfig): string {
  const system = artefactUri(config, 'LocalEvent');
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const tokens = numbers.map((number) => `${system}|${identifierValue(subscriptionId, number)}`);
  return `Communication?identifier=${encodeURIComponent(tokens.join(','))}&_count=${numbers.length}`;
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
