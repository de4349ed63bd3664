import { afterEach, expect, it } from '@jest/globals';
import { aClinic, aPatient, book, proposed, succeeded } from '../fixtures.ts';
import { about, subscribed } from '../notifications/fixtures.ts';
import { eventEntries, events, type Listener, listen } from '../notifications/listener.ts';
import '../notifications/stand-ins.ts';
import { byHandWithin, over, runBot } from './fixtures.ts';

const open: Listener[] = [];
afterEach(() => Promise.all(open.splice(0).map((listener) => listener.close())));

it.each<[string, (body: ReturnType<typeof proposed>) => Promise<unknown>]>([
  ['when the deadline is over', () => runBot('end-requests')],
  [
    'when somebody else takes the time first',
    async ({ slot, start, end }) => {
      const others = await aPatient('portal-b');
      await book({ ...proposed(others, []), slot, start, end }, 'portal-b');
    },
  ],
])('the portal is told, %s: cancelled, with the reason', async (_, end) => {
  const listener = await listen();
  open.push(listener);
  const { slot, patient } = await aClinic(byHandWithin(1, 's'));
  await subscribed(listener, { ...about(patient), content: 'full-resource' });
  const body = proposed(patient, [slot]);
  const pending = succeeded('Appointment', await book(body));
  await over(pending);
  await end(body);
  const told = (await events(listener, 1))
    .flatMap(({ bundle }) => eventEntries(bundle))
    .map(({ resource }) => resource);
  expect(told).toMatchObject([
    { id: pending.id, status: 'cancelled', cancelationReason: { coding: [{ code: 'confirmation-expired' }] } },
  ]);
});
