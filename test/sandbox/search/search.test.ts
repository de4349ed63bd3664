import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Bundle, HealthcareService, Practitioner, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { withSandbox } from '../start.ts';

const client = withSandbox();
let service: HealthcareService;
let schedule: Schedule;

function slot(owner: Schedule, hour: number, status: Slot['status']): Slot {
  return {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${owner.id}` },
    status,
    start: `2027-01-01T${hour}:00:00Z`,
    end: `2027-01-01T${hour}:30:00Z`,
    serviceType: [{ coding: [{ system: 'urn:type', code: 'ct' }], text: 'Computed tomography' }],
  };
}

beforeAll(async () => {
  service = await client().create<HealthcareService>({
    resourceType: 'HealthcareService',
    type: [{ coding: [{ system: 'urn:type', code: 'ct' }] }],
  });
  const practitioner = await client().create<Practitioner>({
    resourceType: 'Practitioner',
    name: [{ family: 'Hopper' }],
  });
  const actor = [{ reference: `HealthcareService/${service.id}` }];
  schedule = await client().create<Schedule>({ resourceType: 'Schedule', active: true, actor });
  const other = await client().create<Schedule>({
    resourceType: 'Schedule',
    actor: [{ reference: `Practitioner/${practitioner.id}` }],
  });
  for (const hour of [10, 11, 12]) {
    await client().create(slot(schedule, hour, 'free'));
  }
  await client().create(slot(other, 13, 'busy'));
});

async function found(query: string): Promise<Resource[]> {
  const { body } = await client().fhir<Bundle>('GET', query);
  return (body.entry ?? []).flatMap(({ resource }) => resource ?? []);
}

async function hours(query: string): Promise<string[]> {
  const slots = await found(`Slot?${query}`);
  return slots.map((resource) => (resource.resourceType === 'Slot' ? resource.start.slice(11, 13) : '?')).sort();
}

describe('filters', () => {
  test.each([
    ['status=free', ['10', '11', '12']],
    ['status:not=free', ['13']],
    ['status=free,busy', ['10', '11', '12', '13']],
    ['status=http://hl7.org/fhir/slotstatus|free', []],
    ['service-type=urn:type|ct', ['10', '11', '12', '13']],
    ['service-type=CT', []],
    ['service-type:text=tomography', ['10', '11', '12', '13']],
    ['start=ge2027-01-01T11:00:00Z', ['11', '12', '13']],
    ['start=2027-01-01T12:00:00%2B01:00', ['11']],
    ['start=2027-01-01', []],
    ['start=gt2027-01-01T10:00:00Z&start=lt2027-01-01T13:00:00Z', ['11', '12']],
    ['identifier:missing=true&status=busy', ['13']],
    ['_id=not-a-uuid', []],
    ['schedule=not-a-uuid', []],
  ])('Slot?%s', async (query, expected) => {
    expect(await hours(query)).toEqual(expected);
  });

  test('a reference is found with and without its type', async () => {
    expect(await hours(`schedule=Schedule/${schedule.id}`)).toHaveLength(3);
    expect(await hours(`schedule=${schedule.id}`)).toHaveLength(3);
    expect(await found(`Schedule?actor=${service.id}`)).toHaveLength(0);
    expect(await found(`Schedule?actor=HealthcareService/${service.id}`)).toHaveLength(1);
  });
});

describe('chained search', () => {
  test.each([
    ['schedule.actor:HealthcareService.service-type=urn:type|ct', ['10', '11', '12']],
    ['schedule.actor:Practitioner.name=hop', ['13']],
    ['schedule.active=true', ['10', '11', '12']],
    ['schedule.active=true&status=busy', []],
  ])('Slot?%s', async (query, expected) => {
    expect(await hours(query)).toEqual(expected);
  });

  test('_has asks for what refers to the resource', async () => {
    expect(await found('Schedule?_has:Slot:schedule:status=busy')).toHaveLength(1);
    expect(await found('HealthcareService?_has:Schedule:actor:_has:Slot:schedule:status=busy')).toHaveLength(0);
    expect(await found('HealthcareService?_has:Schedule:actor:_has:Slot:schedule:status=free')).toHaveLength(1);
  });
});

describe('includes', () => {
  test('_include follows references, and :iterate further ones', async () => {
    const resources = await found('Slot?status=busy&_include=Slot:schedule&_include:iterate=Schedule:actor');
    expect(resources.map(({ resourceType }) => resourceType)).toEqual(['Slot', 'Schedule', 'Practitioner']);
  });

  test('_revinclude brings what refers to the results', async () => {
    const resources = await found(`Schedule?_id=${schedule.id}&_revinclude=Slot:schedule`);
    expect(resources).toHaveLength(4);
  });
});

describe('paging', () => {
  test('next leads through all results, in order, without a repeat', async () => {
    const seen: string[] = [];
    let url: string | undefined = `${client().sandbox.baseUrl}fhir/R4/Slot?_count=3&_sort=start`;
    while (url) {
      const { body }: { body: Bundle } = await client().send('GET', url.slice(client().sandbox.baseUrl.length));
      seen.push(...(body.entry ?? []).map(({ fullUrl }) => fullUrl ?? ''));
      url = body.link?.find(({ relation }) => relation === 'next')?.url;
    }
    expect(seen).toHaveLength(4);
    expect(new Set(seen).size).toBe(4);
  });

  test('self, first, next and previous are Medplum’s', async () => {
    const { body } = await client().fhir<Bundle>('GET', 'Slot?_count=1&_offset=1&_sort=-start');
    const base = `${client().sandbox.baseUrl}fhir/R4/Slot?_count=1`;
    expect(body.link).toEqual([
      { relation: 'self', url: `${base}&_offset=1&_sort=-start` },
      { relation: 'first', url: `${base}&_sort=-start` },
      { relation: 'next', url: `${base}&_offset=2&_sort=-start` },
      { relation: 'previous', url: `${base}&_sort=-start` },
    ]);
  });

  test('_total=accurate counts all pages, _summary=count nothing else', async () => {
    expect((await client().fhir<Bundle>('GET', 'Slot?_total=accurate&_count=1')).body.total).toBe(4);
    const { body } = await client().fhir<Bundle>('GET', 'Slot?_summary=count');
    expect([body.total, body.entry]).toEqual([4, undefined]);
  });
});

test.each([
  ['Slot?colour=red', 'Unknown search parameter: colour'],
  ['CodeSystem?context-type-value=a$b', 'Unrecognized search parameter type: composite'],
  ['Slot?schedule.actor:HealthcareService.type=ct', 'Invalid search parameter at end of chain: HealthcareService?type'],
  ['Slot?schedule.actor.name=x', 'Unable to identify next resource type for search parameter: Schedule?actor'],
  ['Slot?start=soon', 'Invalid format for date search parameter: soon'],
  ['Slot?service-type:in=x', 'Invalid modifier :in for Slot-service-type'],
  ['Slot?_offset=10001', 'Search offset exceeds maximum (got 10001, max 10000)'],
  ['Binary?_id=1', 'Cannot search on Binary resource type'],
])('%s is 400', async (query, text) => {
  const { status, body } = await client().fhir('GET', query);
  expect([status, body.issue[0]?.details?.text]).toEqual([400, text]);
});
