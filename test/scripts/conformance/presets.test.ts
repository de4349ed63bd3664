import { expect, test } from '@jest/globals';
import { scaled } from '../../lib/time-scale.ts';
import { countOf, type Service, stages, startService } from './service.ts';

/** What the checks make can be told from the demo data: by names, and by where it lies in time. */
const traces = [
  'Schedule?actor:Practitioner.family=Test',
  'Practitioner?family=Test',
  'HealthcareService?name=Conformance',
  'Patient?family=Test',
  'Appointment?date=ge2031-01-01',
  'Slot?start=ge2031-01-01',
  'Encounter',
];

async function tracesIn(service: Service): Promise<string[]> {
  const counts = await Promise.all(traces.map(async (query) => ({ query, count: await countOf(service, query) })));
  return counts.filter(({ count }) => count > 0).map(({ query, count }) => `${count} ${query}`);
}

test.each(stages)(
  'the service passes whole with the preset %s, and nothing is left behind',
  async (stage) => {
    const service = await startService(stage);
    try {
      const { results, left } = await service.examine();
      expect(
        results.filter(({ verdict }) => verdict !== 'passed').map(({ check, reason }) => [check.name, reason]),
      ).toEqual([]);
      expect(results.length).toBeGreaterThan(stage === 'default' ? 45 : 95);
      expect(left).toEqual([]);
      expect(await tracesIn(service)).toEqual([]);
      const { resource } = await service.requestor.send({ method: 'GET', path: '/Subscription?_count=0' });
      expect(resource).toMatchObject({ total: 0 });
    } finally {
      await service.stop();
    }
  },
  scaled(180_000),
);
