import type { Scenario } from '../scenario.ts';
import { patient } from './resources.ts';

const noSuchId = '00000000-0000-4000-8000-000000000000';

/** Create, read, vread, history, update, delete, with their headers. */
export const lifeOfAResource: Scenario = async ({ admin: { send }, unique }) => {
  const created = await send('POST Patient', patient(unique));
  const path = `Patient/${created.id}`;
  await send(`GET ${path}`);
  await send(`GET ${path}`, undefined, { 'x-medplum': 'extended' });
  await send(`GET ${path}`, undefined, { 'if-none-match': created.etag });
  await send(`PUT ${path}`, created.resource);
  const updated = await send(`PUT ${path}`, { ...created.resource, active: true });
  await send(`GET ${path}/_history/${created.resource.meta.versionId}`);
  await send(`GET ${path}/_history`);
  await send(`PUT ${path}`, { ...updated.resource, active: false }, { 'if-match': created.etag });
  await send(`PUT ${path}`, { ...updated.resource, gender: 'female' }, { 'if-match': updated.etag });
  await send(`PUT ${path}`, { ...updated.resource, gender: 'male' }, { 'if-match': created.etag.slice(3, -1) });
  await send(`DELETE ${path}`);
  await send(`GET ${path}`);
  await send(`DELETE ${path}`);
  await send(`GET ${path}/_history`);
  await send(`GET ${path}/_history/${created.resource.meta.versionId}`);
  await send(`PATCH ${path}`, [{ op: 'add', path: '/active', value: true }], {
    'content-type': 'application/json-patch+json',
  });
  await send(`PUT ${path}`, { ...updated.resource, active: true });
  await send(`GET ${path}`);
  await send('POST Patient', { ...patient(`${unique}-own`), id: noSuchId }, { 'x-medplum': 'extended' });
  await send('POST Patient', patient(`${unique}-minimal`), { prefer: 'return=minimal' });
  await send('POST Slot', { resourceType: 'Slot', status: 'free', start: '2031-03-04', end: '2031-03-04' });
};

/** Removing a resource with all its versions. */
export const expunge: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const { send } = admin;
  const stranger = await stage.member('stranger', [{ resourceType: 'Patient' }]);
  const first = await send('POST Patient', patient(unique));
  const path = `Patient/${first.id}`;
  const second = await send(`PUT ${path}`, { ...first.resource, active: true });
  await stranger.send(`POST ${path}/$expunge`);
  await send(`GET ${path}`);
  await send(`POST ${path}/$expunge`);
  await send(`GET ${path}`);
  await send(`GET ${path}/_history`);
  await send(`GET ${path}/_history/${first.resource.meta.versionId}`);
  await send(`GET Patient?identifier=urn:patient|${unique}`);
  await send(`PUT ${path}`, second.resource);
  await send(`POST ${path}/$expunge`);
  const deleted = await send('POST Patient', patient(unique));
  await send(`DELETE Patient/${deleted.id}`);
  await send(`POST Patient/${deleted.id}/$expunge`);
  await send(`GET Patient/${deleted.id}/_history`);
};

