import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Subscription, Task } from '@medplum/fhirtypes';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { readOutbox, type SubscriptionOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/write-subscription.ts';
import { noOutboxes, outboxesSearch, outboxesTask } from '../../../core/notifications/delivery/outbox.ts';
import { outbox, portal } from '../../core/notifications/support.ts';
import { ahead } from '../clock.ts';
import { config } from '../config.ts';
import {
  conflict,
  searchesAnswer,
  storedSubscription,
  subscribe,
  subscribeToTheLimit,
  toPortal,
  writes,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, codesIn, eventOf, knownCaller, textOf } from './callers.ts';

const medplum = withMedplum();

const aCaller = (resource?: AccessPolicy['resource']) => knownCaller(medplum(), resource);

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

afterEach(() => medplum().clear(['Task']));

const create = (caller: Caller, resource: unknown) => call(caller, { interaction: 'create', resource });
const countOf = async (type: string) => (await medplum().find(`${type}?_count=1000`)).length;

describe('a new Subscription', () => {
  const withEndpoint = (endpoint: string): Subscription => ({
    ...toPortal(),
    channel: { ...toPortal().channel, endpoint },
  });

  it('with an endpoint whose name is not known yet is stored', async () => {
    const answer = await create(await aCaller(), withEndpoint('https://nowhere.invalid/'));
    expect(answer).toMatchObject({ resourceType: 'Subscription' });
  });

  it('is forbidden to whoever may not read appointments', async () => {
    const before = await countOf('Subscription');
    const answer = await create(await aCaller([{ resourceType: 'Patient' }]), toPortal());
    expect([answer.id, textOf(answer)]).toEqual(['forbidden', 'The caller may not read appointments.']);
    expect(await countOf('Subscription')).toBe(before);
  });

  it('is refused to a subscriber who has as many as it may', async () => {
    const caller = await aCaller();
    await subscribeToTheLimit(medplum(), caller.id);
    expect(codesIn(await create(caller, toPortal()))).toEqual(['subscriptions-exceeded']);
  });

  it('is refused where the row of its subscriber keeps a thousand that are over', async () => {
    const caller = await aCaller();
    const [stored] = await medplum().find<Task>(outboxesSearch([caller.id], config));
    const of = new Map(Array.from({ length: 1_001 }, (_, index) => [`s${index}`, outbox] as const));
    await medplum().change<Task>(outboxesTask({ ...noOutboxes(caller.id), of }, config, stored), {});
    expect(codesIn(await create(caller, toPortal()))).toEqual(['subscriptions-exceeded']);
  });

  it('is refused where the project has as many as the service can keep', async () => {
    const caller = await aCaller();
    const row = await medplum().find<Task>(outboxesSearch([caller.id], config));
    const last: Subscription = { ...toPortal(), id: 's1' };
    medplum().interfere(({ type }) => (type === 'transaction' ? searchesAnswer(row, [], [last]) : undefined));
    const answer = await create(caller, toPortal());
    expect([codesIn(answer), textOf(answer)]).toEqual([
      ['subscriptions-exceeded'],
      expect.stringContaining('ask the clinic to remove some'),
    ]);
  });

  it('is refused if others are faster again and again', async () => {
    const caller = await aCaller();
    const clock = { milliseconds: 0 };
    medplum().interfere((asked) => {
      clock.milliseconds += writes(asked) ? 3_100 : 0;
      return writes(asked) ? conflict : undefined;
    });
    const answer = await ahead(clock, () => create(caller, toPortal()));
    expect(codesIn(answer)).toEqual(['version-conflict']);
    expect(textOf(answer)).toContain('Other Subscriptions of the same subscriber changed');
  });

  const refusal = (...issue: object[]): Answer => ({
    status: 400,
    body: { resourceType: 'OperationOutcome', issue },
  });

  // biome-ignore format: a row a line
  it.each<[string, Answer | 'no-answer', string, string]>([
    ['refuses it with a reason', refusal({ details: { text: 'Invalid' }, expression: ['Subscription.channel'] }),
     'malformed-request', 'Invalid'],
    ['refuses it without a reason', refusal({}), 'malformed-request', 'The server rejected the Subscription'],
    ['says nothing of it', { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response' } },
     'upstream-unavailable', 'The FHIR server could not be reached'],
    ['says nothing of what it has written',
     { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry: [] } },
     'upstream-unavailable', 'The FHIR server could not be reached'],
  ])('is refused if Medplum %s', async (_, answer, code, text) => {
    const caller = await aCaller();
    medplum().interfere((asked) => (writes(asked) ? answer : undefined));
    const refused = await create(caller, toPortal());
    expect([codesIn(refused), textOf(refused)]).toEqual([[code], expect.stringContaining(text)]);
  });
});

it.each([undefined, 'read', 'toString', 7])('there is no interaction %j', async (interaction) => {
  const answer = await call(administrator, { interaction, id: 'a1', resource: toPortal() });
  expect(codesIn(answer)).toEqual(['malformed-request']);
  expect(textOf(answer)).toBe('The interaction must be one of create, update, delete.');
});

describe('a change', () => {
  /** A Subscription of a caller. */
  async function owned(given: Parameters<typeof subscribe>[1] = {}): Promise<[SubscriptionOutbox, Caller]> {
    const caller = await aCaller();
    return [await subscribe(medplum(), { ...given, owner: caller.id }), caller];
  }

  const update = (caller: Caller, { subscription }: SubscriptionOutbox, resource: object, version?: unknown) => {
    const { id } = subscription;
    return call(caller, { interaction: 'update', id, resource: { ...resource, id }, version });
  };

  const now = async ({ subscription }: SubscriptionOutbox) => readOutbox(medplum().medplum, subscription);

  it.each<[string, object, Subscription]>([
    ['asks for it', {}, toPortal()],
    [
      'leads elsewhere',
      {},
      { ...toPortal({ status: 'active' }), channel: { ...toPortal().channel, endpoint: 'https://8.8.4.4/' } },
    ],
    ['is of one in error', { changes: { status: 'error', error: 'Failed' } }, toPortal({ status: 'active' })],
  ])('that %s requests the Subscription again, with a handshake', async (_, given, sent) => {
    const waiting = { status: 'on-hold' as const, attempts: 5, since: 1_000, until: Date.parse('2040-01-01') };
    const [stored, caller] = await owned({ outbox: waiting, ...given });
    expect(await update(caller, stored, sent)).toMatchObject({ status: 'requested' });
    expect((await now(stored))?.outbox).toMatchObject({ status: 'ready', attempts: 0, since: 1_000 });
  });

  it('of what is requested still is a handshake, too', async () => {
    const [stored, caller] = await owned({
      changes: { status: 'requested' },
      outbox: { status: 'on-hold', until: 1e12 },
    });
    expect(await update(caller, stored, toPortal({ status: 'active' }))).toMatchObject({ status: 'requested' });
    expect((await now(stored))?.outbox.status).toBe('ready');
  });

  it('starts one anew that had ended: it takes a place, and what happened meanwhile is no event', async () => {
    const [stored, caller] = await owned({ changes: { status: 'off' }, outbox: { status: 'cancelled' } });
    const begin = Date.now();
    expect(await update(caller, stored, toPortal())).toMatchObject({ status: 'requested' });
    const { outbox } = (await now(stored)) ?? {};
    expect(outbox?.status).toBe('ready');
    expect(outbox?.since).toBeGreaterThanOrEqual(begin);
  });

  it('of one that had ended, and stays so, takes no place', async () => {
    const [stored, caller] = await owned({ changes: { status: 'off' }, outbox: { status: 'cancelled' } });
    expect(await update(caller, stored, toPortal({ status: 'off' }))).toMatchObject({ status: 'off' });
  });

  it('starts none anew if the subscriber has as many as it may', async () => {
    const [stored, caller] = await owned({ changes: { status: 'off' }, outbox: { status: 'cancelled' } });
    await subscribeToTheLimit(medplum(), caller.id);
    expect(codesIn(await update(caller, stored, toPortal()))).toEqual(['subscriptions-exceeded']);
    expect((await now(stored))?.subscription.status).toBe('off');
  });

  it('by its owner is made with the rights that it has now; by an administrator they stay as they were', async () => {
    const readable = ['Appointment?status=cancelled'];
    const [stored, caller] = await owned({ row: { readable } });
    const sent = toPortal({ status: 'active' });
    expect(await update(administrator, stored, sent)).toMatchObject({ status: 'active' });
    expect(await now(stored)).toMatchObject({ row: { outboxes: { subscriber: caller.id, readable } } });
    await update(caller, stored, sent);
    expect((await now(stored))?.row.outboxes.readable).toEqual(['Appointment']);
  });

  it('of a Subscription to no topic of the service finds none', async () => {
    const { id } = await subscribe(medplum(), { changes: { criteria: 'Patient' } });
    expect((await call(administrator, { interaction: 'delete', id })).id).toBe('not-found');
  });

  it.each([undefined, 17, 'a b', ''])('of what is no id finds none: %j', async (id) => {
    expect((await call(administrator, { interaction: 'delete', id })).id).toBe('not-found');
  });

  it('of a Subscription without an outbox finds none', async () => {
    const { id } = await medplum().create(storedSubscription(portal, toPortal()));
    expect((await call(administrator, { interaction: 'delete', id })).id).toBe('not-found');
  });

  it('is answered by what was there before if Medplum says nothing of it', async () => {
    const [stored, caller] = await owned();
    const body = { resourceType: 'Bundle', type: 'transaction-response', entry: [{}] };
    medplum().interfere((asked) => (writes(asked) ? { status: 200, body } : undefined));
    const answer = await update(caller, stored, toPortal({ status: 'active', reason: 'Changed' }));
    expect(answer).toMatchObject({ id: stored.subscription.id, reason: 'Test' });
  });
});
