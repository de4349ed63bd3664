import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Installation } from '../lib/installation.ts';
import { until } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';
import { type Fault, type FaultyProxy, faults, isTransaction, once, startProxy } from './proxy.ts';

let installation: Installation;
let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let holds: typeof import('../contract/holds/fixtures.ts');
let policies: typeof import('../contract/policy/fixtures.ts');
let consistent: typeof import('../contract/races/consistent.ts');

beforeAll(async () => {
  proxy = await startProxy();
  installation = await prepareInstallation(
    { SANDBOX_BOT_BASE_URL: proxy.url, SANDBOX_DELAY_SCALE: '0.02' },
    { holds: { maxPerRequestor: 3 } },
  );
  proxy.target = installation.medplumUrl;
  [fixtures, http, holds, policies, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/holds/fixtures.ts'),
    import('../contract/policy/fixtures.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
});

const cancel = (id: string | undefined) =>
  http.request('portal-a', 'PATCH', `/Appointment/${id}`, {
    body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
    headers: { 'content-type': 'application/json-patch+json' },
  });

const withhold: Fault = async () => undefined;

it('killed between hold and booking: the hold is there after the restart, and becomes the booking', async () => {
  const { schedule, slot, patient } = await fixtures.aClinic();
  const held = http.resourceIn('Appointment', await holds.hold(fixtures.proposed(patient, [slot])));
  await installation.kill();
  await installation.start();
  expect(await fixtures.slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
  const answer = await fixtures.book(fixtures.proposed(patient, [slot], { id: held.id }));
  expect([answer.status, http.resourceIn('Appointment', answer).id]).toEqual([201, held.id]);
  expect(await consistent.inconsistencies(schedule)).toEqual([]);
});

describe.each([
  ['before its transaction arrives', withhold],
  ['after its transaction, before the answer', faults.silent],
])('killed %s', (_, fault) => {
  it.each(['$hold', '$book of a hold'])('of %s: after the retry it is there once', async (operation) => {
    const { schedule, slot, patient } = await fixtures.aClinic();
    const identifier = [{ system: 'urn:portal-a', value: randomUUID() }];
    const isHold = operation === '$hold';
    const { id } = isHold
      ? { id: undefined }
      : http.resourceIn('Appointment', await holds.hold(fixtures.proposed(patient, [slot], { identifier })));
    const send = isHold ? holds.hold : fixtures.book;
    const body = fixtures.proposed(patient, [slot], { identifier, ...(id && { id }) });
    const reached = Promise.withResolvers<void>();
    proxy.choose = once(
      async (forward, socket) => {
        await fault(forward, socket);
        reached.resolve();
      },
      (passing) => isTransaction(passing) && passing.body.includes(`Slot/${slot.id}`),
    );
    const sent = send(body).catch(() => undefined);
    await reached.promise;
    await installation.kill();
    await sent;
    proxy.choose = () => undefined;
    await installation.start();
    const answer = await send(body);
    expect([200, 201]).toContain(answer.status);
    const [one, ...more] = await fixtures.appointmentsOn(slot);
    expect([one?.status, more]).toEqual([isHold ? 'proposed' : 'booked', []]);
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
    await cancel(one?.id);
  });
});

it('a hold that ran out while everything was down is tidied up after the restart, by nobody but the clock', async () => {
  const { schedule, slot, patient } = await fixtures.aClinic(policies.policy(policies.length('holdFor', 1, 's')));
  const held = http.resourceIn('Appointment', await holds.hold(fixtures.proposed(patient, [slot])));
  await installation.kill();
  await until(
    () => Date.now(),
    (now) => now > Date.parse(holds.heldUntil(held) ?? ''),
  );
  await installation.start();
  await until(
    () => fixtures.slotsOf(schedule),
    (slots) => slots.join() === 'free 0-30',
  );
  expect(await fixtures.appointmentsOn(slot)).toMatchObject([{ id: held.id, status: 'cancelled' }]);
});

it('of 50 callers of one requestor as many hold as the installation permits: 3', async () => {
  const { schedule, patient } = await fixtures.aClinic();
  const at = (index: number) => ({ from: 60 + index * 10, to: 70 + index * 10 });
  const slots = await fixtures.simultaneously(50, (index) => fixtures.aSlot(schedule, at(index).from, at(index).to));
  const answers = await fixtures.simultaneously(50, (index) =>
    holds.hold(fixtures.proposed(patient, slots.slice(index, index + 1), at(index))),
  );
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused).toHaveLength(47);
  expect(new Set(refused.flatMap(http.issuesOf))).toEqual(new Set(['too-many-holds Appointment.start']));
  expect(await fixtures.stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-tentative`)).toHaveLength(3);
});
