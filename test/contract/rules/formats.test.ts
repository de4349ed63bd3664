import { describe, expect, it } from '@jest/globals';
import { toXml } from '../../../core/fhir/xml/write.ts';
import { readXml } from '../../lib/read-xml.ts';
import { aClinic, proposed } from '../fixtures.ts';
import { type Answer, isActionable, issuesOf, request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

it.each([
  [{ accept: 'application/fhir+json' }, '/Slot?_count=1'],
  [{ accept: 'application/json' }, '/Slot?_count=1'],
  [{ accept: 'text/html, */*;q=0.1' }, '/Slot?_count=1'],
  [{ accept: 'text/csv' }, '/Slot?_count=1&_format=json'],
  [{}, '/Slot?_count=1&_format=application/fhir%2Bjson'],
])('answers JSON to %j %s', async (headers, path) => {
  const answer = await request('portal-a', 'GET', path, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^application\/(fhir\+)?json/);
});

it('answers a client that asks for application/json with it', async () => {
  const answer = await request('portal-a', 'GET', '/Slot?_count=1', { headers: { accept: 'application/json' } });
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
});

it.each(['application/json', 'application/fhir+json; charset=utf-8', 'application/fhir+json;fhirVersion=4.0'])(
  'accepts a body of %s',
  async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: proposed(patient, [slot]), headers: { 'content-type': type } };
    expect((await request('portal-a', 'POST', '/Appointment/$book', options)).status).toBe(201);
  },
);

describe('XML', () => {
  const xml = { accept: 'application/fhir+xml' } as const;
  const sent = { ...xml, 'content-type': 'application/fhir+xml' } as const;

  /** The resource in an answer in XML. */
  function readIn({ headers, text }: Answer): unknown {
    expect(headers.get('content-type')).toBe('application/fhir+xml; charset=utf-8');
    const reading = readXml(text);
    return 'value' in reading ? reading.value : reading.issues;
  }

  it.each([
    [xml, ''],
    [{ accept: 'application/fhir+xml;q=0.9, text/html' }, ''],
    [{ accept: 'application/json' }, '&_format=xml'],
    [{}, '&_format=application/fhir%2Bxml'],
  ])('answers %j %s with it: the same as JSON', async (headers, query) => {
    const { slot } = await aClinic();
    const path = `/Slot?_id=${slot.id}${query}`;
    const answer = await request('portal-a', 'GET', path, { headers });
    const asJson = resourceIn('Bundle', await request('portal-a', 'GET', `/Slot?_id=${slot.id}`));
    const { link: _, ...rest } = asJson;
    expect([answer.status, readIn(answer)]).toEqual([200, expect.objectContaining(rest)]);
  });

  it('books, reads, changes and answers in it', async () => {
    const { slot, patient } = await aClinic();
    const parameter = [{ name: 'appt-resource', resource: proposed(patient, [slot]) }];
    const body = toXml({ resourceType: 'Parameters', parameter });
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    const booked = readIn(answer);
    expect([answer.status, booked]).toEqual([201, expect.objectContaining({ status: 'booked', start: slot.start })]);
    const path = answer.headers.get('location')?.replace(base, '') ?? '';
    expect((await request('portal-a', 'GET', path)).body).toEqual(booked);
    const part = [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Appointment.status' },
      { name: 'value', valueCode: 'cancelled' },
    ];
    const patch = toXml({ resourceType: 'Parameters', parameter: [{ name: 'operation', part }] });
    const changed = await request('portal-a', 'PATCH', path, { body: patch, headers: sent });
    expect([changed.status, readIn(changed)]).toEqual([200, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('refuses in it, with everything that is wrong', async () => {
    const { slot, patient } = await aClinic();
    const body = toXml(proposed(patient, [slot])).replace(
      '<status value="proposed"/>',
      '<status/><mood value="good"/>',
    );
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    expect([answer.status, readIn(answer)]).toEqual([
      400,
      expect.objectContaining({
        issue: [
          expect.objectContaining({ expression: ['Appointment.status'] }),
          expect.objectContaining({ expression: ['Appointment.mood'] }),
        ],
      }),
    ]);
    expect(resourceIn('Slot', await request('portal-a', 'GET', `/Slot/${slot.id}`)).status).toBe('free');
  });

  it.each([
    ['<Appointment', 400],
    [
      '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><Appointment xmlns="http://hl7.org/fhir">&b;</Appointment>',
      400,
    ],
  ])('%s: %i', async (body, status) => {
    const options = { body, headers: { 'content-type': 'application/fhir+xml' } };
    const answer = await request('portal-a', 'POST', '/Appointment/$book', options);
    expect([answer.status, ...issuesOf(answer)]).toEqual([status, 'malformed-request http.body']);
    expect(isActionable(answer)).toBe(true);
  });

  it('in a search by form, too', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await request('portal-a', 'POST', '/Slot/_search', { body: '_count=1&_format=xml', headers });
    expect([answer.status, readIn(answer)]).toEqual([200, expect.objectContaining({ type: 'searchset' })]);
    const options = { body: '_count=1&_format=turtle', headers };
    expect((await request('portal-a', 'POST', '/Slot/_search', options)).status).toBe(406);
  });

  it.each([
    ['GET', '/Nothing', 404],
    ['PUT', '/Slot/1', 405],
    ['POST', '/Appointment/$book', 415],
  ])('%s %s: %i in it', async (method, path, status) => {
    const body = method === 'GET' ? undefined : 'x';
    const answer = await request('portal-a', method, path, { headers: { ...xml, 'content-type': 'text/plain' }, body });
    expect([answer.status, readIn(answer)]).toEqual([
      status,
      expect.objectContaining({ resourceType: 'OperationOutcome' }),
    ]);
  });

  it.each(['text/xml', 'application/xml'])('takes and gives %s', async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: toXml(proposed(patient, [slot])), headers: { 'content-type': type, accept: type } };
    const answer = await request('portal-a', 'POST', '/Appointment/$book', options);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([201, `${type}; charset=utf-8`]);
    expect(readXml(answer.text)).toMatchObject({ value: { resourceType: 'Appointment', status: 'booked' } });
  });

  it.each(['text/turtle', 'text/html'])('neither takes nor gives %s', async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: toXml(proposed(patient, [slot])), headers: { 'content-type': type } };
    expect((await request('portal-a', 'POST', '/Appointment/$book', options)).status).toBe(415);
    expect((await request('portal-a', 'GET', '/Slot?_count=1', { headers: { accept: type } })).status).toBe(406);
  });
});
