import '../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, OperationOutcome, Subscription } from '@medplum/fhirtypes';
import {
  mayChange,
  readAsCaller,
  readableAppointmentsOf,
  refusals,
  type Subscriber,
  searchAsCaller,
} from '../../../../bots/lib/notifications/subscriber.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { forgetOutboxes, remove, storedSubscription, subscribe, toPortal } from './events/fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

type Rules = AccessPolicy['resource'];

/** A caller with these rights in Medplum; by default it may read everything. */
async function aCaller(resource?: Rules, id = portal): Promise<Subscriber> {
  const { authorization } = await medplum().addClient('Caller', resource);
  return { id, authorization };
}

const administrator: Subscriber = { id: 'admin', authorization: 'Bearer admin' };
const stranger: Subscriber = { id: 'stranger', authorization: 'Bearer unknown' };
const ownOnly: Rules = [
  {
    resourceType: 'Subscription',
    criteria: `Subscription?_tag=${requestorTag('', config).system}|${portal}`,
    interaction: ['read', 'search'],
  },
];

const codesIn = ({ issue }: OperationOutcome) => issue.map(({ details }) => details?.coding?.[0]?.code);
const unavailable = ['upstream-unavailable'];
const refusedWith = (answer: unknown) => codesIn(answer as OperationOutcome);

describe('a Subscription that a caller reads', () => {
  it('is read with the rights of the caller, and has the status that subscribers see', async () => {
    const { subscription } = await subscribe(medplum());
    const caller = await aCaller(ownOnly);
    expect(await readAsCaller(medplum().medplum, subscription.id, caller)).toMatchObject({
      id: subscription.id,
      status: 'active',
    });
  });

  it.each<[string, () => Promise<string>]>([
    ["is somebody else's", async () => (await subscribe(medplum(), { owner: 'other' })).subscription.id],
    ['was never there', async () => '5b1f1a52-93d0-4c2a-8b3c-111111111111'],
    [
      'has no topic of the service',
      async () => (await medplum().create(storedSubscription(portal, toPortal({ criteria: 'Patient' })))).id,
    ],
  ])('is not found if it %s', async (_, make) => {
    expect(await readAsCaller(medplum().medplum, await make(), await aCaller(ownOnly))).toEqual(refusals['not-found']);
  });

  it.each(['', 'a b', '../Patient', 'x'.repeat(65)])('is not asked for by what is no id: %j', async (id) => {
    expect(await readAsCaller(medplum().medplum, id, administrator)).toEqual(refusals['not-found']);
  });

  it('is gone if it was deleted', async () => {
    const { subscription } = await subscribe(medplum());
    await remove(medplum(), subscription);
    expect(await readAsCaller(medplum().medplum, subscription.id, administrator)).toEqual(refusals.gone);
  });
});

describe('the Subscriptions that a caller searches', () => {
  it('are all that it may see to topics of the service, with the status that subscribers see', async () => {
    const owner = 'searcher';
    const { system } = requestorTag('', config);
    const own = { resourceType: 'Subscription', criteria: `Subscription?_tag=${system}|${owner}` };
    const caller = await aCaller([own], owner);
    const all = [await subscribe(medplum(), { owner }), await subscribe(medplum(), { owner })];
    await subscribe(medplum(), { owner: 'other' });
    await medplum().create(storedSubscription(owner, toPortal({ criteria: 'Patient' })));
    const { meta: _, ...unprofiled } = storedSubscription(owner, toPortal());
    await medplum().create<Subscription>({ ...unprofiled, meta: { tag: [requestorTag(owner, config)] } });
    const found = (await searchAsCaller(medplum().medplum, caller)) as Subscription[];
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(all.map(({ subscription }) => subscription.id)));
    expect(found.map(({ status }) => status)).toEqual(['active', 'active']);
  });

  it('are not known to a caller who may not search them', async () => {
    const answer = await searchAsCaller(medplum().medplum, await aCaller([{ resourceType: 'Patient' }]));
    expect(refusedWith(answer)).toEqual(unavailable);
  });
});

describe('what a caller may do', () => {
  const readOnly: Rules = [{ resourceType: '*', interaction: ['read', 'search'] }];
  const editor: Rules = [{ resourceType: 'Appointment' }];

  it('its own Subscription it may change', async () => {
    const { subscription } = await subscribe(medplum());
    expect(await mayChange(medplum().medplum, subscription, { ...stranger, id: portal })).toBe(true);
  });

  it.each<[string, boolean, () => Promise<Subscriber>]>([
    ['an administrator', true, async () => administrator],
    ['whoever may change Subscriptions in Medplum', true, () => aCaller([{ resourceType: 'Subscription' }], 'other')],
    ['staff who may change appointments only', false, () => aCaller(editor, 'other')],
    ['whoever may only read', false, () => aCaller(readOnly, 'other')],
    ['whoever Medplum does not know', false, async () => stranger],
  ])("%s may change somebody else's: %p", async (_, expected, caller) => {
    const { subscription } = await subscribe(medplum());
    expect(await mayChange(medplum().medplum, subscription, await caller())).toBe(expected);
  });

  it.each<[string, string[], () => Promise<Subscriber>]>([
    ['an administrator', ['Appointment'], async () => administrator],
    ['whoever may read everything', ['Appointment'], () => aCaller(readOnly)],
    [
      'whoever may read some',
      ['Appointment?status=booked'],
      () => aCaller([{ resourceType: 'Appointment', criteria: 'Appointment?status=booked' }]),
    ],
    ['whoever may read patients', [], () => aCaller([{ resourceType: 'Patient' }])],
    ['whoever Medplum does not know', [], async () => stranger],
  ])('%s may read these appointments: %j', async (_, expected, caller) => {
    expect(await readableAppointmentsOf(medplum().medplum, await caller())).toEqual(expected);
  });
});
