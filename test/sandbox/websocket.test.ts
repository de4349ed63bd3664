import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
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
import { createTokens } from '../../sandbox/auth/tokens.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { createCache } from '../../sandbox/storage/cache.ts';
import { readBindingToken } from '../../sandbox/websockets/binding-token.ts';
import { until } from '../lib/until.ts';
import { type Client, clientOf, withSandbox } from './start.ts';

const client = withSandbox({ heartbeatMilliseconds: 50 });
const unknown = '00000000-0000-4000-8000-000000000000';
const portal = { authorization: 'Bearer portal-a' };

/** A websocket that remembers what it was told. */
interface Listener {
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

const sockets: WebSocket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) {
    socket.terminate();
  }
});

function address(path = 'ws/subscriptions-r4', { sandbox }: Client = client()): string {
  return sandbox.baseUrl.replace('http', 'ws') + path;
}

function entriesOf(listener: Pick<Listener, 'messages'>): NonNullable<Bundle['entry']>[] {
  return listener.messages.flatMap((message) => ('entry' in message && message.entry ? [message.entry] : []));
}

function statusesOf(entry: NonNullable<Bundle['entry']>): SubscriptionStatus[] {
  return entry.flatMap(({ resource }) => (resource?.resourceType === 'SubscriptionStatus' ? [resource] : []));
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

function websocketSubscription(criteria = 'Task', fields: Partial<Subscription> = {}): Subscription {
  return {
    resourceType: 'Subscription',
    status: 'active',
    reason: 'test',
    criteria,
    channel: { type: 'websocket' },
    ...fields,
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

function task(description: string, status: Task['status'] = 'requested'): Task {
  return { resourceType: 'Task', status, intent: 'order', description };
}

function descriptions(listener: Listener): (string | undefined)[] {
  return listener.events<Task>().map(({ description }) => description);
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
  const { body } = await client().send<{ id: string }>('POST', `admin/projects/${client().sandbox.projectId}/client`, {
    name,
    accessPolicy: { reference: `AccessPolicy/${policy.id}` },
  });
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

describe('a Subscription over websockets', () => {
  test('is read by id, and found by no search; it has no history and cannot be patched', async () => {
    const { id, meta } = await subscribe('Task?code=found');
    expect(meta?.versionId).toEqual(expect.any(String));
    const read = await client().fhir<Subscription>('GET', `Subscription/${id}`, undefined, portal);
    expect(read).toMatchObject({ status: 200, body: { id, channel: { type: 'websocket' } } });
    for (const query of [`_id=${id}`, 'criteria=Task?code=found', 'type=websocket']) {
      expect((await client().fhir<Bundle>('GET', `Subscription?${query}`)).body).not.toHaveProperty('entry');
    }
    expect((await client().fhir<Bundle>('GET', `Subscription/${id}/_history`)).body.total).toBe(0);
    const patch = [{ op: 'replace', path: '/status', value: 'off' }];
    expect((await client().fhir('PATCH', `Subscription/${id}`, patch)).status).toBe(404);
  });

  test('is updated and deleted, and is not found afterwards', async () => {
    const subscription = await subscribe();
    const { id } = subscription;
    const changed = await client().fhir<Subscription>('PUT', `Subscription/${id}`, {
      ...subscription,
      reason: 'other',
    });
    expect(changed).toMatchObject({ status: 200, body: { reason: 'other' } });
    expect((await client().fhir('DELETE', `Subscription/${id}`, undefined, portal)).status).toBe(200);
    expect((await client().fhir('GET', `Subscription/${id}`)).status).toBe(404);
    expect((await client().fhir('DELETE', `Subscription/${id}`)).status).toBe(404);
  });

  test('is for those whose AccessPolicy lets them read it', async () => {
    const other = { authorization: 'Bearer portal-b' };
    const [on, off] = [await subscribe('Task'), await subscribe('Task', { status: 'off' })];
    const statuses = [on, off].map(async ({ id }) => {
      const path = `Subscription/${id}`;
      const read = await client().fhir('GET', path, undefined, other);
      const token = await client().fhir('GET', `${path}/$get-ws-binding-token`, undefined, other);
      return [read.status, token.status];
    });
    expect(await Promise.all(statuses)).toEqual([
      [404, 400],
      [200, 200],
    ]);
  });

  test('is there once the transaction that creates it is committed, and not in it', async () => {
    const { body } = await client().transaction([
      { request: { method: 'POST', url: 'Subscription' }, resource: websocketSubscription('Task?code=transaction') },
      { request: { method: 'GET', url: 'Subscription?criteria=Task?code=transaction' } },
    ]);
    const [created, found] = body.entry ?? [];
    expect(found?.response?.status).toBe('200');
    expect(found?.resource).not.toHaveProperty('entry');
    expect((await client().fhir('GET', `Subscription/${created?.resource?.id}`)).status).toBe(200);
  });

  test('starts no Bots', async () => {
    const bot = await client().bot(`exports.handler = async (medplum, event) => {
      await medplum.createResource({ resourceType: 'Basic', code: { text: event.input.criteria } });
    };`);
    const ordinary: Subscription = {
      ...websocketSubscription('Subscription'),
      channel: { type: 'rest-hook', endpoint: `Bot/${bot}` },
    };
    const { id } = await client().create<Subscription>(ordinary);
    await subscribe('Task?code=silent');
    await client().create<Subscription>({ ...ordinary, status: 'off', criteria: 'Task?code=told' });
    const made = await until(async () => {
      const { body } = await client().fhir<Bundle>('GET', 'Basic');
      return body.entry?.some(({ resource }) => JSON.stringify(resource).includes('told')) && body.entry;
    });
    expect(JSON.stringify(made)).not.toContain('silent');
    await client().fhir('DELETE', `Subscription/${id}`);
  });

  test('leaves nothing in the data folder', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    const journal = join(dataFolder, 'journal.jsonl');
    const first = await startSandbox({ dataFolder });
    const before = await readFile(journal, 'utf8');
    await clientOf(first).create<Subscription>(websocketSubscription());
    await first.close();
    expect(await readFile(journal, 'utf8')).toBe(before);
    await rm(dataFolder, { recursive: true });
  });

  test('is forgotten after a day', () => {
    let time = new Date('2027-01-01T00:00:00Z');
    const cache = createCache(() => time);
    const resource = { ...websocketSubscription(), id: 'a' };
    const lastUpdated = time.toISOString();
    const write = { type: 'Subscription' as const, id: 'a', versionId: '1', lastUpdated, resource };
    cache.apply([{ write, interaction: 'create' }]);
    time = new Date('2027-01-01T23:59:59Z');
    expect(cache.find('Subscription', 'a')?.resource).toBe(resource);
    time = new Date('2027-01-02T00:00:00Z');
    expect(cache.find('Subscription', 'a')).toBeUndefined();
  });
});

describe('$get-ws-binding-token', () => {
  test('answers a token that is good for an hour, and the address', async () => {
    const { id } = await subscribe();
    const { status, body } = await client().fhir<Parameters>(
      'GET',
      `Subscription/${id}/$get-ws-binding-token`,
      undefined,
      portal,
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      resourceType: 'Parameters',
      parameter: [
        { name: 'token', valueString: expect.any(String) },
        { name: 'expiration', valueDateTime: expect.any(String) },
        { name: 'subscription', valueString: id },
        { name: 'websocket-url', valueUrl: address() },
      ],
    });
    const left = Date.parse(body.parameter?.[1]?.valueDateTime ?? '') - Date.now();
    expect(Math.abs(left - 3_600_000)).toBeLessThan(60_000);
  });

  test.each([
    ['a Subscription that is not there', undefined, 'Error reading subscription: Not found'],
    [
      'another channel',
      { ...websocketSubscription(), channel: { type: 'rest-hook', endpoint: 'https://example.com' } } as const,
      'Invalid channel type for this operation: rest-hook',
    ],
    [
      'criteria for an unknown type',
      websocketSubscription('Nonsense?code=a'),
      "Invalid Subscription criteria: 'Nonsense?code=a'. 'Nonsense' is not a valid resource type.",
    ],
  ])('refuses %s', async (_, subscription, text) => {
    const id = subscription ? (await client().create<Subscription>(subscription)).id : unknown;
    const { status, body } = await client().fhir('GET', `Subscription/${id}/$get-ws-binding-token`);
    expect([status, body.issue[0]?.details?.text]).toEqual([400, text]);
  });

  test('is refused in a project without websockets', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    await (await startSandbox({ dataFolder })).close();
    const journal = join(dataFolder, 'journal.jsonl');
    await writeFile(journal, (await readFile(journal, 'utf8')).replace(',"websocket-subscriptions"', ''));
    const sandbox = await startSandbox({ dataFolder });
    const { id } = await clientOf(sandbox).create<Subscription>(websocketSubscription());
    const { status, body } = await clientOf(sandbox).fhir('GET', `Subscription/${id}/$get-ws-binding-token`);
    const text = 'WebSocket subscriptions not enabled for current project';
    expect([status, body.issue[0]?.details?.text]).toEqual([400, text]);
    await sandbox.close();
    await rm(dataFolder, { recursive: true });
  });
});

describe('a websocket', () => {
  test('is told of creation, update and deletion with the whole resource as it is stored', async () => {
    const { id, listener } = await listen();
    const created = await client().create<Task>({ ...task('whole'), note: [{ text: 'hidden from the portal' }] });
    await client().fhir('PUT', `Task/${created.id}`, { ...created, status: 'accepted' });
    await client().fhir('DELETE', `Task/${created.id}`);
    await until(async () => listener.events().length === 3);
    expect(listener.events<Task>().map(({ status }) => status)).toEqual(['requested', 'accepted', 'accepted']);
    const entry = entriesOf(listener).find((candidate) => statusesOf(candidate)[0]?.type === 'event-notification');
    const { projectId, clientId, baseUrl } = client().sandbox;
    expect(entry).toEqual([
      {
        resource: {
          resourceType: 'SubscriptionStatus',
          id: expect.any(String),
          status: 'active',
          type: 'event-notification',
          subscription: { reference: `Subscription/${id}` },
          notificationEvent: [
            { eventNumber: '0', timestamp: expect.any(String), focus: { reference: `Task/${created.id}` } },
          ],
        },
      },
      {
        fullUrl: `${baseUrl}fhir/R4/Task/${created.id}`,
        resource: {
          ...created,
          meta: {
            ...created.meta,
            project: projectId,
            author: { reference: `ClientApplication/${clientId}`, display: 'Administrator' },
            compartment: [{ reference: `Project/${projectId}` }],
          },
        },
      },
    ]);
  });

  test('is told of nothing that its member may not read, nor of what its criteria do not mean', async () => {
    const [all, few] = [await listen(), await listen('Task?status=requested')];
    await client().create(task('secret', 'draft'));
    await client().create(task('other', 'accepted'));
    await sentinel(all.listener, few.listener);
    expect(descriptions(all.listener)).toEqual(['other', 'sentinel']);
    expect(descriptions(few.listener)).toEqual(['sentinel']);
  });

  test('is told in the order of the commits, and of nothing that was rolled back', async () => {
    const { listener } = await listen();
    const post = (description: string) => ({
      request: { method: 'POST' as const, url: 'Task' },
      resource: task(description),
    });
    const failed = await client().transaction([post('lost'), { request: { method: 'GET', url: `Task/${unknown}` } }]);
    expect(failed.status).toBe(404);
    const order = Array.from({ length: 10 }, (_, index) => [`${index} a`, `${index} b`]);
    for (const names of order) {
      expect((await client().transaction(names.map(post))).status).toBe(200);
    }
    await sentinel(listener);
    expect(descriptions(listener)).toEqual([...order.flat(), 'sentinel']);
  });

  test('hears that it is still bound', async () => {
    const { id, listener } = await listen();
    const [status] = await until(async () => listener.told('heartbeat').length > 1 && listener.told('heartbeat'));
    expect(status?.subscription).toEqual({ reference: `Subscription/${id}` });
  });

  test('is bound to several Subscriptions, and told once for each of them', async () => {
    const { id, listener } = await listen();
    const other = await subscribe('Task?status=requested');
    listener.say('bind-with-token', await tokenFor(other.id));
    await until(async () => listener.told('handshake').length === 2);
    await sentinel(listener);
    await until(async () => listener.events().length === 2);
    const told = listener.told('event-notification').map(({ subscription }) => subscription.reference);
    expect(told).toEqual([`Subscription/${id}`, `Subscription/${other.id}`]);
  });

  test('is told nothing once it is unbound, and the Subscription is gone', async () => {
    const [first, second] = [await listen(), await listen()];
    first.listener.say('unbind-from-token', first.token);
    await first.listener.caughtUp();
    expect((await client().fhir('GET', `Subscription/${first.id}`)).status).toBe(404);
    await sentinel(second.listener);
    expect(first.listener.events()).toEqual([]);
    first.listener.say('bind-with-token', first.token);
    await first.listener.caughtUp();
    expect(first.listener.told('handshake')).toHaveLength(1);
  });

  test('that does not unbind its own leaves the Subscription to the others', async () => {
    const { id, token, listener } = await listen();
    const stranger = await connect();
    stranger.say('unbind-from-token', token);
    await stranger.caughtUp();
    await sentinel(listener);
    expect((await client().fhir('GET', `Subscription/${id}`)).status).toBe(200);
  });

  test('takes its Subscriptions along when it is closed', async () => {
    const { id, listener } = await listen();
    listener.socket.close();
    await until(async () => (await client().fhir('GET', `Subscription/${id}`)).status === 404);
  });

  test('is told nothing of a Subscription that was deleted', async () => {
    const [first, second] = [await listen(), await listen()];
    await client().fhir('DELETE', `Subscription/${first.id}`);
    await sentinel(second.listener);
    expect(first.listener.events()).toEqual([]);
  });

  test('is told nothing once its member is none any more', async () => {
    const [first, second] = [await listen(), await listen()];
    const { body } = await client().fhir<object>('GET', `ProjectMembership/${membership}`);
    await client().fhir('PUT', `ProjectMembership/${membership}`, { ...body, active: false });
    await client().create(task('unseen'));
    await until(async () => (await client().fhir('GET', `Subscription/${first.id}`)).status === 404);
    await client().fhir('PUT', `ProjectMembership/${membership}`, { ...body, active: true });
    const third = await listen();
    await sentinel(third.listener);
    expect([...first.listener.events(), ...second.listener.events()]).toEqual([]);
  });

  test('answers ping, and passes over what it does not understand', async () => {
    const listener = await connect();
    for (const text of ['{', 'null', '{"type":"constructor"}', '{"type":"bind-with-token"}']) {
      listener.socket.send(text);
    }
    await listener.caughtUp();
    expect(listener.messages).toEqual([{ type: 'pong' }]);
  });

  test('breaks off after a token that was got with Basic authentication', async () => {
    const { clientId, clientSecret } = client().sandbox;
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const token = await tokenFor((await subscribe()).id, { authorization });
    expect(token).not.toBe('');
    const listener = await connect();
    listener.say('bind-with-token', token);
    await until(async () => listener.socket.readyState === WebSocket.CLOSED);
    expect(listener.told('handshake')).toEqual([]);
  });

  test('refuses a bad token, and breaks off after one that is for something else', async () => {
    const listener = await connect();
    listener.say('bind-with-token', 'nonsense');
    await listener.caughtUp();
    expect(listener.messages[0]).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', details: { text: expect.stringContaining('failed to validate') } }],
    });
    const { clientId, clientSecret } = client().sandbox;
    const credentials = { client_id: clientId, client_secret: clientSecret };
    const form = new URLSearchParams({ grant_type: 'client_credentials', ...credentials }).toString();
    const { body } = await client().send<{ access_token: string }>('POST', 'oauth2/token', form, {
      authorization: '',
      'content-type': 'application/x-www-form-urlencoded',
    });
    listener.say('bind-with-token', body.access_token);
    await until(async () => listener.socket.readyState === WebSocket.CLOSED);
    expect(listener.told('handshake')).toEqual([]);
  });

  test('is refused a token that has expired', () => {
    let time = new Date('2027-01-01T00:00:00Z');
    const tokens = createTokens(
      'key',
      () => 'http://localhost/',
      () => time,
    );
    const claims = { login_id: 'a', sub: 'b', profile: 'c/d', scope: 'openid' };
    const token = tokens.issue({ ...claims, subscription_id: 'e', membership_id: 'a' }, 3600);
    expect(readBindingToken(tokens, token)).toMatchObject({ subscription_id: 'e', membership_id: 'a' });
    expect(readBindingToken(tokens, tokens.issue(claims, 3600))).toMatchObject({ isFatal: true });
    time = new Date('2027-01-01T01:00:00Z');
    expect(readBindingToken(tokens, token)).toMatchObject({ isFatal: false });
  });

  test.each(['', 'ws', 'ws/echo', 'fhir/R4/Task'])('is not found at /%s', async (path) => {
    const socket = new WebSocket(address(path));
    const [error] = await once(socket, 'error');
    expect(String(error)).toContain('404');
  });
});

test('no further Subscription is created once 20 are bound', async () => {
  const listener = await connect();
  for (let count = 1; count <= 20; count++) {
    const { id } = await subscribe();
    listener.say('bind-with-token', await tokenFor(id));
  }
  await until(async () => listener.told('handshake').length === 20);
  const { status, body } = await client().fhir('POST', 'Subscription', websocketSubscription(), portal);
  expect(status).toBe(400);
  expect(body.issue[0]?.details?.text).toMatch(/exceeded allotted maximum number .*: 20$/);
  expect((await client().fhir('POST', 'Subscription', websocketSubscription())).status).toBe(201);
});

test('closing the sandbox closes the websockets, also those that do not answer', async () => {
  const sandbox = await startSandbox();
  const url = address(undefined, clientOf(sandbox));
  const [{ socket }, mute] = [await connect(url), await connect(url)];
  mute.socket.pause();
  const closed = once(socket, 'close');
  await sandbox.close();
  expect((await closed)[0]).toBe(1001);
});
