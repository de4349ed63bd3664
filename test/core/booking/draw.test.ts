import { expect, test } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { inOrder, waitsSince } from '../../../core/booking/async/task.ts';
import { drawIssues } from '../../../core/booking/policy/judge.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { randomOf } from '../../../packages/conformance/attack/network.ts';
import { config } from './support.ts';

const NOW = Date.parse('2027-01-04T08:01:20Z');

/** A request of a patient that waits for a draw. */
const waiting = (id: string, patient = id, start = '2027-01-04T08:01:15Z', portal = 'a'): Task => ({
  resourceType: 'Task',
  id,
  intent: 'order',
  status: 'requested',
  meta: { tag: [requestorTag(portal, config)] },
  for: { reference: `Patient/${patient}` },
  restriction: { period: { start } },
});

const order = (tasks: readonly Task[], random: () => number) =>
  inOrder(tasks, random, NOW, new Map(), config).map(({ id }) => id);

test('every place is as likely for each patient, whoever came first, by whatever portal, with however many wishes', () => {
  const [patients, draws] = [['1', '2', '3', '4', '5'], 5_000];
  const tasks = patients.map((id) => waiting(id, id, undefined, id === '5' ? 'b' : 'a'));
  const more = Array.from({ length: 7 }, (_, wish) => waiting(`3 again ${wish}`, '3'));
  const random = randomOf(36);
  const counts = new Map<string, number>();
  for (let draw = 0; draw < draws; draw++) {
    const patientsInOrder = order([...tasks, ...more], random).filter((id) => patients.includes(id ?? ''));
    for (const [place, id] of patientsInOrder.entries()) {
      counts.set(`${id} ${place}`, (counts.get(`${id} ${place}`) ?? 0) + 1);
    }
  }
  const expected = draws / patients.length;
  const chiSquare = patients
    .flatMap((id) => patients.map((_, place) => counts.get(`${id} ${place}`) ?? 0))
    .reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 16 degrees of freedom: 39.25 is exceeded once in a thousand times.
  expect(chiSquare).toBeLessThan(39.25);
});

test('a request waits since its draw, for whoever looks for what is left over', () => {
  expect(waitsSince(waiting('drawn'))).toBe(Date.parse('2027-01-04T08:01:15Z'));
  const { restriction: _, ...other } = waiting('other');
  expect(waitsSince({ ...other, authoredOn: '2027-01-04T08:00:00Z' })).toBe(Date.parse('2027-01-04T08:00:00Z'));
});

test('the wishes of a patient keep their order', () => {
  const wishes = ['first', 'second', 'third'].map((id) => waiting(id, 'one'));
  expect(order(wishes, randomOf(1))).toEqual(['first', 'second', 'third']);
});

test('what waits for a later draw is left alone, and what waits for none is carried out first', () => {
  const { restriction: _, for: __, ...left } = waiting('left over');
  const tasks = [waiting('drawn'), waiting('later', 'later', '2027-01-04T08:01:21Z'), left];
  expect(order(tasks, randomOf(1))).toEqual(['left over', 'drawn']);
});

const until = NOW;
const minutes = (count: number): number => count * 60_000;

test.each([
  ['a booking at once', undefined, -1, minutes(10)],
  ['a booking at once, just after', undefined, 5_000, minutes(10)],
  ['a request in time', { at: until - 1, hasWaited: false }, -1, 15_000],
  [
    'a request in time that is first looked at when the draw has begun',
    { at: until - 1, hasWaited: false },
    60_000,
    60_000,
  ],
  ['a request in time that has waited', { at: until - 1, hasWaited: true }, 14_999, 15_000],
  ['a request that comes late', { at: until, hasWaited: true }, 60_000, minutes(10)],
])('%s waits', (_, asked, now, later) => {
  const policies = [{ policy: { drawUntil: until }, saidBy: {}, isReadable: true }];
  const issues = drawIssues(policies, until + now, asked, 'Appointment.start');
  expect(issues.map(({ code, notBefore = 0 }) => [code, notBefore - until])).toEqual([['draw-open', later]]);
  const waited = asked && { ...asked, hasWaited: true };
  expect(drawIssues(policies, until + Math.max(later, 15_000), waited, 'Appointment.start')).toEqual([]);
});
