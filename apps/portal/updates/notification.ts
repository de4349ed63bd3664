import { isId } from '../../../core/fhir/reference.ts';
import { isObject } from '../../../core/fhir/resource.ts';

/** The elements of a notification that the portal needs. */
export interface Notification {
  readonly subscription: string;
  readonly type: 'handshake' | 'heartbeat' | 'event-notification';
  /** Number of its first event; equals `number` if it has no events. */
  readonly first: number;
  /** Number of its last event, or of the last event before it if it has none. */
  readonly number: number;
  /** Ids of changed appointments. */
  readonly appointments: readonly string[];
}

const list = (value: unknown): Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const types = ['handshake', 'heartbeat', 'event-notification'] as const;

const named = (parameters: unknown, name: string) => list(parameters).filter((one) => one.name === name);

function referenceIn(parameter: Readonly<Record<string, unknown>> | undefined): string {
  const reference = isObject(parameter?.valueReference) ? parameter.valueReference.reference : undefined;
  return typeof reference === 'string' ? reference : '';
}

function appointmentIn(event: Readonly<Record<string, unknown>>): string[] {
  const [type, id] = referenceIn(named(event.part, 'focus')[0]).split('/').slice(-2);
  return type === 'Appointment' && isId(id) ? [id] : [];
}

/**
 * Parses a notification of the booking service.
 *
 * @returns `undefined` if the body is not a notification
 * @see
 * https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/StructureDefinition-backport-subscription-notification-r4.html
 */
export function notificationIn(body: unknown): Notification | undefined {
  const [entry] = isObject(body) && body.resourceType === 'Bundle' ? list(body.entry) : [];
  const status = isObject(entry?.resource) ? entry.resource.parameter : undefined;
  const type = types.find((one) => one === named(status, 'type')[0]?.valueCode);
  const subscription = referenceIn(named(status, 'subscription')[0]);
  const events = named(status, 'notification-event');
  const numbers = [
    ...events.map(({ part }) => named(part, 'event-number')[0]),
    ...(events.length === 0 ? named(status, 'events-since-subscription-start') : []),
  ].map((one) => Number(one?.valueString ?? Number.NaN));
  const [first, number] = [Math.min(...numbers), Math.max(...numbers)];
  return type && subscription !== '' && Number.isSafeInteger(first) && Number.isSafeInteger(number)
    ? { subscription, type, first, number, appointments: events.flatMap(appointmentIn) }
    : undefined;
}
