import { beforeEach, describe, expect, test } from '@jest/globals';
import type { GatewayContext } from '../../../gateway/context.ts';
import type { FhirRequest } from '../../../gateway/handler.ts';
import { resolveChains } from '../../../gateway/search/chain.ts';
import { parseQuery, rewriteSearch } from '../../../gateway/search/rewrite.ts';
import { base, bearer, config, type Received, type Reply, searchset, withGateway } from '../fake-medplum.ts';
import { answeredBatch, foundEntry, urlsOf } from './batch.ts';

const { fake, inject } = withGateway();

describe('chain', () => {
  let caller = 0;

  beforeEach(() => {
    caller++;
  });

  const open = (...types: string[]) => types.map((resourceType) => ({ resourceType, interaction: ['read', 'search'] }));
  const own = { resourceType: 'Patient', interaction: ['read', 'search'], criteria: 'Patient?_tag=x|y' };

  /** Medplum as it answers a caller with these rules, and searches of a type with so many resources. */
  function answering(rules: readonly object[] | undefined, found: Readonly<Record<string, number>> = {}) {
    fake.verify = () => {
      const accessPolicy = rules && { resourceType: 'AccessPolicy', resource: rules };
      return { body: { profile: { resourceType: 'ClientApplication', id: 'portal-a-id' }, accessPolicy } };
    };
    fake.answer = ({ path }) => {
      const [, type = ''] = /R4\/(\w+)/.exec(path) ?? [];
      const resources = Array.from({ length: found[type] ?? 0 }, (_, index) => ({
        resourceType: type,
        id: `${index}`,
      }));
      return { body: searchset(fake.url, type, resources, '_count=1&_offset=1&patient=x') };
    };
  }

  /** The searches that Medplum was sent, with their parameters but those of the page. */
  const searches = () =>
    fake.received.map(({ path, query, body }: Received) => {
      const sent = [...query, ...new URLSearchParams(body)].filter(
        ([name]) => !/^_(sort|count|elements|total)$/.test(name),
      );
      return `${path.replace('/fhir/R4/', '')}?${sent.map((one) => one.join('=')).join('&')}`;
    });

  async function get(url: string) {
    const headers = { authorization: `Bearer caller-${caller}` };
    const answer = await inject({ url: `/fhir/R4/${url}`, headers });
    return { status: answer.statusCode, body: answer.json() };
  }

  const none = '00000000-0000-0000-0000-000000000000';

  describe('a chain', () => {
    test.each<[string, object[] | undefined, string, string[]]>([
      [
        'over types that the caller finds whole is left to Medplum',
        open('Location'),
        'Appointment?location.name=a',
        ['Appointment?location.name=a'],
      ],
      ['of an administrator, too', open('*'), 'Appointment?patient.family=a', ['Appointment?patient.family=a']],
      [
        '… but of Slots the Schedules are named',
        open('Schedule', 'HealthcareService'),
        'Slot?schedule.actor:HealthcareService.type=ct&_total=none',
        [
          'Schedule/_search?actor:HealthcareService.service-type=ct',
          'Slot/_search?schedule=Schedule/0,Schedule/1,Schedule/2',
        ],
      ],
      [
        'through a type with criteria is a search of its own',
        [own],
        'Appointment?patient.family=a',
        ['Patient/_search?family=a', 'Patient/_search?_id=0,1', 'Appointment/_search?patient=Patient/0,Patient/1'],
      ],
      [
        '… from the end, link by link',
        [own, ...open('Organization')],
        'Appointment?patient.link.organization.name=a',
        [
          'Patient/_search?organization.name=a',
          'Patient/_search?link=Patient/0,Patient/1',
          'Patient/_search?_id=0,1',
          'Appointment/_search?patient=Patient/0,Patient/1',
        ],
      ],
      [
        '… of several, each for itself',
        [own],
        'Appointment?patient.family=a&status=booked&patient.given=b',
        [
          'Patient/_search?family=a',
          'Patient/_search?given=b',
          'Patient/_search?_id=0,1',
          'Appointment/_search?patient=Patient/0,Patient/1&status=booked&patient=Patient/0,Patient/1',
        ],
      ],
      [
        'that leads nowhere finds nothing',
        [own],
        'Appointment?slot.start=ge2027-01-01',
        ['Slot/_search?start=ge2027-01-01T00:00:00.000Z', `Appointment/_search?slot=Slot/${none}`],
      ],
      [
        'is resolved where a rule for searches is missing',
        [{ resourceType: 'Patient', interaction: ['read'] }, own],
        'Appointment?patient.active=true',
        ['Patient/_search?active=true', 'Patient/_search?_id=0,1', 'Appointment/_search?patient=Patient/0,Patient/1'],
      ],
      [
        '… and where Medplum does not tell the policy',
        undefined,
        'Appointment?patient.active=true',
        ['Patient/_search?active=true', 'Patient/_search?_id=0,1', 'Appointment/_search?patient=Patient/0,Patient/1'],
      ],
    ])('%s', async (_, rules, url, expected) => {
      answering(rules, { Patient: 2, Schedule: 3 });
      expect((await get(url)).status).toBe(200);
      expect(searches()).toEqual(expected);
    });

    test('stands as sent in the links of the answer', async () => {
      answering([own], { Patient: 1, Appointment: 1 });
      const { body } = await get('Appointment?patient.family=a&_count=1&_format=json');
      expect(body.link).toEqual([
        { relation: 'self', url: `${base}/Appointment?patient.family=a&_format=json&_count=20` },
        { relation: 'next', url: `${base}/Appointment?patient.family=a&_format=json&_count=1&_offset=1` },
      ]);
    });

    test('that leads to too many resources is refused', async () => {
      answering([own], { Patient: 301 });
      const { status, body } = await get('Appointment?patient.active=true');
      expect([status, body.issue[0].expression, body.issue[0].diagnostics]).toEqual([
        400,
        ['http.patient.active'],
        "'patient.active' leads to more than 300 resources of type Patient: narrow the search.",
      ]);
      expect(searches()).toEqual(['Patient/_search?active=true']);
    });

    test('leads to three hundred resources at most, whose ids are asked for by a form', async () => {
      answering([own], { Patient: 300 });
      expect((await get('Appointment?patient.active=true')).status).toBe(200);
      const { method, headers, body } = fake.received[0] ?? {};
      expect([method, headers?.authorization, headers?.['content-type']]).toEqual([
        'POST',
        `Bearer caller-${caller}`,
        'application/x-www-form-urlencoded',
      ]);
      expect(Object.fromEntries(new URLSearchParams(body))).toEqual({ active: 'true', _elements: 'id', _count: '301' });
      expect(new URLSearchParams(fake.received.at(-1)?.body).get('patient')?.split(',')).toHaveLength(300);
    });

    test('that leads to nothing readable finds nothing', async () => {
      answering([own]);
      const strange = [
        null,
        {},
        { resource: { resourceType: 'Person', id: 'x' } },
        { resource: { resourceType: 'Patient' } },
      ];
      for (const entry of [undefined, strange]) {
        fake.received.length = 0;
        fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset', entry } });
        expect((await get('Appointment?patient.active=true')).status).toBe(200);
        expect(new URLSearchParams(fake.received.at(-1)?.body).get('patient')).toBe(`Patient/${none}`);
      }
    });

    test('is not followed where nobody asks; what has none stays as it is', async () => {
      const rewritten = (query: string) => {
        const search = rewriteSearch('Appointment', parseQuery(query), { ...config, now: 0 });
        return 'params' in search ? search.params : [];
      };
      const nobody = { caller: undefined } as FhirRequest;
      const resolved = (params: ReturnType<typeof rewritten>) =>
        resolveChains('Appointment', params, nobody, {} as GatewayContext);
      expect(await resolved(rewritten('patient.active=true&status=booked'))).toMatchObject({ status: 401 });
      const plain = rewritten('status=booked&slot=1');
      expect(await resolved(plain)).toBe(plain);
    });

    test('of Slots that leads to too many Schedules is left to Medplum', async () => {
      answering(open('Schedule', 'HealthcareService'), { Schedule: 301 });
      const search = 'Slot?schedule.actor:HealthcareService.service-type=ct';
      expect((await get(`${search}&_total=none`)).status).toBe(200);
      expect(searches()).toEqual(['Schedule/_search?actor:HealthcareService.service-type=ct', search]);
    });

    test('of free Slots needs to know no other Schedules than those that it leads to', async () => {
      answering(open('Schedule', 'HealthcareService'), { Schedule: 2, Slot: 1 });
      const { answer } = fake;
      const read: string[] = [];
      fake.answer = (request) => {
        if (/R4\/\w/.test(request.path)) {
          return answer(request);
        }
        read.push(...urlsOf(request.body).filter((one) => one.startsWith('Schedule')));
        return answeredBatch(request.body, () => foundEntry({ total: 0 }));
      };
      const { status } = await get('Slot?schedule.actor:HealthcareService.type=ct&status=free&_total=none');
      expect(status).toBe(200);
      expect(read.map((one) => new URLSearchParams(one.split('?')[1]).get('_id'))).toEqual(['0,1']);
    });

    test('of Slots counts as one that names no Schedule: up to a thousand by the way', async () => {
      answering(open('Schedule', 'HealthcareService'), { Schedule: 1, Slot: 2 });
      const { body } = await get('Slot?schedule.actor:HealthcareService.type=ct');
      expect(body.total).toBe(2);
      const counts = fake.received.map(({ body: form }) => new URLSearchParams(form).get('_total'));
      expect(counts).toEqual([null, 'none', null]);
    });

    test.each<[Reply, number]>([
      [{ status: 403 }, 403],
      [{ status: 500 }, 503],
      [{ body: { resourceType: 'Patient' } }, 502],
    ])('that Medplum answers by %j ends the search: %i', async (reply, status) => {
      answering([own]);
      fake.answer = () => reply;
      for (const search of ['Appointment?patient.active=true', 'Appointment?patient.organization.name=x']) {
        fake.received.length = 0;
        expect((await get(search)).status).toBe(status);
        expect(fake.received).toHaveLength(1);
      }
    });
  });
});

