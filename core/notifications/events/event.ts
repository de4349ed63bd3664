import type { Communication } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isId } from '../../fhir/reference.ts';

/** An event of one Subscription: a version of an appointment that its subscriber must know of. */
export interface Event {
  /** 1, 2, 3 … within the Subscription. */
  readonly number: number;
  /** When the appointment was changed, as an instant. */
  readonly timestamp: string;
  /** Id of the appointment. */
  readonly appointment: string;
  /** `meta.versionId` of the version that the event is about. */
  readonly version: string;
  /** Whether the appointment was made by this change. */
  readonly isCreation: boolean;
}

const identifierValue = (subscriptionId: string, number: number): string => `${subscriptionId}/${number}`;

/**
 * The Communication in which an event is kept: `part-of` finds those of a Subscription, `based-on` those about an
 * appointment, `status` those that wait (`preparation`) and those delivered (`completed`), `identifier` one by
 * Subscription and number.
 */
export function eventResource(
  event: Event,
  subscriptionId: string,
  config: Pick<BookingConfig, 'profileBase' | 'names'>,
): Communication {
  const appointment = `Appointment/${event.appointment}`;
  return {
    resourceType: 'Communication',
    identifier: [{ system: artefactUri(config, 'LocalEvent'), value: identifierValue(subscriptionId, event.number) }],
    status: 'preparation',
    partOf: [{ reference: `Subscription/${subscriptionId}` }],
    basedOn: [{ reference: appointment }],
    about: [{ reference: `${appointment}/_history/${event.version}` }],
    topic: { text: event.isCreation ? 'create' : 'update' },
    sent: formatInstant(Date.parse(event.timestamp)),
  };
}

/** Reads an event from its Communication; `undefined` if it is none. */
export function eventOf(
  { identifier, about, sent, topic }: Communication,
  config: Pick<BookingConfig, 'profileBase' | 'names'>,
): Event | undefined {
  const system = artefactUri(config, 'LocalEvent');
  const [, number] = identifier?.find((one) => one.system === system)?.value?.split('/') ?? [];
  const [, appointment, , version] = about?.[0]?.reference?.split('/') ?? [];
  if (!number || !isId(appointment) || !isId(version) || sent === undefined) {
    return undefined;
  }
  return { number: Number(number), timestamp: sent, appointment, version, isCreation: topic?.text === 'create' };
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
export function eventsQuery(
  subscriptionId: string,
  from: number,
  to: number,
  config: Pick<BookingConfig, 'profileBase' | 'names'>,
): string {
  const system = artefactUri(config, 'LocalEvent');
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const tokens = numbers.map((number) => `${system}|${identifierValue(subscriptionId, number)}`);
  return `Communication?identifier=${encodeURIComponent(tokens.join(','))}&_count=${numbers.length}`;
}
