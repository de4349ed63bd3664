import { beforeAll, expect, it } from '@jest/globals';
import type { Patient, Schedule } from '@medplum/fhirtypes';
import type { Installation } from '../lib/installation.ts';
import { prepareInstallation } from './installation.ts';

const LIMITS = { maxOpenAppointments: 4, maxBookingsPerMinute: 11 };

let installation: Installation;
let contract: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let changes: typeof import('../contract/patch/fixtures.ts');
let schedule: Schedule;
let patient: Patient;
let minute = 0;

beforeAll(async () => {
  installation = await prepareInstallation({}, { requestors: LIMITS });
  [contract, http, changes] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/patch/fixtures.ts'),
  ]);
  await installation.start();
  [schedule, patient] = await Promise.all([contract.aSchedule(), contract.aPatient()]);
});

/** An appointment for a free slot of its own. */
async function wish(whose: Patient = patient, more: object = {}) {
  const time = { from: minute, to: minute + 10 };
  minute += 10;
  return contract.proposed(whose, [await contract.aSlot(schedule, time.from, time.to)], { ...time, ...more });
}

const idOf = (response: Awaited<ReturnType<typeof contract.book>>): string =>
  http.resourceIn('Appointment', response).id ?? '';

it('open appointments: one more than the limit is refused, also as a hold or a job; a move and a cancellation go on', async () => {
  const ids: string[] = [];
  for (let count = 0; count < LIMITS.maxOpenAppointments; count++) {
    ids.push(idOf(await contract.book(await wish())));
  }
  const refusals = [
    await contract.book(await wish()),
    await contract.book(await wish(), 'portal-a', { prefer: 'respond-async' }),
    await http.request('portal-a', 'POST', '/Appointment/$hold', { body: await wish() }),
  ];
  const limit = [422, ['portal-limit-reached Appointment']];
  expect(refusals.map((response) => [response.status, http.issuesOf(response)])).toEqual([limit, limit, limit]);
  expect((await contract.book(await wish(patient, { id: ids[0] }))).status).toBe(201);
  await changes.patch(ids[0] ?? '', changes.cancellation);
  expect((await contract.book(await wish())).status).toBe(201);
});

it('another portal has limits of its own, and staff have none', async () => {
  const [others, answers] = [await contract.aPatient('portal-b'), [] as number[]];
  for (let count = 0; count <= LIMITS.maxOpenAppointments; count++) {
    answers.push((await contract.book(await wish(), 'front-desk')).status);
  }
  expect(new Set(answers)).toEqual(new Set([201]));
  expect((await contract.book(await wish(others), 'portal-b')).status).toBe(201);
});

it('bookings in a minute: 429 with Retry-After, also for a hold and a job', async () => {
  const others = await contract.aPatient('portal-b');
  const tries = { most: 2 * LIMITS.maxBookingsPerMinute, booked: 0 };
  for (
    let response = await contract.book(await wish(others), 'portal-b');
    response.status === 201 && tries.most-- > 0;
  ) {
    tries.booked++;
    await changes.patch(idOf(response), changes.cancellation, 'portal-b');
    response = await contract.book(await wish(others), 'portal-b');
  }
  // Each cancellation counts as well.
  expect(tries.booked).toBe(Math.floor(LIMITS.maxBookingsPerMinute / 2));
  const refusals = [
    await contract.book(await wish(others), 'portal-b'),
    await contract.book(await wish(others), 'portal-b', { prefer: 'respond-async' }),
    await http.request('portal-b', 'POST', '/Appointment/$hold', { body: await wish(others) }),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([429, 429, 429]);
  expect(refusals.map(http.issuesOf)).toEqual(Array(3).fill(['too-many-bookings Appointment']));
  expect(refusals.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
});
