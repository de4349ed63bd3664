import { beforeAll, expect, it } from '@jest/globals';
import type { Bot, Bundle, Subscription } from '@medplum/fhirtypes';
import type { Installation } from '../../lib/installation.ts';
import { eventually } from '../../lib/until.ts';
import { prepareInstallation } from '../installation.ts';

/** Longer than the lease of a delivery and the run of retry-deliveries after it. */
const LIMIT = 60_000;

let installation: Installation;
let http: typeof import('../../contract/http.ts');
let fixtures: typeof import('../../contract/notifications/fixtures.ts');
let listening: typeof import('../../contract/notifications/listener.ts');

beforeAll(async () => {
  installation = await prepareInstallation({ SANDBOX_DELAY_SCALE: '0.02' }, { notifications: { maxAttempts: 2 } });
  [http, fixtures, listening] = await Promise.all([
    import('../../contract/http.ts'),
    import('../../contract/notifications/fixtures.ts'),
    import('../../contract/notifications/listener.ts'),
  ]);
  await installation.start();
});

/** Switches off one of the Subscriptions by which Medplum starts Bots: as if its jobs were lost. */
async function loseJobs(bot: string): Promise<void> {
  const bots = http.resourceIn('Bundle', await http.medplum('admin', 'GET', `/Bot?name:exact=${bot}`)) as Bundle;
  const id = bots.entry?.[0]?.resource?.id;
  const bundle = http.resourceIn('Bundle', await http.medplum('admin', 'GET', '/Subscription?_count=1000'));
  const triggers = (bundle.entry ?? [])
    .map(({ resource }) => resource as Subscription)
    .filter(({ channel }) => channel.endpoint === `Bot/${id}`);
  for (const trigger of triggers) {
    const body = { ...trigger, status: 'off' };
    expect((await http.medplum('admin', 'PUT', `/Subscription/${trigger.id}`, { body })).status).toBe(200);
  }
  expect(triggers.length).toBeGreaterThan(0);
}

/** Stops Medplum's clock until the restart, which deploys the Bots anew: nothing is mended behind the back of a test. */
async function stopClock(): Promise<void> {
  const bundle = http.resourceIn('Bundle', await http.medplum('admin', 'GET', '/Bot?_count=1000'));
  const clocked = (bundle.entry ?? []).map(({ resource }) => resource as Bot).filter(({ cronString }) => cronString);
  expect(clocked.length).toBeGreaterThan(0);
  for (const { cronString: _, ...body } of clocked) {
    expect((await http.medplum('admin', 'PUT', `/Bot/${body.id}`, { body })).status).toBe(200);
  }
}

async function restart(): Promise<void> {
  await installation.kill();
  await installation.start();
}

const eventsOf = (id: string | undefined) =>
  http.medplum('admin', 'GET', `/Communication?identifier=${id}/1&_summary=count`);

it('killed between the deletion and its jobs: the event arrives, the slot is free, and nothing is left to be done', async () => {
  const listener = await listening.listen();
  await fixtures.subscribed(listener);
  const { id } = await fixtures.aBooking('automatic');
  const stored = http.resourceIn('Appointment', await http.medplum('front-desk', 'GET', `/Appointment/${id}`));
  const body = { ...stored, status: 'noshow' };
  expect((await http.medplum('front-desk', 'PUT', `/Appointment/${id}`, { body })).status).toBe(200);
  await listening.events(listener, 1, LIMIT);
  await stopClock();
  await loseJobs('sync-slots');
  expect((await http.medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
  const waiting = () => http.medplum('admin', 'GET', `/Task?focus=Appointment/${id}&_summary=count`);
  expect(http.resourceIn('Bundle', await waiting()).total).toBe(1);
  await restart();
  await listening.events(listener, 2, LIMIT);
  expect(listening.numbersAt(listener)).toEqual([1, 2]);
  const slot = stored.slot?.[0]?.reference;
  await eventually(async () => http.resourceIn('Slot', await http.medplum('front-desk', 'GET', `/${slot}`)), LIMIT).is(
    ({ status }) => status === 'free',
  );
  await eventually(async () => http.resourceIn('Bundle', await waiting()).total, LIMIT).is((total) => total === 0);
  await listener.close();
});

it('killed between the change and its announcement: the event arrives', async () => {
  const listener = await listening.listen();
  const { id } = await fixtures.subscribed(listener);
  const appointment = await fixtures.aBooking();
  await stopClock();
  await loseJobs('sync-slots');
  await fixtures.confirm(appointment);
  expect(http.resourceIn('Bundle', await eventsOf(id)).total).toBe(0);
  await restart();
  await listening.events(listener, 1, LIMIT);
  expect(listening.numbersAt(listener)).toEqual([1]);
  await listener.close();
});

it('killed between announcement and delivery: the event arrives', async () => {
  const listener = await listening.listen();
  const { id } = await fixtures.subscribed(listener);
  const appointment = await fixtures.aBooking();
  await stopClock();
  await loseJobs('deliver-events');
  await fixtures.confirm(appointment);
  await eventually(async () => http.resourceIn('Bundle', await eventsOf(id)).total).is((total) => total === 1);
  expect(listening.numbersAt(listener)).toEqual([]);
  await restart();
  await listening.events(listener, 1, LIMIT);
  expect(listening.numbersAt(listener)).toEqual([1]);
  await listener.close();
});

it('killed between delivery and its bookkeeping: the event arrives twice at most, with the same number', async () => {
  const listener = await listening.listen();
  await fixtures.subscribed(listener);
  const appointment = await fixtures.aBooking();
  listener.reply = () => undefined;
  await fixtures.confirm(appointment);
  await listening.events(listener, 1);
  await installation.kill();
  listener.reply = 200;
  await installation.start();
  await listening.events(listener, 2, LIMIT);
  await fixtures.staffChange(appointment, { comment: 'afterwards' });
  await listening.events(listener, 3, LIMIT);
  expect(listening.numbersAt(listener)).toEqual([1, 1, 2]);
  await listener.close();
});

it('a subscriber that stays dead: error with the reason after the last attempt; set back, it gets what it missed', async () => {
  const listener = await listening.listen();
  const { id } = await fixtures.subscribed(listener);
  const appointment = await fixtures.aBooking();
  listener.reply = 503;
  await fixtures.confirm(appointment);
  const { error } = await fixtures.turnsTo('error', id);
  expect(error).toContain('503');
  await fixtures.cancel(appointment);
  const missed = http.resourceIn('Bundle', await http.request('portal-a', 'GET', `/Subscription/${id}/$events`));
  expect(listening.numbersIn(missed)[0]).toBe(1);
  listener.reply = 200;
  listener.received.length = 0;
  const stored = http.resourceIn('Subscription', await http.medplum('admin', 'GET', `/Subscription/${id}`));
  const body = { ...stored, status: 'requested' };
  expect((await http.medplum('admin', 'PUT', `/Subscription/${id}`, { body })).status).toBe(200);
  await fixtures.turnsTo('active', id);
  await listening.events(listener, 2, LIMIT);
  expect(listening.numbersAt(listener)).toEqual([1, 2]);
  await listener.close();
});
