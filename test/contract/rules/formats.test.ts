import { expect, it } from '@jest/globals';
import { aClinic, proposed } from '../fixtures.ts';
import { request } from '../http.ts';

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

it.each(['application/json', 'application/fhir+json; charset=utf-8', 'application/fhir+json;fhirVersion=4.0'])(
  'accepts a body of %s',
  async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: proposed(patient, [slot]), headers: { 'content-type': type } };
    expect((await request('portal-a', 'POST', '/Appointment/$book', options)).status).toBe(201);
  },
);
