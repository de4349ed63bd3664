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

const appointment = {
  resourceType: 'Appointment',
  id: '6',
  comment: 'Slot/8 and Schedule/8',
  slot: [{ reference: 'Slot/1' }, { reference: 'https://x/fhir/Slot/2' }, { reference: 'Slot/1/_history/3' }],
  participant: [{ actor: { reference: 'Patient/4' } }],
  supportingInformation: [{ reference: 'Appointment/9' }],
};
const asked = ['a Appointment/6', 'a Slot/1', 'a Slot/2'];

test.each<[unknown, string[]]>([
  [appointment, asked],
  [
    {
      resourceType: 'Parameters',
      parameter: [
        { resource: appointment },
        { valueUri: 'Appointment/5' },
        { valueReference: { reference: 'Schedule/7' } },
        null,
      ],
    },
    [...asked, 'a Appointment/5', 'a Schedule/7'],
  ],
  [{ resourceType: 'Parameters', parameter: [{ resource: appointment }, { name: 'dry-run', valueBoolean: true }] }, []],
  [{ resourceType: 'Appointment', id: 6, slot: [null, { reference: 7 }, { reference: 'OpenSlot/1' }, 'x'] }, []],
  [{ resourceType: 'Patient', id: '6', slot: [{ reference: 'Slot/1' }] }, []],
  [{ resourceType: 'Parameters', parameter: { resource: appointment } }, []],
  [{ resourceType: 'Parameters', parameter: [{ resource: null }, 'x'] }, []],
  ['Slot/1', []],
  [null, []],
])('a caller takes turns over what it asks for, and nothing else (%j)', (body, keys) => {
  expect(queueKeys(body, 'a')).toEqual(keys);
});

test('there are fifty keys at most', () => {
  const slot = Array.from({ length: 1_000 }, (_, index) => ({ reference: `Slot/${index}` }));
  expect(queueKeys({ ...appointment, slot }, 'a')).toHaveLength(50);
});

test('who names the slots of others does not hold up their bookings', async () => {
  const { take } = createBookingQueue(10_000);
  const never = take(queueKeys(appointment, 'hostile'), () => new Promise(() => undefined));
  expect(await take(queueKeys(appointment, 'other'), async () => 'booked')).toBe('booked');
  expect(never).toBeInstanceOf(Promise);
});
