import { expect, test } from '@jest/globals';
import type { Resource } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../../core/fhir/resource.ts';
import { FUZZ } from '../../../test/lib/hostile-texts.ts';
import { scaled } from '../../../test/lib/time-scale.ts';
import { publishedFaults, publishedFor } from '../../../test/profiles/gematik.ts';
import { faultsIn } from '../../../test/profiles/isik.ts';
import type { Client } from '../client.ts';
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
      const response = await client.send(request);
      const { resource } = response;
      const inside = isResource(resource, 'Bundle')
        ? (resource.entry ?? []).map((entry) => entry.resource)
        : [resource];
      seen.push(
        ...inside.filter((one) => isObject(one) && typeof one.resourceType === 'string').map((one) => Object(one)),
      );
      return response;
    },
  };
}

/** One of them, before a release all; `test/contract/conformance.test.ts` examines the default. */
test.each(stages.filter((stage) => stage !== 'default').slice(FUZZ > 1 ? 0 : -1))(
  'the service passes whole with the preset %s, and nothing is left behind',
  async (stage) => {
    const service = await startService(stage);
    try {
      const seen: Resource[] = [];
      const { results, left } = await service.examine({ broken: (client) => watched(client, seen) });
      const published = publishedFor(stage);
      const faults = seen.flatMap((one) => [
        ...faultsIn(one, stage, service.config),
        ...(published ? publishedFaults(one, published) : []),
      ]);
      expect([...new Set(faults)]).toEqual([]);
      expect(seen.filter(({ resourceType }) => resourceType === 'Appointment').length).toBeGreaterThan(50);
      expect(
        results.filter(({ conclusion }) => conclusion !== 'passed').map(({ check, reason }) => [check.name, reason]),
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

const ofStage3 = publishedFor('isik3');

/** The examples of gematik are at hand only where `ISIK_TESTSUITE` names a checkout of its test suite. */
(ofStage3 ? test : test.skip)(
  "gematik's example appointments are booked, and what is stored conforms to its profiles",
  async () => {
    const service = await startService('isik3');
    const made = async (client: Client, path: string, body: unknown) => {
      const { status, resource } = await client.send({ method: 'POST', path, body });
      return { status, resource: resource as Resource & { id: string } };
    };
    try {
      const { examples = [] } = ofStage3 ?? {};
      const patient = examples.find((resource) => resource.resourceType === 'Patient');
      const { resource: stored } = await made(service.requestor, '/Patient', { ...patient, id: undefined });
      const { resource: actor } = await made(service.staff, '/Practitioner', { resourceType: 'Practitioner' });
      const appointments = examples.filter((resource) => resource.resourceType === 'Appointment');
      for (const [index, example] of appointments.entries()) {
        const schedule = { resourceType: 'Schedule', active: true, actor: [{ reference: `Practitioner/${actor.id}` }] };
        const { resource: own } = await made(service.staff, '/Schedule', {
          ...schedule,
          serviceType: example.serviceType,
        });
        const time = { start: `2031-0${index + 1}-10T09:00:00Z`, end: `2031-0${index + 1}-10T09:30:00Z` };
        const free = { resourceType: 'Slot', status: 'free', schedule: { reference: `Schedule/${own.id}` }, ...time };
        const { resource: slot } = await made(service.staff, '/Slot', free);
        const [first] = example.participant;
        const booked = await made(service.requestor, '/Appointment/$book', {
          ...example,
          ...time,
          slot: [{ reference: `Slot/${slot.id}` }],
          participant: [{ ...first, actor: { ...first?.actor, reference: `Patient/${stored.id}` } }],
        });
        expect([example.id, booked.status]).toEqual([example.id, 201]);
        expect(ofStage3 && publishedFaults(booked.resource, ofStage3)).toEqual([]);
      }
      expect(appointments.length).toBe(3);
    } finally {
      await service.stop();
    }
  },
  scaled(60_000),
);
