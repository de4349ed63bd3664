import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

async function codeSystemsFor(type: string) {
  const value = `${config.contextTypeSystem}|ResourceUsage$${config.resourceTypesSystem}|${type}`;
  const answer = await request('portal-a', 'GET', `/CodeSystem?context-type-value=${encodeURIComponent(value)}`);
  expect(answer.status).toBe(200);
  const entries = resourceIn('Bundle', answer).entry ?? [];
  return entries.flatMap(({ resource }) => (isResource(resource, 'CodeSystem') ? [resource] : []));
}

it.each(['HealthcareService', 'Schedule'])('the code systems of %s are found, and no others', async (type) => {
  const found = await codeSystemsFor(type);
  const urls = found.map(({ url }) => url);
  expect(urls).not.toContain(artefactUri(config, 'LocalBookingError'));
  expect(urls).toEqual(
    expect.arrayContaining([artefactUri(config, 'LocalServiceType'), artefactUri(config, 'LocalSpecialty')]),
  );
  for (const { useContext } of found) {
    const fits = useContext?.some(
      ({ code, valueCodeableConcept }) =>
        code.system === config.contextTypeSystem &&
        code.code === 'ResourceUsage' &&
        valueCodeableConcept?.coding?.some(({ code: value }) => value === type),
    );
    expect(fits).toBe(true);
  }
});

it('both halves must stand in one useContext', async () => {
  const context = (code: string, value: string) => ({
    code: { system: config.contextTypeSystem, code },
    valueCodeableConcept: { coding: [{ system: config.resourceTypesSystem, code: value }] },
  });
  const url = `https://example.org/crosswise/${Date.now()}`;
  const body = {
    resourceType: 'CodeSystem',
    url,
    status: 'active',
    content: 'not-present',
    useContext: [context('ResourceUsage', 'Location'), context('Other', 'HealthcareService')],
  };
  expect((await medplum('admin', 'POST', '/CodeSystem', { body })).status).toBe(201);
  expect((await codeSystemsFor('HealthcareService')).map((found) => found.url)).not.toContain(url);
  expect((await codeSystemsFor('Location')).map((found) => found.url)).toContain(url);
});
