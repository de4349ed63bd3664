import '../../config.ts';
import { expect, it } from '@jest/globals';
import type { HealthcareService, Slot } from '@medplum/fhirtypes';
import { readPolicies } from '../../../../bots/lib/booking/policies.ts';
import { aSchedule, aService, aSlot, policy, typeOf, unavailable } from '../../booking/fixtures.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();
const HOUR = 3_600_000;

const actorOf = ({ id }: HealthcareService) => ({ reference: `HealthcareService/${id}` });

const policies = async (...given: Parameters<typeof readPolicies> extends [unknown, ...infer R] ? R : never) =>
  (await readPolicies(medplum().medplum, ...given)).map((one) => one.policy);

it('the policy of a Schedule is its own, and that of the service that is its actor', async () => {
  const service = await aService(medplum(), { extension: [policy({ cancelUntil: 5, leadTime: 2 })] });
  const schedule = await aSchedule(medplum(), { actor: [actorOf(service)], extension: [policy({ leadTime: 1 })] });
  const slot = await aSlot(medplum(), schedule, '09:00', '10:00');
  expect(await policies([slot])).toEqual([{ leadTime: HOUR, cancelUntil: 5 * HOUR }]);
  expect(medplum().asked).toHaveLength(1);
});

it('a service that the Schedule names as what it offers is read besides, once', async () => {
  const [service, other] = [
    await aService(medplum(), { extension: [policy({ cancelUntil: 5 })] }),
    await aService(medplum(), { extension: [policy({ cancelUntil: 7 })] }),
  ];
  const [one, two] = [
    await aSchedule(medplum(), { serviceType: [typeOf(service)] }),
    await aSchedule(medplum(), { serviceType: [typeOf(service), typeOf(other)] }),
  ];
  const slots = [await aSlot(medplum(), one, '09:00', '10:00'), await aSlot(medplum(), two, '09:00', '10:00')];
  const found = await policies(slots);
  expect(found.map(({ cancelUntil = 0 }) => cancelUntil / HOUR).sort()).toEqual([5, 7]);
  expect(medplum().asked.map(({ entries }) => entries)).toEqual([
    [`GET Schedule?_id=${one.id},${two.id}&_count=1000&_include=Schedule:actor`],
    [expect.stringMatching(/^GET HealthcareService\?_id=[^,]+,[^,]+&_count=1000$/)],
  ]);
});

it('each Schedule is asked for once, and has one policy', async () => {
  const schedule = await aSchedule(medplum(), { extension: [policy({ leadTime: 1 })] });
  const slots = [
    await aSlot(medplum(), schedule, '09:00', '10:00'),
    await aSlot(medplum(), schedule, '10:00', '11:00'),
  ];
  expect(await policies(slots)).toEqual([{ leadTime: HOUR }]);
  expect(medplum().asked.map(({ entries }) => entries)).toEqual([
    [`GET Schedule?_id=${schedule.id}&_count=1000&_include=Schedule:actor`],
  ]);
});

it('what is known is not read again, and what is known besides says nothing', async () => {
  const service = await aService(medplum(), { extension: [policy({ cancelUntil: 5 })] });
  const schedule = await aSchedule(medplum(), { actor: [actorOf(service)] });
  const other = await aSchedule(medplum(), { extension: [policy({ leadTime: 9 })] });
  const slot = await aSlot(medplum(), schedule, '09:00', '10:00');
  expect(await policies([slot], [service, other, schedule])).toEqual([{ cancelUntil: 5 * HOUR }]);
  expect(medplum().asked).toEqual([]);
  const strange = await aSlot(medplum(), other, '09:00', '10:00');
  expect(await policies([slot, strange], [service, schedule])).toEqual([
    { cancelUntil: 5 * HOUR },
    { leadTime: 9 * HOUR },
  ]);
  expect(medplum().asked.map(({ entries }) => entries)).toEqual([
    [`GET Schedule?_id=${other.id}&_count=1000&_include=Schedule:actor`],
  ]);
});

it('a Schedule that was deleted, or is none of this server, has no policy', async () => {
  const slot = (reference: string): Slot => ({
    resourceType: 'Slot',
    status: 'busy',
    start: '2031-01-06T08:00:00Z',
    end: '2031-01-06T09:00:00Z',
    schedule: { reference },
  });
  expect(await policies([slot('Schedule/00000000-0000-4000-8000-000000000000')])).toEqual([]);
  expect(await policies([slot('https://other.example/Schedule/1')])).toEqual([]);
  expect(await policies([])).toEqual([]);
  expect(medplum().asked).toHaveLength(1);
});

it('a server that cannot be read gives no policy', async () => {
  const schedule = await aSchedule(medplum());
  const slot = await aSlot(medplum(), schedule, '09:00', '10:00');
  medplum().interfere(unavailable);
  await expect(readPolicies(medplum().medplum, [slot])).rejects.toThrow('could not be read');
});
