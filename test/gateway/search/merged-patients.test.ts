import { describe, expect, test } from '@jest/globals';
import { bearer, searchset, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

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
