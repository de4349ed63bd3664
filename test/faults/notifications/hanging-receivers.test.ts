import { beforeAll, expect, it } from '@jest/globals';
import type { Installation } from '../../lib/installation.ts';
import { eventually } from '../../lib/until.ts';
import { prepareInstallation } from '../installation.ts';

/** The Subscriptions whose receiver answers the handshake and nothing after it. */
const HANGING = 100;

let installation: Installation;
let contract: typeof import('../../contract/fixtures.ts');
let http: typeof import('../../contract/http.ts');
let gateway: typeof import('../../contract/installation.ts');
let fixtures: typeof import('../../contract/notifications/fixtures.ts');
let listening: typeof import('../../contract/notifications/listener.ts');

beforeAll(async () => {
  installation = await prepareInstallation({}, { notifications: { maxSubscriptions: HANGING } });
  [contract, http, gateway, fixtures, listening] = await Promise.all([
    import('../../contract/fixtures.ts'),
    import('../../contract/http.ts'),
    import('../../contract/installation.ts'),
    import('../../contract/notifications/fixtures.ts'),
    import('../../contract/notifications/listener.ts'),
  ]);
  await installation.start();
});

/** Makes Subscriptions of a portal whose receiver then hangs, and an event for all of them. */
async function hang() {
  const listener = await listening.listen();
  for (let count = 0; count < HANGING; count++) {
    await fixtures.subscribed(listener, { timeout: 8 }, 'portal-b');
  }
  const counts = { open: 0, ended: 0, most: 0 };
  listener.reply = (response) => {
    counts.open += 1;
    counts.most = Math.max(counts.most, counts.open);
    response.once('close', () => {
      counts.open -= 1;
      counts.ended += 1;
    });
  };
  const appointment = await fixtures.aBooking('manual', 'portal-b');
  await fixtures.confirm(appointment);
  return { listener, counts };
}

it('100 receivers that hang: another portal is notified of its booking before all of them have timed out', async () => {
  const receiver = await listening.listen();
  await fixtures.subscribed(receiver);
  const [{ slot, patient }, later, pending] = await Promise.all([
    contract.aClinic(),
    contract.aClinic(),
    fixtures.aBooking(),
  ]);
  const { listener, counts } = await hang();
  await eventually(async () => counts.open).is((open) => open > 0);

  expect((await contract.book(contract.proposed(patient, [slot]))).status).toBe(201);
  const accepted = await contract.book(contract.proposed(later.patient, [later.slot]), 'portal-a', {
    prefer: 'respond-async',
  });
  const job = (accepted.headers.get('content-location') ?? '').slice(gateway.base.length);
  const done = await eventually(() => http.request('portal-a', 'GET', job)).is(({ status }) => status !== 202);
  expect(done.status).toBe(200);
  await fixtures.confirm(pending);
  await listening.events(receiver, 1);

  expect(counts.ended).toBeLessThan(HANGING);
  expect(counts.most).toBeLessThanOrEqual(20);
  await Promise.all([receiver.close(), listener.close()]);
});