const into = (id: string, survivor?: string) => ({
  resourceType: 'Patient',
  id,
  ...(survivor && { link: [{ other: { reference: `Patient/${survivor}` }, type: 'replaced-by' }] }),
});

/** Patients whom the caller may read. */
function knowing(...patients: object[]) {
  fake.answer = ({ path, body }) => {
    const ids = new URLSearchParams(body).get('_id')?.split(',') ?? [];
    const found = patients.filter((one) => 'id' in one && ids.includes(String(one.id)));
    const isPatient = path.startsWith('/fhir/R4/Patient');
    return { body: searchset(fake.url, isPatient ? 'Patient' : 'Appointment', isPatient ? found : []) };
  };
}

async function search(path: string) {
  const answer = await inject({ url: `/fhir/R4/${path}`, headers: bearer });
  const asked = fake.received.map(({ path: one, query, body }) => {
    const sent = new URLSearchParams(`${query}&${body}`);
    return one.startsWith('/fhir/R4/Patient') ? `_id=${sent.get('_id')}&_count=${sent.get('_count')}` : sent;
  });
  const [last] = asked.slice(-1);
  return {
    status: answer.statusCode,
    patients: asked.slice(0, -1),
    sent: last instanceof URLSearchParams ? last : undefined,
  };
}

