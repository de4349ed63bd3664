import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BookingConfig } from '../../core/config/config.ts';
import { backport } from '../../core/notifications/subscription/extensions.ts';
import { topicUrl } from '../../core/notifications/subscription/topics.ts';
import { resourceIn, send, wait } from './http.ts';
import type { Installation } from './installation.ts';

/** The receivers of notifications: `/quick` answers at once, and so does `/hang/…`, unless it hangs. */
interface Receivers {
  readonly url: string;
  /** From then on `/hang/…` does not answer. */
  readonly hang: () => void;
  /** Answers at `/hang/…` again, beginning with the requests that wait. */
  readonly release: () => void;
  /** How many requests wait. */
  readonly waiting: () => number;
  /** How many paths below `/hang/` have had a notification answered since they hung last. */
  readonly answered: () => number;
  /** How many notifications have arrived at `/quick`, and when the last one did, by `performance.now()`. */
  readonly quick: () => { readonly count: number; readonly at: number };
  readonly close: () => void;
}

/** Starts the receivers on a free port of loopback. */
export async function startReceivers(): Promise<Receivers> {
  let isHanging = false;
  let quick = { count: 0, at: 0 };
  const waiting = new Map<ServerResponse, string>();
  const answered = new Set<string>();
  const answer = (path: string, response: ServerResponse): void => {
    answered.add(path);
    response.writeHead(200).end();
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    request.resume().once('end', () => {
      if (path === '/quick') {
        quick = { count: quick.count + 1, at: performance.now() };
        response.writeHead(200).end();
      } else if (isHanging) {
        waiting.set(response, path);
        response.once('close', () => waiting.delete(response));
      } else {
        answer(path, response);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    hang: () => {
      isHanging = true;
      answered.clear();
    },
    release: () => {
      isHanging = false;
      for (const [response, path] of waiting) {
        answer(path, response);
      }
    },
    waiting: () => waiting.size,
    answered: () => answered.size,
    quick: () => quick,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What is measured, and who receives. */
export interface Target {
  readonly installation: Installation;
  readonly config: BookingConfig;
  readonly receivers: Receivers;
}

/** Makes a Subscription with a receiver, and returns its path. */
export async function subscribe(
  { installation: { base }, config, receivers }: Target,
  receiver: string,
  token: string,
): Promise<string> {
  const body = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Benchmark',
    criteria: topicUrl('appointment-update', config),
    channel: {
      extension: [{ url: backport.timeout, valueUnsignedInt: 8 }],
      type: 'rest-hook',
      endpoint: `${receivers.url}${receiver}`,
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
    },
  };
  const { id } = resourceIn('Subscription', await send('POST', `${base}/Subscription`, token, body));
  return `Subscription/${id}`;
}

/** Makes a Subscription of the portal that is measured, and waits for its handshake; returns its path. */
export async function subscribeQuick(target: Target): Promise<string> {
  const { count } = target.receivers.quick();
  const path = await subscribe(target, '/quick', target.installation.tokens.portal);
  await wait(() => target.receivers.quick().count > count, 'for the handshake');
  return path;
}

/** Changes an appointment as staff; its portal is notified. */
export async function changeByStaff({ medplum, tokens }: Installation, path: string): Promise<void> {
  const stored = resourceIn('Appointment', await send('GET', `${medplum}/${path}`, tokens.staff));
  const comment = `Benchmark ${performance.now()}`;
  resourceIn('Appointment', await send('PUT', `${medplum}/${path}`, tokens.staff, { ...stored, comment }));
}

/** Changes an appointment as staff; returns the milliseconds until its portal is notified. */
export async function untilNotified({ installation, receivers }: Target, path: string): Promise<number> {
  const { count } = receivers.quick();
  const start = performance.now();
  await changeByStaff(installation, path);
  await wait(() => receivers.quick().count > count, 'for a notification');
  return receivers.quick().at - start;
}
