/** Books and cancels an appointment with MedplumClient (Node.js 22.18 or newer), and is notified over a websocket. */
import { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, CapabilityStatement, Parameters, Subscription } from '@medplum/fhirtypes';
import { clientId, clientSecret, origin, schedule } from './settings.ts';

/** Reads within the same 20 milliseconds go as one batch. */
const medplum = new MedplumClient({ baseUrl: `${origin}/`, autoBatchTime: 20 });

const backport = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/** The address of the first topic that the metadata names: changes of appointments. */
async function topicOfChanges(): Promise<string> {
  const { rest = [] } = await medplum.get<CapabilityStatement>(medplum.fhirUrl('metadata'));
  const subscription = rest[0]?.resource?.find(({ type }) => type === 'Subscription');
  return subscription?.extension?.[0]?.valueCanonical ?? '';
}

/**
 * Subscribes to changes of one's own appointments, one's own changes among them, and binds a websocket.
 * (`medplum.subscribeToCriteria` speaks Medplum's own protocol, which has no topics.)
 */
async function subscribe(onChange: (appointment: Appointment) => void) {
  const topic = await topicOfChanges();
  const ownChanges = topic.replace(/SubscriptionTopic\/.*/, 'StructureDefinition/LocalOwnChanges');
  const subscription = await medplum.createResource<Subscription>({
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Shows changes at once',
    criteria: topic,
    extension: [{ url: ownChanges, valueBoolean: true }],
    channel: {
      type: 'websocket',
      payload: 'application/fhir+json',
      ...{ _payload: { extension: [{ url: `${backport}/backport-payload-content`, valueCode: 'full-resource' }] } },
    },
  });
  const id = subscription.id ?? '';
  const { parameter = [] } = await medplum.get<Parameters>(
    medplum.fhirUrl('Subscription', id, '$get-ws-binding-token'),
  );
  const of = (name: string) => parameter.find((one) => one.name === name);
  const socket = new WebSocket(of('websocket-url')?.valueUrl ?? '');
  const token = of('token')?.valueString;
  socket.onopen = () => socket.send(JSON.stringify({ type: 'bind-with-token', payload: { token } }));
  await new Promise<void>((resolve) => {
    socket.onmessage = ({ data }) => {
      const { entry = [] }: Bundle = JSON.parse(data);
      const changed = entry.map(({ resource }) => resource).filter((one) => one?.resourceType === 'Appointment');
      changed.forEach(onChange);
      // The first message is the handshake: from now on nothing is missed.
      resolve();
    };
  });
  return async () => {
    socket.close();
    await medplum.deleteResource('Subscription', id);
  };
}

const profile = await medplum.startClientLogin(clientId, clientSecret);
if (profile.id !== medplum.getProfile()?.id) {
  throw new Error('Logged in as somebody else.');
}
const { promise: notified, resolve } = Promise.withResolvers<string>();
const unsubscribe = await subscribe(({ status }) => status === 'cancelled' && resolve('notified'));

const slot = await medplum.searchOne('Slot', { schedule: `Schedule/${schedule}`, status: 'free', _sort: 'start' });
const patient = await medplum.createResource({ resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }] });
const booked: Appointment = await medplum.post(medplum.fhirUrl('Appointment', '$book'), {
  resourceType: 'Appointment',
  status: 'proposed',
  start: slot?.start,
  end: slot?.end,
  slot: [{ reference: `Slot/${slot?.id}` }],
  participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
});
console.log(booked.status);

// Two reads at once: one batch.
const id = booked.id ?? '';
const [read, history] = await Promise.all([
  medplum.readResource('Appointment', id, { cache: 'reload' }),
  medplum.readHistory('Appointment', id),
]);
console.log(history.entry?.length === 1 ? read.status : 'without its history');

const cancelled = await medplum.patchResource('Appointment', id, [
  { op: 'replace', path: '/status', value: 'cancelled' },
]);
console.log(cancelled.status);
console.log(await notified);
await unsubscribe();
