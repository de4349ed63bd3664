import { beforeEach, describe, expect, test } from '@jest/globals';
import { rows } from '../../lib/rows.ts';
import { bearer, type Received, searchset, withGateway } from '../fake-medplum.ts';

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
    const response = await inject({ url: `/fhir/R4/${url}`, headers });
    return { status: response.statusCode, body: response.json() };
  }

  const none = '00000000-0000-0000-0000-000000000000';

  describe('a chain', () => {
    const rules: Readonly<Record<string, readonly object[] | undefined>> = {
      'that finds all Locations': open('Location'),
      'that finds everything': open('*'),
      'that finds all Schedules': open('Schedule', 'HealthcareService'),
      'with its own Patients': [own, ...open('Organization')],
      'without a rule for searches': [{ resourceType: 'Patient', interaction: ['read'] }, own],
      'of unknown rights': undefined,
    };
    const found = 'Appointment/_search?patient=Patient/0,Patient/1';

    test.each(
      rows(`
      that finds all Locations ¦ Appointment?location.name=a ¦ Appointment?location.name=a
      that finds everything ¦ Appointment?patient.family=a ¦ Appointment?patient.family=a
      # Of Slots the Schedules are named.
      that finds all Schedules ¦ Slot?schedule.actor:HealthcareService.type=ct&_total=none ¦ Schedule/_search?actor:HealthcareService.service-type=ct ¦ Slot/_search?schedule=Schedule/0,Schedule/1,Schedule/2
      # Where others have resources of the type, each link is a search of its own, from the end.
      with its own Patients ¦ Appointment?patient.family=a ¦ Patient/_search?family=a ¦ Patient/_search?_id=0,1 ¦ ${found}
      with its own Patients ¦ Appointment?patient.link.organization.name=a ¦ Patient/_search?organization.name=a ¦ Patient/_search?link=Patient/0,Patient/1 ¦ Patient/_search?_id=0,1 ¦ ${found}
      with its own Patients ¦ Appointment?patient.family=a&status=booked&patient.given=b ¦ Patient/_search?family=a ¦ Patient/_search?given=b ¦ Patient/_search?_id=0,1 ¦ ${found}&status=booked&patient=Patient/0,Patient/1
      with its own Patients ¦ Appointment?slot.start=ge2027-01-01 ¦ Slot/_search?start=ge2027-01-01T00:00:00.000Z ¦ Appointment/_search?slot=Slot/${none}
      without a rule for searches ¦ Appointment?patient.active=true ¦ Patient/_search?active=true ¦ Patient/_search?_id=0,1 ¦ ${found}
      of unknown rights ¦ Appointment?patient.active=true ¦ Patient/_search?active=true ¦ Patient/_search?_id=0,1 ¦ ${found}`),
    )('of a caller %s: %s', async (whose = '', url = '', ...expected) => {
      answering(rules[whose], { Patient: 2, Schedule: 3 });
      expect((await get(url)).status).toBe(200);
      expect(searches()).toEqual(expected);
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

    test('of Slots that leads to too many Schedules is left to Medplum', async () => {
      answering(open('Schedule', 'HealthcareService'), { Schedule: 301 });
      const search = 'Slot?schedule.actor:HealthcareService.service-type=ct';
      expect((await get(`${search}&_total=none`)).status).toBe(200);
      expect(searches()).toEqual(['Schedule/_search?actor:HealthcareService.service-type=ct', search]);
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
  const response = await inject({ url: `/fhir/R4/${path}`, headers: bearer });
  const asked = fake.received.map(({ path: one, query, body }) => {
    const sent = new URLSearchParams(`${query}&${body}`);
    return one.startsWith('/fhir/R4/Patient') ? `_id=${sent.get('_id')}&_count=${sent.get('_count')}` : sent;
  });
  const [last] = asked.slice(-1);
  return {
    status: response.statusCode,
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

  test('over eight merges at most, and of up to a hundred patients', async () => {
    knowing(...Array.from({ length: 12 }, (_, index) => into(`p${index}`, `p${index + 1}`)));
    const { patients, sent } = await search('Appointment?patient=p0');
    expect([patients.length, sent?.get('patient')?.split(',').length]).toEqual([8, 9]);
    knowing();
    for (const [count, lookups] of [
      [100, 1],
      [101, 0],
    ] as const) {
      fake.received.length = 0;
      const ids = Array.from({ length: count }, (_, index) => `p${index}`).join(',');
      expect((await search(`Appointment?patient=${ids}`)).patients).toHaveLength(lookups);
    }
  });

  test.each([
    'Appointment?patient:missing=true',
    'Appointment?patient=Patient/a/x',
    'Appointment?patient=https://other.example/Patient/a',
    'Appointment?identifier=Patient/a',
    'Appointment?actor=Location/a',
    'Encounter?patient=a',
  ])('%s asks for no patient', async (path) => {
    knowing(into('a', 'b'));
    expect((await search(path)).patients).toEqual([]);
  });
});
