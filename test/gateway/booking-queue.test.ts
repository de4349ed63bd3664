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
