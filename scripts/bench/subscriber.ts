import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BookingConfig } from '../../core/config/config.ts';
import { backport } from '../../core/fhir/backport.ts';
import { topicUrl } from '../../core/notifications/subscription/topics.ts';
import { resourceIn, send, wait } from './http.ts';
import type { Installation } from './installation.ts';

interface Receiver {
  readonly url: string;
  /** Number of notifications, and the time of the last one by `performance.now()`. */
  readonly received: () => { readonly count: number; readonly at: number };
  readonly close: () => void;
}

/** Starts the receiver on a free port of loopback. */
export async function startReceiver(): Promise<Receiver> {
  let received = { count: 0, at: 0 };
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      received = { count: received.count + 1, at: performance.now() };
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => received,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The measured installation and the receiver of its notifications. */
export interface Target {
  readonly installation: Installation;
  readonly config: BookingConfig;
  readonly receiver: Receiver;
}

/** Creates a Subscription of the measured portal, and waits for its handshake. Returns its path. */
export async function subscribe({ installation: { base, tokens }, config, receiver }: Target): Promise<string> {
  const { count } = receiver.received();
  const body = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Benchmark',
    criteria: topicUrl('appointment-update', config),
    channel: {
      extension: [{ url: backport.timeout, valueUnsignedInt: 8 }],
      type: 'rest-hook',
      endpoint: receiver.url,
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
    },
  };
  const { id } = resourceIn('Subscription', await send('POST', `${base}/Subscription`, tokens.portal, body));
  await wait(() => receiver.received().count > count, 'for the handshake');
  return `Subscription/${id}`;
}

async function changeByStaff({ medplum, tokens }: Installation, path: string): Promise<void> {
  const stored = resourceIn('Appointment', await send('GET', `${medplum}/${path}`, tokens.staff));
  const comment = `Benchmark ${performance.now()}`;
  resourceIn('Appointment', await send('PUT', `${medplum}/${path}`, tokens.staff, { ...stored, comment }));
}

/** Changes an appointment as staff. Returns the milliseconds until its portal is notified. */
export async function untilNotified({ installation, receiver }: Target, path: string): Promise<number> {
  const { count } = receiver.received();
  const start = performance.now();
  await changeByStaff(installation, path);
  await wait(() => receiver.received().count > count, 'for a notification');
  return receiver.received().at - start;
}
