import { expect, it } from '@jest/globals';
import { request, resourceIn } from '../http.ts';
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
