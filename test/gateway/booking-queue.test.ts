import { expect, test } from '@jest/globals';
import { createBookingQueue, queueKeys } from '../../gateway/booking-queue.ts';

const allHaveRun = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('those who want the same run one after another, in the order in which they came; others at once', async () => {
  const { take } = createBookingQueue(10_000);
  const log: string[] = [];
  const gates = ['a', 'ab', 'b', 'c'].map((name) => ({ name, ...Promise.withResolvers<void>() }));
  const runs = gates.map(({ name, promise }) =>
    take([...name], async () => {
      log.push(name);
      await promise;
    }),
  );
  await allHaveRun();
  expect(log).toEqual(['a', 'c']);
  gates[0]?.resolve();
  await allHaveRun();
  expect(log).toEqual(['a', 'c', 'ab']);
  for (const { resolve } of gates) {
    resolve();
  }
  await Promise.all(runs);
  expect(log).toEqual(['a', 'c', 'ab', 'b']);
});

test('who comes while the second one runs waits for it, too', async () => {
  const { take } = createBookingQueue(10_000);
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = take(['a'], async () => void log.push('first'));
  const second = take(['a'], async () => {
    log.push('second');
    await gate.promise;
  });
  await first;
  const third = take(['a'], async () => void log.push('third'));
  await allHaveRun();
  expect(log).toEqual(['first', 'second']);
  gate.resolve();
  await Promise.all([second, third]);
  expect(log).toEqual(['first', 'second', 'third']);
});

test('who has nobody before runs at once', async () => {
  const { take } = createBookingQueue(10_000);
  const log: string[] = [];
  const runs = [[], ['a'], ['b', 'c']].map((keys) => take(keys, async () => void log.push(keys.join())));
  expect(log).toEqual(['', 'a', 'b,c']);
  await Promise.all(runs);
});

test('who comes when all have ended runs at once', async () => {
  const { take } = createBookingQueue(10_000);
  const log: string[] = [];
  await take(['a', 'b'], async () => void log.push('first'));
  const second = take(['b'], async () => void log.push('second'));
  expect(log).toEqual(['first', 'second']);
  await second;
});

test('who fails gives the turn on, and who takes too long is not waited for', async () => {
  const { take } = createBookingQueue(20);
  await expect(take(['a'], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const never = take(['a'], () => new Promise(() => undefined));
  expect(await take(['a'], async () => 'done')).toBe('done');
  expect(never).toBeInstanceOf(Promise);
});

test('the keys are the slots, schedules and appointments that a body names, each once', () => {
  const appointment = {
    resourceType: 'Appointment',
    id: '6',
    slot: [{ reference: 'Slot/1' }, { reference: 'https://x/fhir/Slot/2' }, { reference: 'Slot/1/_history/3' }],
    participant: [{ actor: { reference: 'Patient/4' } }],
  };
  expect(queueKeys(appointment)).toEqual(['Appointment/6', 'Slot/1', 'Slot/2']);
  const parameter = [{ name: 'appt-resource', resource: appointment }, { valueUri: 'Appointment/5' }, null];
  expect(queueKeys({ resourceType: 'Parameters', parameter })).toEqual([
    'Appointment/6',
    'Slot/1',
    'Slot/2',
    'Appointment/5',
  ]);
  expect(queueKeys(undefined)).toEqual([]);
});

test('there are fifty keys at most, besides the appointments that are sent', () => {
  const references = (count: number) => Array.from({ length: count }, (_, index) => ({ reference: `Slot/${index}` }));
  const keys = queueKeys({ resourceType: 'Appointment', id: '6', slot: references(60) });
  expect([keys.length, keys[0], keys[50]]).toEqual([51, 'Appointment/6', 'Slot/49']);
});

test.each<[unknown, string[]]>([
  [{ reference: 'OpenSlot/1' }, []],
  [{ reference: 'Slot/' }, []],
  [{ reference: 'Schedule/a-1.B' }, ['Schedule/a-1.B']],
  [{ reference: `Slot/${'a'.repeat(65)}` }, [`Slot/${'a'.repeat(64)}`]],
  [{ resourceType: 'Appointment', id: 6 }, []],
  [{ resourceType: 'Patient', id: '6' }, []],
  [{ resourceType: 'Parameters', parameter: { resource: { resourceType: 'Appointment', id: '6' } } }, []],
  [{ resourceType: 'Parameters', parameter: [{ resource: null }, 'x'] }, []],
  ['Slot/1', ['Slot/1']],
  [null, []],
])('%j has the keys %j', (body, keys) => {
  expect(queueKeys(body)).toEqual(keys);
});
