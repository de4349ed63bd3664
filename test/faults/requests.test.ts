import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import type { Installation } from '../lib/installation.ts';
import { until } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';
import { type Fault, type FaultyProxy, faults, isTransaction, once, type Passing, startProxy } from './proxy.ts';

let installation: Installation;
let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let requests: typeof import('../contract/requests/fixtures.ts');
let consistent: typeof import('../contract/races/consistent.ts');

beforeAll(async () => {
  proxy = await startProxy();
  installation = await prepareInstallation({ SANDBOX_BOT_BASE_URL: proxy.url, SANDBOX_DELAY_SCALE: '0.02' });
  proxy.target = installation.medplumUrl;
  [fixtures, http, requests, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/requests/fixtures.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
});

/** Lets a fault happen to a request that is meant; resolves when it has happened. */
function faultAt(fault: Fault, isMeant: (passing: Passing) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.choose = once(async (forward, socket) => {
    await fault(forward, socket);
    resolve();
  }, isMeant);
  return promise;
}

async function killAndRestart(): Promise<void> {
  await installation.kill();
  proxy.choose = () => undefined;
  await installation.start();
}

const withhold: Fault = async () => undefined;

/** Before a transaction arrives, and after it was carried out, before its answer. */
const moments: readonly (readonly [string, Fault])[] = [
  ['before its transaction arrives', withhold],
  ['after its transaction, before the answer', faults.silent],
];

const versionsOf = async (id: string): Promise<Appointment[]> => {
  const history = http.resourceIn('Bundle', await http.medplum('admin', 'GET', `/Appointment/${id}/_history`));
  return (history.entry ?? []).flatMap(({ resource }) => (resource?.resourceType === 'Appointment' ? [resource] : []));
};

describe.each(moments)('killed %s', (_, fault) => {
  it('the booking and its Task are there together or not at all, and after the retry once', async () => {
    const { schedule, slot, patient } = await fixtures.aClinic(requests.byHandWithin(2, 'd'));
    const identifier = [{ system: 'urn:portal-a', value: randomUUID() }];
    const body = fixtures.proposed(patient, [slot], { identifier });
    const happened = faultAt(fault, (passing) => isTransaction(passing) && passing.body.includes(`Slot/${slot.id}`));
    const sent = fixtures.book(body).catch(() => undefined);
    await happened;
    await killAndRestart();
    await sent;
    const [left] = await fixtures.appointmentsOn(slot);
    expect(await requests.tasksOf(left?.id)).toHaveLength(left ? 1 : 0);
    const retried = http.resourceIn('Appointment', await fixtures.book(body));
    expect(await fixtures.appointmentsOn(slot)).toMatchObject([{ id: retried.id, status: 'pending' }]);
    expect(await requests.tasksOf(retried.id)).toHaveLength(1);
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  });

  it('at the deadline: after the restart the request ends, once', async () => {
    const happened = faultAt(
      fault,
      (passing) => isTransaction(passing) && passing.body.includes('confirmation-expired'),
    );
    const { schedule, id } = await requests.aRequest(1, 's');
    await happened;
    await killAndRestart();
    await until(
      () => requests.tasksOf(id),
      ([task]) => task?.status === 'cancelled',
    );
    const versions = await versionsOf(id);
    expect(versions.map(({ status }) => status)).toEqual(['cancelled', 'pending']);
    expect(await fixtures.slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await requests.tasksOf(id)).toHaveLength(1);
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  });

  it('while the portal cancels: appointment and Task say the same, and the clock need not mend anything', async () => {
    const { schedule, id } = await requests.aRequest(2, 'd');
    const happened = faultAt(
      fault,
      (passing) =>
        isTransaction(passing) &&
        passing.body.includes(`PUT`) &&
        passing.body.includes(id) &&
        passing.body.includes('"cancelled"'),
    );
    const patch = [{ op: 'replace', path: '/status', value: 'cancelled' }];
    const headers = { 'content-type': 'application/json-patch+json' };
    const sent = http
      .request('portal-a', 'PATCH', `/Appointment/${id}`, { body: patch, headers })
      .catch(() => undefined);
    await happened;
    await killAndRestart();
    await sent;
    const [version] = await versionsOf(id);
    const [task] = await requests.tasksOf(id);
    expect([version?.status, task?.status]).toEqual(
      version?.status === 'cancelled' ? ['cancelled', 'completed'] : ['pending', 'requested'],
    );
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  });
});

it('a request that cannot be ended keeps none of the others from their end, and ends when it can be written', async () => {
  const first = await requests.aRequest(1, 's');
  proxy.choose = ({ body }) =>
    body.includes('confirmation-expired') && body.includes(`Appointment/${first.id}`) ? faults[500] : undefined;
  const others = await Promise.all([requests.aRequest(1, 's'), requests.aRequest(1, 's')]);
  for (const { schedule } of others) {
    await until(
      () => fixtures.slotsOf(schedule),
      (slots) => slots.join() === 'free 0-30',
    );
  }
  expect(await fixtures.slotsOf(first.schedule)).toEqual(['busy-tentative 0-30']);
  proxy.choose = () => undefined;
  await until(
    () => fixtures.slotsOf(first.schedule),
    (slots) => slots.join() === 'free 0-30',
  );
});

it('more requests than fit on a page end, by the clock alone', async () => {
  const clinic = await fixtures.aClinic(requests.byHandWithin(5, 's'));
  const slots = await fixtures.simultaneously(60, (index) =>
    fixtures.aSlot(clinic.schedule, 60 + index * 10, 70 + index * 10),
  );
  for (const [index, slot] of slots.entries()) {
    const time = { from: 60 + index * 10, to: 70 + index * 10 };
    await fixtures.book(fixtures.proposed(clinic.patient, [slot], time));
  }
  await until(
    () => fixtures.slotsOf(clinic.schedule),
    (found) => found.every((slot) => slot.startsWith('free')),
    60_000,
  );
});
