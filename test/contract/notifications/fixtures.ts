import type { Appointment, Patient, Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri, type Confirmation } from '../../../core/fhir/artefacts.ts';
import { backport } from '../../../core/fhir/backport.ts';
import { type Outbox, type OutboxStatus, outboxesOf } from '../../../core/notifications/delivery/outbox.ts';
import type { Content } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { type TopicName, topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, aSchedule, aSlot, book, proposed, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config, type Role } from '../installation.ts';
import type { Listener } from './listener.ts';

/** What a Subscription of the tests asks for. */
export interface Asked {
  readonly topic?: TopicName;
  readonly content?: Content;
  readonly payload?: string;
  readonly filter?: string;
  readonly header?: string[];
  readonly heartbeat?: number;
  readonly timeout?: number;
  readonly more?: Partial<Subscription>;
}

/** A Subscription as a subscriber submits it, to an endpoint of which the address or the listener is given. */
export function subscription(endpoint: string | Listener, asked: Asked = {}): Subscription {
  const { topic = 'appointment-update', content = 'id-only', payload = 'application/fhir+json' } = asked;
  const { filter, header, heartbeat, timeout, more } = asked;
  const extension = [
    ...(heartbeat === undefined ? [] : [{ url: backport.heartbeatPeriod, valueUnsignedInt: heartbeat }]),
    ...(timeout === undefined ? [] : [{ url: backport.timeout, valueUnsignedInt: timeout }]),
  ];
  const body: object = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Test',
    criteria: topicUrl(topic, config),
    ...(filter && { _criteria: { extension: [{ url: backport.filterCriteria, valueString: filter }] } }),
    channel: {
      ...(extension.length > 0 && { extension }),
      type: 'rest-hook',
      endpoint: typeof endpoint === 'string' ? endpoint : endpoint.url,
      payload,
      _payload: { extension: [{ url: backport.payloadContent, valueCode: content }] },
      ...(header && { header }),
    },
    ...more,
  };
  return JSON.parse(JSON.stringify(body));
}

/** A Subscription to a websocket, as a subscriber submits it. */
export function toWebsocket(asked: Asked = {}): Subscription {
  const { channel, ...rest } = subscription('', asked);
  const { endpoint: _, ...others } = channel;
  return { ...rest, channel: { ...others, type: 'websocket' } };
}

const made: { readonly id: string; readonly role: Role }[] = [];

/** Sends a Subscription. */
export async function submit(body: unknown, role: Role = 'portal-a') {
  const response = await request(role, 'POST', '/Subscription', { body });
  if (response.status === 201) {
    made.push({ id: resourceIn('Subscription', response).id ?? '', role });
  }
  return response;
}

/** Ends the Subscriptions that the tests of a file have made: nobody is to be told any more. */
export async function unsubscribeAll(): Promise<void> {
  for (const { id, role } of made.splice(0)) {
    await request(role, 'DELETE', `/Subscription/${id}`);
  }
}

/** The current state of a Subscription as its owner sees it. */
export async function current(id: string | undefined, role: Role = 'portal-a'): Promise<Subscription> {
  return succeeded('Subscription', await request(role, 'GET', `/Subscription/${id}`));
}

/** Waits until a Subscription has a status, for a time in milliseconds that is scaled. */
export function turnsTo(
  status: Subscription['status'],
  id: string | undefined,
  role: Role = 'portal-a',
  patience = 15_000,
) {
  return eventually(() => current(id, role), patience).is((one) => one.status === status);
}

/** The rows in which the outboxes of subscribers are stored. */
async function rows(): Promise<Task[]> {
  const path = `/${rowSearch(['outboxes'], { _count: '1000' }, config)}`;
  const entries = resourceIn('Bundle', await medplum('admin', 'GET', path)).entry ?? [];
  return entries.flatMap(({ resource }) => (resource?.resourceType === 'Task' ? [resource] : []));
}

/** The row with the outbox of a Subscription, and the outbox. */
export async function rowOf(id: string | undefined): Promise<{ task: Task; outbox: Outbox } | undefined> {
  const found = (await rows()).flatMap((task) => {
    const outbox = outboxesOf(task).of.get(id ?? '');
    return outbox ? [{ task, outbox }] : [];
  });
  return found[0];
}

/** The outbox of a Subscription as it is stored. */
export const outboxNow = async (id: string | undefined): Promise<Outbox | undefined> => (await rowOf(id))?.outbox;

/** The outboxes of a Subscription in all versions, the newest first. */
export async function outboxesSoFar(id: string | undefined): Promise<Outbox[]> {
  const { task } = (await rowOf(id)) ?? {};
  const response = await medplum('admin', 'GET', `/Task/${task?.id}/_history?_count=1000`);
  const versions = (resourceIn('Bundle', response).entry ?? []).map(({ resource }) => resource);
  return versions.flatMap((one) => (one?.resourceType === 'Task' ? (outboxesOf(one).of.get(id ?? '') ?? []) : []));
}

/** Waits until the outbox of a Subscription has a status. */
export const outboxTurnsTo = (status: OutboxStatus, id: string | undefined) =>
  eventually(() => outboxNow(id)).is((outbox) => outbox?.status === status);

/** A Subscription that is active. */
export async function subscribed(listener: Listener, asked: Asked = {}, role: Role = 'portal-a') {
  const { id } = succeeded('Subscription', await submit(subscription(listener, asked), role));
  return turnsTo('active', id, role);
}

/** A filter for the appointments of one patient: the events of other tests stay out. */
export const about = ({ id }: Patient): Asked => ({ filter: `Appointment?patient=Patient/${id}` });

/** A booking that waits for its confirmation, or is confirmed at once; by default for a new patient. */
export async function aBooking(confirmation: Confirmation = 'manual', role: Role = 'portal-a', known?: Patient) {
  const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: confirmation }];
  const schedule = await aSchedule({ extension });
  const [slot, patient] = await Promise.all([aSlot(schedule, 0, 30), known ?? aPatient(role)]);
  return succeeded('Appointment', await book(proposed(patient, [slot]), role));
}

/** A change that the clinic's staff make to an appointment in Medplum, again if others write it at that moment. */
export async function staffChange({ id }: Appointment, change: Partial<Appointment>): Promise<Appointment> {
  const response = await eventually(async () => {
    const stored = succeeded('Appointment', await medplum('front-desk', 'GET', `/Appointment/${id}`));
    return medplum('front-desk', 'PUT', `/Appointment/${id}`, { body: { ...stored, ...change } });
  }).is(({ status }) => status !== 409);
  return succeeded('Appointment', response);
}

/** The staff confirm an appointment. */
export const confirm = (appointment: Appointment) => staffChange(appointment, { status: 'booked' });

/** The staff cancel an appointment. */
export const cancel = (appointment: Appointment) => staffChange(appointment, { status: 'cancelled' });
