import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Subscription } from '@medplum/fhirtypes';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { readOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/write-subscription.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { ahead } from '../clock.ts';
import { config } from '../config.ts';
import {
  batch,
  conflict,
  forgetOutboxes,
  storedSubscription,
  toPortal,
  writes,
} from '../lib/notifications/events/fixtures.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, codesIn, eventOf, knownCaller, outboxCount, reader, textOf } from './callers.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const aCaller = (resource?: AccessPolicy['resource']) => knownCaller(medplum(), resource);

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

const create = (caller: Caller, resource: unknown) => call(caller, { interaction: 'create', resource });

const countOf = async (type: string) => (await medplum().find(`${type}?_count=1000`)).length;

describe('a new Subscription', () => {
  it('is stored with its owner, its profile, and its outbox, from which the handshake is sent', async () => {
    const caller = await aCaller([{ resourceType: 'Appointment', criteria: 'Appointment?status=booked' }]);
    const header = ['Authorization: Bearer secret'];
    const sent = toPortal();
    const now = Date.now();
    const answer = await create(caller, { ...sent, channel: { ...sent.channel, header } });
    expect(answer).toMatchObject({ resourceType: 'Subscription', status: 'requested', reason: 'Test' });
    expect('channel' in answer && answer.channel.header).toBe(undefined);
    const stored = await medplum().read<Subscription>(`Subscription/${answer.id}`);
    expect(stored?.channel.header).toEqual(header);
    expect(stored?.meta?.profile).toEqual([artefactUri(config, 'LocalSubscriptionTermin')]);
    expect(stored?.meta?.tag).toContainEqual(requestorTag(caller.id, config));
    const found = await readOutbox(medplum().medplum, stored ?? {});
    expect(found).toMatchObject({
      row: { outboxes: { subscriber: caller.id, readable: ['Appointment?status=booked'] } },
    });
    expect(found?.outbox).toMatchObject({ status: 'ready', events: 0 });
    expect(found?.outbox.since).toBeGreaterThanOrEqual(now);
  });

  it('takes a place in the same transaction', async () => {
    const caller = await aCaller();
    await create(caller, toPortal());
    expect(await outboxCount(medplum(), caller)).toBe(1);
  });

  it('of a subscriber whom the service does not know makes it known', async () => {
    const caller = await medplum().addClient('New', reader);
    expect(await create(caller, toPortal())).toMatchObject({ resourceType: 'Subscription' });
    expect(await outboxCount(medplum(), caller)).toBe(1);
  });

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
    const all = Array.from({ length: config.notifications.maxSubscriptions }, () =>
      storedSubscription(caller.id, toPortal()),
    );
    await batch(
      medplum(),
      all.map((resource) => ({ request: { method: 'POST', url: 'Subscription' }, resource })),
    );
    expect(codesIn(await create(caller, toPortal()))).toEqual(['subscriptions-exceeded']);
  });

  it('is tried again if another one of the subscriber was added at the same moment', async () => {
    const caller = await aCaller();
    let isFirst = true;
    medplum().interfere((asked) => {
      const isOvertaken = isFirst && writes(asked);
      isFirst &&= !isOvertaken;
      return isOvertaken ? conflict : undefined;
    });
    expect(await create(caller, toPortal())).toMatchObject({ resourceType: 'Subscription' });
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

  const refusal = (...issue: object[]): Answer => ({ status: 400, body: { resourceType: 'OperationOutcome', issue } });

  it.each<[string, Answer | 'no-answer', string, string]>([
    [
      'refuses it with a reason',
      refusal({ details: { text: 'Invalid' }, expression: ['Subscription.channel'] }),
      'malformed-request',
      'Invalid',
    ],
    ['refuses it without a reason', refusal({}), 'malformed-request', 'The server rejected the Subscription'],
    ['fails', { status: 500, body: {} }, 'upstream-unavailable', 'The FHIR server could not be reached'],
    ['does not answer', 'no-answer', 'upstream-unavailable', 'The FHIR server could not be reached'],
    [
      'says nothing of it',
      { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response' } },
      'upstream-unavailable',
      'The FHIR server could not be reached',
    ],
    [
      'says nothing of what it has written',
      { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry: [] } },
      'upstream-unavailable',
      'The FHIR server could not be reached',
    ],
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
