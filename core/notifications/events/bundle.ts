import type {
  Appointment,
  Bundle,
  BundleEntry,
  Parameters,
  ParametersParameter,
  Subscription,
} from '@medplum/fhirtypes';
import { backport } from '../../fhir/backport.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Content } from '../subscription/subscription-parameters.ts';
import type { Event, EventKind } from './event.ts';

export type StatusType = 'handshake' | 'heartbeat' | 'event-notification' | 'query-status' | 'query-event';

export interface StatusReport {
  readonly id: string;
  readonly status: NonNullable<Subscription['status']>;
  readonly topic: string;
  readonly type: StatusType;
  readonly events: number;
  readonly error?: string | undefined;
  /** The requested events that were deleted, as a sentence. */
  readonly missing?: string | undefined;
}

/** An event, with the part that the subscriber may see. */
export interface EventContent {
  readonly event: Event;
  /** The appointment's version of the event; absent if it is unknown or the subscriber may not read it. */
  readonly appointment?: Appointment | undefined;
}

export interface BundleContext {
  readonly baseUrl: string;
  readonly now: number;
  readonly newId: () => string;
}

const focusOf = ({ event, appointment }: EventContent, baseUrl: string): string | undefined =>
  appointment && `${baseUrl}/Appointment/${event.appointment}`;

function eventParameter(content: EventContent, focus: string | undefined): ParametersParameter {
  const { number, timestamp } = content.event;
  return {
    name: 'notification-event',
    part: [
      { name: 'event-number', valueString: String(number) },
      { name: 'timestamp', valueInstant: timestamp },
      ...(focus ? [{ name: 'focus', valueReference: { reference: focus } }] : []),
    ],
  };
}

const uuidIn = (address: string): string => address.replace(/^urn:uuid:/, '');

/** The status of a Subscription; `address` is the `urn:uuid` of its entry, `events` are parameters of the status. */
function statusParameters(
  report: StatusReport,
  { baseUrl }: BundleContext,
  address: string,
  events: ParametersParameter[],
): Parameters {
  const { id, status, topic, type, events: count, error, missing } = report;
  const errors = [error, missing].flatMap((text) => (text ? [text] : []));
  return {
    resourceType: 'Parameters',
    id: uuidIn(address),
    meta: { profile: [backport.statusR4] },
    parameter: [
      { name: 'subscription', valueReference: { reference: `${baseUrl}/Subscription/${id}` } },
      { name: 'topic', valueCanonical: topic },
      { name: 'status', valueCode: status },
      { name: 'type', valueCode: type },
      { name: 'events-since-subscription-start', valueString: String(count) },
      ...events,
      ...errors.map((text) => ({ name: 'error', valueCodeableConcept: { text } })),
    ],
  };
}

const interactions = {
  create: { method: 'POST', status: '201', hasId: false },
  update: { method: 'PUT', status: '200', hasId: true },
  delete: { method: 'DELETE', status: '204', hasId: true },
} as const satisfies Record<EventKind, object>;

/** The entry of an event, if the subscriber may read its appointment. A deletion has no resource. */
function appointmentEntry({ event, appointment }: EventContent, content: Content, baseUrl: string): BundleEntry[] {
  if (!appointment) {
    return [];
  }
  const { appointment: id, kind, timestamp, version } = event;
  const { method, status, hasId } = interactions[kind];
  const isGone = kind === 'delete';
  return [
    {
      fullUrl: `${baseUrl}/Appointment/${id}`,
      ...(content === 'full-resource' && !isGone && { resource: appointment }),
      request: { method, url: hasId ? `Appointment/${id}` : 'Appointment' },
      response: { status, ...(!isGone && { etag: `W/"${version}"` }), lastModified: timestamp },
    },
  ];
}

/**
 * A notification: a Bundle of type history whose first entry is the state of the Subscription, followed by its events.
 * For the content `empty`, only the state contains the numbers and times of events.
 * @param contents - the events, in order; none for a handshake or a heartbeat
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/StructureDefinition-backport-subscription-notification-r4.html
 */
export function notification(
  report: StatusReport,
  contents: readonly EventContent[],
  content: Content,
  context: BundleContext,
): Bundle {
  const { baseUrl, now, newId } = context;
  const isEmpty = content === 'empty';
  const parameters = contents.map((eventContent) =>
    eventParameter(eventContent, isEmpty ? undefined : focusOf(eventContent, baseUrl)),
  );
  const address = newId();
  return {
    resourceType: 'Bundle',
    id: uuidIn(newId()),
    meta: { profile: [backport.notificationR4] },
    type: 'history',
    timestamp: formatInstant(now),
    entry: [
      {
        fullUrl: address,
        resource: statusParameters(report, context, address, parameters),
        request: { method: 'GET', url: `Subscription/${report.id}/$status` },
        response: { status: '200' },
      },
      ...(isEmpty ? [] : contents.flatMap((eventContent) => appointmentEntry(eventContent, content, baseUrl))),
    ],
  };
}

/**
 * The response to `$status`: a searchset of Parameters, one for each Subscription.
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-status.html
 */
export function statusBundle(reports: readonly StatusReport[], context: BundleContext): Bundle {
  const { now, newId } = context;
  return {
    resourceType: 'Bundle',
    id: uuidIn(newId()),
    type: 'searchset',
    timestamp: formatInstant(now),
    total: reports.length,
    entry: reports.map((report) => {
      const address = newId();
      return {
        fullUrl: address,
        resource: statusParameters(report, context, address, []),
        search: { mode: 'match' },
      };
    }),
  };
}
