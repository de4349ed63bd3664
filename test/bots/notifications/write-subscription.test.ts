import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Subscription } from '@medplum/fhirtypes';
import type { BotResponse } from '../../../bots/lib/medplum.ts';
import { readOutbox, type SubscriptionOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/write-subscription.ts';
import { subscribe, subscribeToTheLimit, toPortal, writes } from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, codesIn, eventOf, knownCaller, textOf } from './callers.ts';

const medplum = withMedplum();

const aCaller = (resource?: AccessPolicy['resource']) => knownCaller(medplum(), resource);

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

afterEach(() => medplum().clear(['Task']));

const create = (caller: Caller, resource: unknown) => call(caller, { interaction: 'create', resource });
const countOf = async (type: string) => (await medplum().find(`${type}?_count=1000`)).length;

describe('a new Subscription', () => {
  it('is forbidden to whoever may not read appointments', async () => {
    const before = await countOf('Subscription');
    const response = await create(await aCaller([{ resourceType: 'Patient' }]), toPortal());
    expect([response.id, textOf(response)]).toEqual(['forbidden', 'The caller may not read appointments.']);
    expect(await countOf('Subscription')).toBe(before);
  });

  const refusal = (...issue: object[]): BotResponse => ({
    status: 400,
    body: { resourceType: 'OperationOutcome', issue },
  });

  // biome-ignore format: a row a line
  it.each<[string, BotResponse | 'no-answer', string, string]>([
    ['refuses it with a reason', refusal({ details: { text: 'Invalid' }, expression: ['Subscription.channel'] }),
     'malformed-request', 'Invalid'],
    ['refuses it without a reason', refusal({}), 'malformed-request', 'The server rejected the Subscription'],
    ['says nothing of it', { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response' } },
     'upstream-unavailable', 'The FHIR server could not be reached'],
    ['says nothing of what it has written',
     { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry: [] } },
     'upstream-unavailable', 'The FHIR server could not be reached'],
  ])('is refused if Medplum %s', async (_, response, code, text) => {
    const caller = await aCaller();
    medplum().interfere((asked) => (writes(asked) ? response : undefined));
    const refused = await create(caller, toPortal());
    expect([codesIn(refused), textOf(refused)]).toEqual([[code], expect.stringContaining(text)]);
  });
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

  it('starts one anew that had ended: it takes a place, and what happened meanwhile is no event', async () => {
    const [stored, caller] = await owned({ changes: { status: 'off' }, outbox: { status: 'cancelled' } });
    const begin = Date.now();
    expect(await update(caller, stored, toPortal())).toMatchObject({ status: 'requested' });
    const { outbox } = (await now(stored)) ?? {};
    expect(outbox?.status).toBe('ready');
    expect(outbox?.since).toBeGreaterThanOrEqual(begin);
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
});
