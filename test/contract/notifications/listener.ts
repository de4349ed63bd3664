import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bundle, BundleEntry, Parameters, ParametersParameter } from '@medplum/fhirtypes';
import { isXml } from '../../../core/fhir/media-types.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { readXml } from '../../lib/read-xml.ts';
import { eventually } from '../../lib/until.ts';

/** A notification as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bundle: Bundle;
}

/** How the listener answers: with a status, or as the function does. */
export type Reply = number | ((response: ServerResponse, received: Received) => void);

/** A subscriber's endpoint: a real HTTP server that keeps what it gets. */
export interface Listener {
  readonly url: string;
  readonly received: Received[];
  /** What arrived that is no notification. */
  readonly others: string[];
  /** How the next notifications are answered; the initial reply is 200. */
  reply: Reply;
  close(): Promise<void>;
}

function read(text: string, contentType: string): unknown {
  if (isXml(contentType)) {
    const reading = readXml(text);
    return 'value' in reading ? reading.value : undefined;
  }
  return text === '' ? undefined : JSON.parse(text);
}

/** Starts an endpoint on a free port of loopback; `LISTENER_HOST` names another address that the service can reach. */
export async function listen(reply: Reply = 200): Promise<Listener> {
  const received: Received[] = [];
  const others: string[] = [];
  const listener = { url: '', received, others, reply, close };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const body = read(text, request.headers['content-type'] ?? '');
    if (!isResource(body, 'Bundle')) {
      others.push(text);
      response.writeHead(400).end();
      return;
    }
    const one = { path: request.url ?? '', headers: request.headers, text, bundle: body };
    received.push(one);
    if (typeof listener.reply === 'number') {
      response.writeHead(listener.reply).end();
    } else {
      listener.reply(response, one);
    }
  });
  server.unref().on('connection', (socket) => socket.unref());
  const host = process.env.LISTENER_HOST ?? '127.0.0.1';
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, server.address());
  listener.url = `http://${host}:${port}/notifications`;
  function close(): Promise<void> {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  }
  return listener;
}

/** The state of the Subscription in a notification: its first entry. */
export function statusIn(bundle: Bundle): Parameters {
  const resource: unknown = bundle.entry?.[0]?.resource;
  if (!isResource(resource, 'Parameters')) {
    throw new Error(`No Parameters come first: ${JSON.stringify(bundle).slice(0, 400)}`);
  }
  return resource;
}

/** A parameter of the state. */
export function parameterIn(bundle: Bundle, name: string): ParametersParameter | undefined {
  return statusIn(bundle).parameter?.find((parameter) => parameter.name === name);
}

/** What kind of notification it is. */
export const typeOf = (bundle: Bundle): string | undefined => parameterIn(bundle, 'type')?.valueCode;

/** The numbers of the events in a notification. */
export function numbersIn(bundle: Bundle): number[] {
  const events = (statusIn(bundle).parameter ?? []).filter(({ name }) => name === 'notification-event');
  return events.map(({ part }) => Number(part?.find(({ name }) => name === 'event-number')?.valueString));
}

/** The focus of each event in a notification. */
export function focusIn(bundle: Bundle): (string | undefined)[] {
  const events = (statusIn(bundle).parameter ?? []).filter(({ name }) => name === 'notification-event');
  return events.map(({ part }) => part?.find(({ name }) => name === 'focus')?.valueReference?.reference);
}

/** The entries after the first. */
export const eventEntries = ({ entry = [] }: Bundle): BundleEntry[] => entry.slice(1);

/** The notifications of one kind that have arrived. */
export const ofKind = ({ received }: Listener, type: string): Received[] =>
  received.filter(({ bundle }) => typeOf(bundle) === type);

/** The numbers of all events that have arrived, in the order of their arrival. */
export const numbersAt = (listener: Listener): number[] =>
  ofKind(listener, 'event-notification').flatMap(({ bundle }) => numbersIn(bundle));

/** Waits until so many event notifications are there. */
export function events(listener: Listener, count: number, limit?: number): Promise<Received[]> {
  return eventually(async () => ofKind(listener, 'event-notification'), limit).is((found) => found.length >= count);
}
