import { expect, it } from '@jest/globals';
import { request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

it('GET /metadata: a CapabilityStatement for this service', async () => {
  const statement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
  expect(statement).toMatchObject({ fhirVersion: '4.0.1', kind: 'instance', implementation: { url: base } });
  const resources = statement.rest?.[0]?.resource ?? [];
  const appointment = resources.find(({ type }) => type === 'Appointment');
  expect(appointment?.searchParam?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['actor', 'patient', 'date', 'identifier', 'slot', 'status', 'service-type', 'specialty']),
  );
  expect(resources.map(({ type }) => type)).not.toContain('Bot');
});
