import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

it('GET /metadata: a CapabilityStatement for this service, without a token', async () => {
  const answer = await request('nobody', 'GET', '/metadata');
  expect(answer.status).toBe(200);
  const statement = resourceIn('CapabilityStatement', answer);
  expect(statement).toMatchObject({ fhirVersion: '4.0.1', kind: 'instance', implementation: { url: base } });
  const resources = statement.rest?.[0]?.resource ?? [];
  const appointment = resources.find(({ type }) => type === 'Appointment');
  expect(JSON.stringify(appointment)).toContain(artefactUri(config, 'LocalTermin'));
  expect(appointment?.operation?.map(({ name }) => name)).toContain('book');
  expect(appointment?.searchParam?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['actor', 'patient', 'date', 'identifier', 'slot', 'status', 'service-type', 'specialty']),
  );
  expect(resources.map(({ type }) => type)).not.toContain('Bot');
});
