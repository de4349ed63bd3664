import type { Scenario } from '../scenario.ts';
import { BOT_NAME } from '../stage.ts';
import { referenceIn } from './resources.ts';

const definitions = (unique: string) => [
  {
    query: `CodeSystem?url=urn:${unique}:codes`,
    resource: {
      resourceType: 'CodeSystem',
      url: `urn:${unique}:codes`,
      name: 'Codes',
      status: 'active',
      content: 'complete',
      useContext: [
        {
          code: { system: 'urn:context', code: 'type' },
          valueCodeableConcept: { coding: [{ system: 'urn:x', code: 'a' }] },
        },
      ],
      concept: [{ code: 'a', display: 'A' }],
    },
  },
  {
    query: `ValueSet?url=urn:${unique}:values`,
    resource: {
      resourceType: 'ValueSet',
      url: `urn:${unique}:values`,
      name: 'Values',
      status: 'active',
      compose: { include: [{ system: `urn:${unique}:codes` }] },
    },
  },
  {
    query: `NamingSystem?name:exact=Names${unique}`,
    resource: {
      resourceType: 'NamingSystem',
      name: `Names${unique}`,
      status: 'active',
      kind: 'identifier',
      date: '2026-01-01',
      uniqueId: [{ type: 'uri', value: `urn:${unique}` }],
    },
  },
  {
    query: `StructureDefinition?url=urn:${unique}:profile`,
    resource: {
      resourceType: 'StructureDefinition',
      url: `urn:${unique}:profile`,
      name: 'Profile',
      status: 'active',
      kind: 'resource',
      abstract: false,
      type: 'Basic',
      baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Basic',
      derivation: 'constraint',
      snapshot: {
        element: [
          { id: 'Basic', path: 'Basic', min: 0, max: '*', base: { path: 'Basic', min: 0, max: '*' } },
          {
            id: 'Basic.code',
            path: 'Basic.code',
            min: 1,
            max: '1',
            base: { path: 'Basic.code', min: 1, max: '1' },
            type: [{ code: 'CodeableConcept' }],
          },
          {
            id: 'Basic.author',
            path: 'Basic.author',
            min: 1,
            max: '1',
            base: { path: 'Basic.author', min: 0, max: '1' },
            type: [{ code: 'Reference' }],
          },
        ],
      },
    },
  },
  {
    query: `AccessPolicy?name:exact=Policy${unique}`,
    resource: {
      resourceType: 'AccessPolicy',
      name: `Policy${unique}`,
      resource: [{ resourceType: 'Slot', interaction: ['read', 'search'] }],
    },
  },
];

const batch = (entry: readonly object[]) => ({ resourceType: 'Bundle', type: 'batch', entry });

/** What the deployment asks and writes: definitions, a Bot with its membership and code, operation and Subscription. */
export const deployment: Scenario = async ({ admin, projectId, unique }) => {
  const { send } = admin;
  const wanted = definitions(unique);
  const look = batch(wanted.map(({ query }) => ({ request: { method: 'GET', url: query } })));
  await send('POST ', look);
  await send(
    'POST ',
    batch(wanted.map(({ resource }) => ({ resource, request: { method: 'POST', url: resource.resourceType } }))),
  );
  await send('POST ', look);
  await send(`GET CodeSystem?context-type=urn:context|type&context=urn:x|a&url=urn:${unique}:codes&_count=1000`);
  await send('POST Basic', {
    resourceType: 'Basic',
    meta: { profile: [`urn:${unique}:profile`] },
    code: { text: 'x' },
  });
  await send(`GET Basic?_profile=urn:${unique}:profile&_count=1000`);
  await send('POST Basic', { resourceType: 'Basic', meta: { profile: ['urn:unknown'] }, code: { text: 'x' } });
  const policy = await send('POST AccessPolicy', {
    resourceType: 'AccessPolicy',
    name: 'Bots',
    resource: [{ resourceType: 'Task' }],
  });
  const accessPolicy = { reference: `AccessPolicy/${policy.id}` };
  await send(`GET Bot?identifier=urn:bot|${unique}&_count=1`);
  const name = `${BOT_NAME} ${unique}`;
  await send(`GET Bot?name%3Aexact=${encodeURIComponent(name)}`);
  const settings = { name, description: 'A Bot', runtimeVersion: 'vmcontext' };
  const made = await send(`POST /admin/projects/${projectId}/bot`, { ...settings, accessPolicy });
  await send(`POST Bot/${made.id}/$execute`, {});
  const bot = await send(`GET Bot/${made.id}`);
  const identifier = [{ system: 'urn:bot', value: unique }];
  await send(`PUT Bot/${made.id}`, { ...bot.resource, identifier, timeout: 10, auditEventDestination: ['log'] });
  await send(`POST Bot/${made.id}/$deploy`, {});
  await send(`POST Bot/${made.id}/$deploy`, { code: 'exports.handler = async () => "deployed";', filename: 'b.1.js' });
  await send(`GET Bot/${made.id}`);
  await send(`POST Bot/${made.id}/$execute`, {});
  const deployed = await send(`GET Bot?identifier=urn:bot|${unique}`);
  const [, code] = JSON.stringify(deployed.body).match(/"executableCode":\{[^}]*"url":"([^"]+)"/) ?? [];
  await send(`GET ${code}`, undefined, { accept: '*/*' });
  const found = await send(`GET ProjectMembership?profile=Bot/${made.id}&_count=1`);
  const membership = referenceIn(found, 'ProjectMembership');
  const member = await send(`GET ${membership}`);
  await send(`PUT ${membership}`, { ...member.resource, admin: true });
  await send('POST OperationDefinition', {
    resourceType: 'OperationDefinition',
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/operationDefinition-implementation',
        valueReference: { reference: `Bot/${made.id}` },
      },
    ],
    url: `urn:${unique}:operation`,
    name: 'Operation',
    status: 'active',
    kind: 'operation',
    code: 'greet',
    system: false,
    type: true,
    instance: false,
  });
  await send('POST Subscription', {
    resourceType: 'Subscription',
    meta: { tag: [{ system: 'urn:bot', code: unique }] },
    status: 'active',
    reason: 'Test',
    criteria: `Task?code=urn:${unique}|never`,
    channel: { type: 'rest-hook', endpoint: `Bot/${made.id}`, payload: 'application/fhir+json' },
  });
  await send(`GET Subscription?_tag=urn:bot|${unique}`);
  await send(`DELETE ${membership}`);
  await send(`POST Bot/${made.id}/$execute`, {});
  await send(`DELETE Bot/${made.id}`);
  await send(`POST Bot/${made.id}/$execute`, {});
};

/** Medplum's addresses for administrators, as its app uses them. */
export const administration: Scenario = async ({ admin: { send }, projectId, unique }) => {
  const clients = `POST /admin/projects/${projectId}/client`;
  const client = await send(clients, { name: unique });
  await send(clients, {});
  await send(clients, { name: '' });
  await send(`POST /admin/projects/${projectId}/bot`, {});
  await send(`GET ClientApplication?name%3Aexact=${unique}&_count=1`);
  const found = await send(`GET ProjectMembership?profile=ClientApplication/${client.id}`);
  const membership = referenceIn(found, 'ProjectMembership');
  await send(`PUT ClientApplication/${client.id}`, { ...client.resource, description: 'changed' });
  await send(`DELETE ${membership}`);
  await send(`DELETE ClientApplication/${client.id}`);
  await send(`GET Project/${projectId}?_fields=id`);
  await send('GET /auth/me');
};
