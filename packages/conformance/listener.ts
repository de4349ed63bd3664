import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bundle } from '@medplum/fhirtypes';
import { isResource, parseJson } from './resource.ts';

/** The endpoint of a subscriber, with the accepted notifications. */
export interface Listener {
  /** URL at which the service reaches the endpoint. */
  readonly url: string;
  readonly received: readonly Bundle[];
  close(): Promise<void>;
}

interface ListenerSettings {
  /** Port on this machine; 0 for any. */
  readonly port: number;
  /** URL at which the service reaches that port; default: the loopback interface. */
  readonly url?: string;
  /** Whether a notification is refused with 503, so that it must be repeated; default: none is. */
  readonly refuses?: (notification: Bundle) => boolean;
}

const MAX_BYTES = 1_000_000;

export async function listen({ port, url, refuses }: ListenerSettings): Promise<Listener> {
  const received: Bundle[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MAX_BYTES) {
        request.destroy();
        return;
      }
    }
    const body = parseJson(text);
    const bundle = isResource(body, 'Bundle') ? body : undefined;
    const isRefused = bundle !== undefined && refuses?.(bundle) === true;
    if (bundle && !isRefused) {
      received.push(bundle);
    }
    response.writeHead(isRefused ? 503 : 200).end();
  });
  const host = url ? undefined : '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: actual }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, server.address());
  return {
    url: url ?? `http://127.0.0.1:${actual}/notifications`,
    received,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