describe('appointments of a patient', () => {
  test('who was merged are found by the survivor, too', async () => {
    knowing(into('a', 'b'), into('b'));
    const { patients, sent } = await search('Appointment?patient=a,c&actor=Patient/a,Location/a&status=booked');
    expect(patients).toEqual(['_id=a,c&_count=2', '_id=b&_count=1']);
    expect([sent?.get('patient'), sent?.get('actor'), sent?.get('status')]).toEqual([
      'Patient/a,Patient/b,Patient/c',
      'Patient/a,Patient/b,Location/a',
      'booked',
    ]);
  });

  test('who was merged again and again are followed to the end', async () => {
    knowing(into('a', 'b'), into('b', 'c'), into('c', 'a'));
    const { patients, sent } = await search('Appointment?patient=a');
    expect(patients).toEqual(['_id=a&_count=1', '_id=b&_count=1', '_id=c&_count=1']);
    expect(sent?.get('patient')).toBe('Patient/a,Patient/b,Patient/c');
  });

  test('are followed over eight merges', async () => {
    knowing(...Array.from({ length: 12 }, (_, index) => into(`p${index}`, `p${index + 1}`)));
    const { patients, sent } = await search('Appointment?patient=p0');
    expect([patients.length, sent?.get('patient')?.split(',').length]).toEqual([8, 9]);
  });

  test('who was not merged, or may not be read, are searched for as they are', async () => {
    knowing(into('a'));
    const { patients, sent } = await search('Appointment?patient=a,b');
    expect([patients, sent?.get('patient')]).toEqual([['_id=a,b&_count=2'], 'Patient/a,Patient/b']);
  });

  test('up to a hundred are looked up', async () => {
    knowing();
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`).join(',');
    expect((await search(`Appointment?patient=${ids(100)}`)).patients).toHaveLength(1);
    fake.received.length = 0;
    expect((await search(`Appointment?patient=${ids(101)}`)).patients).toEqual([]);
  });

  test('stay as they were asked for in all other parameters', async () => {
    knowing(into('a', 'b'));
    const { sent } = await search('Appointment?patient=a&identifier=Patient/a&actor=Practitioner/1&slot=a');
    expect([sent?.get('patient'), sent?.get('identifier'), sent?.get('actor'), sent?.get('slot')]).toEqual([
      'Patient/a,Patient/b',
      'Patient/a',
      'Practitioner/1',
      'Slot/a',
    ]);
  });

  test.each([
    ['nothing that can be read', [null, {}, { resource: null }]],
    ['resources of another type', [{ resource: { ...into('a', 'b'), resourceType: 'Person' } }]],
    ['a patient without an id', [{ resource: { ...into('a', 'b'), id: undefined } }]],
    ['no entries', undefined],
  ])('are searched for as they are, where Medplum finds %s', async (_, entry) => {
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset', entry } });
    const { status, sent } = await search('Appointment?patient=a');
    expect([status, sent?.get('patient')]).toEqual([200, 'Patient/a']);
  });

  test.each([
    'Appointment?patient:missing=true',
    'Appointment?patient=Patient/a/x',
    'Appointment?patient=https://other.example/Patient/a',
    'Appointment?identifier=Patient/a',
    'Appointment?actor=Location/a',
    'Appointment?status=booked',
    'Encounter?patient=a',
  ])('%s asks for no patient', async (path) => {
    knowing(into('a', 'b'));
    expect((await search(path)).patients).toEqual([]);
  });

  test.each([
    [{ status: 500 }, 503],
    [{ body: { resourceType: 'Patient' } }, 502],
  ])('are not found where Medplum says %j: %i', async (reply, status) => {
    fake.answer = () => reply;
    expect((await search('Appointment?patient=a')).status).toBe(status);
  });
});