/** Requests that mean nothing, and resources that are not FHIR's. */
export const badInput: Scenario = async ({ admin: { send }, nobody, unique }) => {
  const { id, resource } = await send('POST Patient', patient(unique));
  const requests: readonly (readonly [string, unknown?, Readonly<Record<string, string>>?])[] = [
    [`GET Patient/${noSuchId}`],
    ['GET Patient/unknown'],
    [`GET Patient/${id}/_history/${noSuchId}`],
    [`GET Patient/${noSuchId}/_history`],
    ['GET Patients'],
    ['GET Patients/1'],
    [`GET Patient/${id}/$nothing`],
    [`PUT Patient/${noSuchId}`, { ...patient(unique), id: noSuchId }],
    [`PUT Patient/${id}`, patient(unique)],
    [`PUT Patient/${id}`, { ...resource, id: noSuchId }],
    [`PUT Patient/${id}`, { ...resource, resourceType: 'Practitioner' }],
    [`DELETE Patient/${noSuchId}`],
    ['POST Patient', '{'],
    ['POST Patient', ''],
    ['POST Patient', '[]'],
    ['POST Patient', 'null'],
    ['POST Patient', { resourceType: 'Practitioner' }],
    ['POST Patient', { resourceType: 'Patients' }],
    ['POST Patient', {}],
    ['POST Patient', patient(unique), { 'content-type': 'text/plain' }],
    ['POST Patient', patient(unique), { 'content-type': 'application/xml' }],
    ['POST Patient', patient(unique), { 'content-type': 'application/json' }],
    ['POST Patient', { ...patient(unique), colour: 'red' }],
    ['POST Patient', { ...patient(unique), active: 'yes' }],
    ['POST Patient', { ...patient(unique), gender: 'unheard-of' }],
    ['POST Patient', { ...patient(unique), birthDate: '31.12.1999' }],
    ['POST Patient', { ...patient(unique), name: { family: 'Meyer' } }],
    ['POST Patient', { ...patient(unique), name: [] }],
    ['POST Patient', { ...patient(unique), name: [null] }],
    ['POST Patient', { ...patient(unique), deceasedBoolean: false, deceasedDateTime: '2020' }],
    ['POST Patient', { ...patient(unique), link: [{ type: 'refer' }] }],
    ['POST Patient', { ...patient(unique), contained: [{ resourceType: 'Patient', id: 'a' }] }],
    ['POST Slot', { resourceType: 'Slot' }],
    ['POST Slot', { resourceType: 'Slot', schedule: { reference: 7 }, status: 'free', start: 1, end: 2 }],
    ['POST Appointment', { resourceType: 'Appointment', status: 'booked', participant: [] }],
    [
      'POST Appointment',
      { resourceType: 'Appointment', status: 'booked', participant: [{ status: 'accepted' }], start: 'soon' },
    ],
    ['POST Patient/$validate', { ...patient(unique), colour: 'red' }],
    ['POST Patient/$validate', patient(unique)],
    ['GET metadata/nothing'],
    ['GET /nothing'],
    ['DELETE Patient'],
  ];
  for (const [request, body, headers] of requests) {
    await send(request, body, headers);
  }
  await nobody.send(`GET Patient/${id}`);
  await nobody.send('GET Patient?_count=0');
  await nobody.send('POST Patient', '{');
  await nobody.send(`GET Patient/${id}`, undefined, { authorization: 'Bearer nonsense' });
  await nobody.send(`GET Patient/${id}`, undefined, { authorization: 'Basic bm9uZTpub25l' });
};

/** `If-None-Exist`, and update, patch and delete by a search. */
export const conditional: Scenario = async ({ admin: { send }, unique }) => {
  const query = `identifier=urn:patient|${unique}`;
  const ifNoneExist = { 'if-none-exist': query };
  const first = await send('POST Patient', patient(unique), ifNoneExist);
  await send('POST Patient', patient(unique, { active: true }), ifNoneExist);
  await send(`PUT Patient?${query}`, patient(unique, { active: true }));
  await send(`PUT Patient?${query}`, { ...patient(unique, { active: false }), id: first.id });
  await send(`PUT Patient?identifier=urn:patient|${unique}-new`, patient(`${unique}-new`));
  const patch = [{ op: 'add', path: '/gender', value: 'female' }];
  const json = { 'content-type': 'application/json-patch+json' };
  await send(`PATCH Patient?${query}`, patch, json);
  await send('POST Patient', patient(unique));
  await send('POST Patient', patient(unique), ifNoneExist);
  await send(`PUT Patient?${query}`, patient(unique));
  await send(`PATCH Patient?${query}`, patch, json);
  await send(`DELETE Patient?${query}`);
  await send(`DELETE Patient?identifier=urn:patient|${unique}-new`);
  await send(`DELETE Patient?identifier=urn:patient|${unique}-new`);
  await send(`PATCH Patient?identifier=urn:patient|${unique}-new`, patch, json);
  await send('POST Patient', patient(unique), { 'if-none-exist': 'colour=red' });
};
