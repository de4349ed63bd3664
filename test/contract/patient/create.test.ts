import { expect, it } from '@jest/globals';
import { aPatient } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

it("POST /Patient: 201, Location, tagged as the requestor's own", async () => {
  const body = { resourceType: 'Patient', name: [{ family: 'Neu' }] };
  const answer = await request('portal-a', 'POST', '/Patient', { body });
  const created = resourceIn('Patient', answer);
  expect(answer.status).toBe(201);
  expect(answer.headers.get('location')).toContain(`${base}/Patient/${created.id}`);
  expect(answer.headers.get('etag')).toBe(`W/"${created.meta?.versionId}"`);
  expect(created.meta?.tag).toContainEqual({ system: config.metaTagSystem, code: 'external' });
  expect((await request('portal-a', 'GET', `/Patient/${created.id}`)).status).toBe(200);
  expect((await request('portal-b', 'GET', `/Patient/${created.id}`)).status).toBe(404);
});

it('a patient that is not valid FHIR: 400', async () => {
  const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', gender: 5 } });
  expect(answer.status).toBe(400);
});

it.each<[object, string]>([
  [{ gender: 'divers' }, 'gender'],
  [{ identifier: [{ use: 'oficial', value: '1' }] }, 'identifier[0].use'],
  [{ name: [{ use: 'birth', family: 'Neu' }] }, 'name[0].use'],
  [{ telecom: [{ system: 'signal', value: '1' }] }, 'telecom[0].system'],
  [{ text: { status: 'new', div: '<div xmlns="http://www.w3.org/1999/xhtml">Neu</div>' } }, 'text.status'],
])('a code that FHIR does not have is refused when a patient is created or replaced: %j', async (elements, path) => {
  const refused = [422, [`profile-violation Patient.${path}`]];
  const created = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', ...elements } });
  expect([created.status, issuesOf(created)]).toEqual(refused);
  const stored = await aPatient();
  const replaced = await request('portal-a', 'PUT', `/Patient/${stored.id}`, { body: { ...stored, ...elements } });
  expect([replaced.status, issuesOf(replaced)]).toEqual(refused);
});
