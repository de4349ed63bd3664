import { once } from 'node:events';
import { afterEach, beforeAll } from '@jest/globals';
import type {
  AccessPolicy,
  Bundle,
  OperationOutcome,
  Parameters,
  Resource,
  Subscription,
  SubscriptionStatus,
  Task,
} from '@medplum/fhirtypes';
import { WebSocket } from 'ws';
import { until } from '../../../../test/lib/until.ts';
import { type Client, withSandbox } from '../start.ts';

export const unknown = '00000000-0000-4000-8000-000000000000';
export const portal = { authorization: 'Bearer portal-a' };

export interface Listener {
  readonly socket: WebSocket;
  readonly messages: (Bundle | OperationOutcome | { readonly type: string })[];
  say(type: string, token?: string): void;
  /** Waits until everything said before has been taken in. */
  caughtUp(): Promise<void>;
  /** The statuses told so far, of one type. */
  told(type: SubscriptionStatus['type']): SubscriptionStatus[];
  /** The resources of the events told so far. */
  events<T extends Resource>(): T[];
}

export function entriesOf(listener: Pick<Listener, 'messages'>): NonNullable<Bundle['entry']>[] {
  return listener.messages.flatMap((message) => ('entry' in message && message.entry ? [message.entry] : []));
}

export function statusesOf(entry: NonNullable<Bundle['entry']>): SubscriptionStatus[] {
  return entry.flatMap(({ resource }) => (resource?.resourceType === 'SubscriptionStatus' ? [resource] : []));
}

export function websocketSubscription(criteria = 'Task', fields: Partial<Subscription> = {}): Subscription {
  return {
    resourceType: 'Subscription',
    status: 'active',
    reason: 'test',
    criteria,
    channel: { type: 'websocket' },
    ...fields,
  };
}

export function task(description: string, status: Task['status'] = 'requested'): Task {
  return { resourceType: 'Task', status, intent: 'order', description };
}

export function descriptions(listener: Listener): (string | undefined)[] {
  return listener.events<Task>().map(({ description }) => description);
}

/** Starts a sandbox for the tests of a file, and gives them what they need to listen to it over websockets. */
export function withWebsockets() {
  const client = withSandbox({ heartbeatMilliseconds: 50 });

  const sockets: WebSocket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) {
      socket.terminate();
    }
  });

  function address(path = 'ws/subscriptions-r4', { sandbox }: Client = client()): string {
    return sandbox.baseUrl.replace('http', 'ws') + path;
  }

  async function connect(url = address()): Promise<Listener> {
    const socket = new WebSocket(url);
    sockets.push(socket);
    const messages: Listener['messages'] = [];
    socket.on('message', (data) => messages.push(JSON.parse(data.toString())));
    await once(socket, 'open');
    const say: Listener['say'] = (type, token) =>
      socket.send(JSON.stringify({ type, ...(token !== undefined && { payload: { token } }) }));
    const pongs = (): number => messages.filter((message) => 'type' in message && message.type === 'pong').length;
    return {
      socket,
      messages,
      say,
      async caughtUp() {
        const before = pongs();
        say('ping');
        await until(async () => pongs() > before);
      },
      told: (type) =>
        entriesOf({ messages })
          .flatMap(statusesOf)
          .filter((status) => status.type === type),
      events<T extends Resource>() {
        const events = entriesOf({ messages }).filter((entry) => statusesOf(entry)[0]?.type === 'event-notification');
        return events.map(([, event]) => event?.resource as T);
      },
    };
  }

  async function subscribe(criteria?: string, fields?: Partial<Subscription>): Promise<Subscription & { id: string }> {
    const { body } = await client().fhir<Subscription & { id: string }>(
      'POST',
      'Subscription',
      websocketSubscription(criteria, fields),
      portal,
    );
    return body;
  }

  async function tokenFor(id: string, headers: Record<string, string> = portal): Promise<string> {
    const { body } = await client().fhir<Parameters>(
      'GET',
      `Subscription/${id}/$get-ws-binding-token`,
      undefined,
      headers,
    );
    return body.parameter?.find(({ name }) => name === 'token')?.valueString ?? '';
  }

  /** Binds a new websocket to a new Subscription of the portal. */
  async function listen(criteria?: string, fields?: Partial<Subscription>) {
    const { id } = await subscribe(criteria, fields);
    const token = await tokenFor(id);
    const listener = await connect();
    listener.say('bind-with-token', token);
    await until(async () => listener.told('handshake').length === 1);
    return { id, token, listener };
  }

  /** Writes a Task of which every listener in a test is told, and waits until it was. */
  async function sentinel(...listeners: Listener[]): Promise<void> {
    await client().create(task('sentinel'));
    await until(async () => listeners.every((listener) => descriptions(listener).includes('sentinel')));
  }

  let membership: string;

  /** Makes a client of the project; returns its id. */
  async function member(name: string, resource: AccessPolicy['resource']): Promise<string> {
    const policy = await client().create<AccessPolicy>({ resourceType: 'AccessPolicy', resource });
    const { body } = await client().send<{ id: string }>(
      'POST',
      `admin/projects/${client().sandbox.projectId}/client`,
      {
        name,
        accessPolicy: { reference: `AccessPolicy/${policy.id}` },
      },
    );
    return body.id;
  }

  beforeAll(async () => {
    const id = await member('Portal A', [
      { resourceType: 'Subscription' },
      { resourceType: 'Task', criteria: 'Task?status=requested,accepted', hiddenFields: ['note'] },
    ]);
    await member('Portal B', [{ resourceType: 'Subscription', criteria: 'Subscription?status=off' }]);
    const query = `ProjectMembership?profile=ClientApplication/${id}`;
    const found = await client().fhir<Bundle>('GET', query);
    membership = found.body.entry?.[0]?.resource?.id ?? '';
  });

  return { client, address, connect, subscribe, tokenFor, listen, sentinel, membership: () => membership };
}
