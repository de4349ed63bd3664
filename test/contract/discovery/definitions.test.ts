import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

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

const search = async (path: string) => resourceIn('Bundle', await request('portal-a', 'GET', path));

const urlsIn = ({ entry = [] }: Awaited<ReturnType<typeof search>>) =>
  entry.map(({ resource }) => (resource && 'url' in resource ? resource.url : undefined));

describe('what the metadata names', () => {
  it('a profile is found by its canonical URL, and read by the end of it', async () => {
    const url = artefactUri(config, 'LocalTermin');
    const bundle = await search(`/StructureDefinition?url=${encodeURIComponent(url)}`);
    expect(bundle).toMatchObject({ type: 'searchset', total: 1, entry: [{ resource: { url, type: 'Appointment' } }] });
    const path = bundle.entry?.[0]?.fullUrl?.replace(base, '') ?? '';
    expect(path).toBe(`/StructureDefinition/${url.split('/').pop()}`);
    const answer = await request('portal-a', 'GET', path);
    expect([answer.status, answer.body]).toEqual([200, bundle.entry?.[0]?.resource]);
  });

  it('the operation $book is read', async () => {
    const operation = await request(
      'portal-a',
      'GET',
      `/OperationDefinition/${artefactUri(config, 'book').split('/').pop()}`,
    );
    expect([operation.status, operation.body]).toEqual([200, expect.objectContaining({ code: 'book' })]);
  });

  it('nothing else is found, whatever Medplum has', async () => {
    const statement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
    const text = JSON.stringify(statement);
    for (const type of ['StructureDefinition', 'OperationDefinition', 'SearchParameter']) {
      const urls = urlsIn(await search(`/${type}`));
      expect(urls.filter((url) => !text.includes(`"${url}"`))).toEqual([]);
    }
    const tag = artefactUri(config, 'LocalRequestor');
    for (const url of ['http://hl7.org/fhir/StructureDefinition/Patient', tag, 'x,y', '*']) {
      expect(await search(`/StructureDefinition?url=${encodeURIComponent(url)}`)).toMatchObject({ total: 0 });
    }
  });

  it('is not read by the ids of Medplum, nor searched otherwise', async () => {
    const stored = resourceIn(
      'Bundle',
      await medplum('admin', 'GET', '/StructureDefinition?name=LocalTermin,ISiKTermin'),
    );
    const id = stored.entry?.[0]?.resource?.id ?? '00000000-0000-4000-8000-000000000000';
    expect((await request('portal-a', 'GET', `/StructureDefinition/${id}`)).status).toBe(404);
    const answer = await request('portal-a', 'GET', '/StructureDefinition?name=LocalTermin');
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.name']);
    expect((await request('portal-a', 'POST', '/StructureDefinition', { body: {} })).status).toBe(405);
    expect((await request('nobody', 'GET', '/StructureDefinition')).status).toBe(401);
  });
});
