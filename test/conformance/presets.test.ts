import { expect, test } from '@jest/globals';
import type { Resource } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import type { Client } from '../../packages/conformance/client.ts';
import { scaled } from '../lib/time-scale.ts';
import { faultsIn } from '../profiles/isik.ts';
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

/** A client that remembers every resource that it is answered, also within Bundles. */
function watched(client: Client, seen: Resource[]): Client {
  return {
    ...client,
    async send(request) {
      const answer = await client.send(request);
      const { resource } = answer;
      const inside = isResource(resource, 'Bundle')
        ? (resource.entry ?? []).map((entry) => entry.resource)
        : [resource];
      seen.push(
        ...inside.filter((one) => isObject(one) && typeof one.resourceType === 'string').map((one) => Object(one)),
      );
      return answer;
    },
  };
}

/** The default is examined by `test/contract/conformance.test.ts`. */
test.each(stages.filter((stage) => stage !== 'default'))(
  'the service passes whole with the preset %s, and nothing is left behind',
  async (stage) => {
    const service = await startService(stage);
    try {
      const seen: Resource[] = [];
      const { results, left } = await service.examine({ broken: (client) => watched(client, seen) });
      const faults = seen.flatMap((one) => faultsIn(one, stage, service.config));
      expect([...new Set(faults)]).toEqual([]);
      expect(seen.filter(({ resourceType }) => resourceType === 'Appointment').length).toBeGreaterThan(50);
      expect(
        results.filter(({ verdict }) => verdict !== 'passed').map(({ check, reason }) => [check.name, reason]),
      ).toEqual([]);
      expect(results.length).toBeGreaterThan(95);
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
