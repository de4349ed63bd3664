import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import type { Scenario } from '../scenario.ts';
import type { Stored } from '../stage.ts';
import { appointment, patient, referenceIn, schedule, slot } from './resources.ts';

const bundle = (type: string, entry: readonly object[]) => ({ resourceType: 'Bundle', type, entry });
const get = (url: string): BundleEntry => ({ request: { method: 'GET', url } });
const post = (url: string, resource: Resource, others: object = {}) => ({
  resource,
  request: { method: 'POST', url, ...others },
});
const put = (resource: Stored, others: object = {}) => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}`, ...others },
});
const remove = (url: string): BundleEntry => ({ request: { method: 'DELETE', url } });

/** A batch answers each entry by itself. */
export const batch: Scenario = async ({ admin: { send }, unique }) => {
  const known = await send('POST Patient', patient(unique));
  const other = { 'x-medplum': 'extended', accept: 'application/fhir+json, */*; q=0.1' };
  const entries = [
    get(`Patient/${known.id}`),
    get(`Patient?identifier=urn:patient|${unique}&_count=20`),
    get('Patient/00000000-0000-4000-8000-000000000000'),
    get('Patient?colour=red'),
    get(`Patient/${known.id}/_history`),
    get(`Patient/${known.id}/_history?_count=1`),
    get(`Patient/${known.id}/_history/${known.resource.meta.versionId}`),
    get('Nothing/1'),
    get(''),
    post('Patient', patient(`${unique}-b`)),
    post('Patient', patient(`${unique}-b`), { ifNoneExist: `identifier=urn:patient|${unique}` }),
    { resource: { ...patient(unique), colour: 'red' }, request: { method: 'POST', url: 'Patient' } },
    put({ ...known.resource, active: true }),
    put({ ...known.resource, active: false }, { ifMatch: known.etag }),
    { request: { method: 'PUT', url: `Patient/${known.id}` } },
    { request: { method: 'DANCE', url: 'Patient' } },
    remove(`Patient/${known.id}`),
    remove(`Patient/${known.id}`),
    {},
  ];
  await send('POST ', bundle('batch', entries), other);
  await send('POST /fhir/R4', bundle('batch', [get(`Patient/${known.id}`)]));
  await send('POST ', bundle('batch', []));
  await send('POST ', { resourceType: 'Bundle', type: 'batch' });
  await send('POST ', { resourceType: 'Bundle', type: 'collection', entry: [] });
  await send('POST ', { resourceType: 'Bundle', entry: [] });
  await send('POST ', patient(unique));
  await send('POST ', '');
};

/** A transaction happens as a whole: the lock that bookings rely on. */
export const transaction: Scenario = async ({ admin: { send }, unique }) => {
  const person = await send('POST Patient', patient(unique));
  const calendar = await send('POST Schedule', schedule(unique, `Patient/${person.id}`));
  const free = await send('POST Slot', slot(calendar.id, '09:00'));
  const urn = 'urn:uuid:5b1cbe4c-3c5c-4e0a-9f0d-8f3f0f6a0001';
  const patientUrn = 'urn:uuid:5b1cbe4c-3c5c-4e0a-9f0d-8f3f0f6a0002';
  const booked = {
    ...appointment('x', free.id),
    participant: [{ actor: { reference: patientUrn }, status: 'accepted' }],
  };
  const booking = (ifMatch: string): object[] => [
    { fullUrl: urn, resource: booked, request: { method: 'POST', url: 'Appointment' } },
    { fullUrl: patientUrn, resource: patient(`${unique}-new`), request: { method: 'POST', url: 'Patient' } },
    put({ ...free.resource, status: 'busy', comment: urn }, { ifMatch }),
  ];
  const done = await send('POST ', bundle('transaction', booking(free.etag)));
  await send('POST ', bundle('transaction', booking(free.etag)));
  await send(`GET Patient?identifier=urn:patient|${unique}-new&_fields=id`);
  await send(`GET Slot/${free.id}`);
  await send(`GET Appointment?slot=Slot/${free.id}`);
  const busy = await send(`GET Slot/${free.id}`);
  const reads = [
    get(`Slot?_id=${free.id}`),
    get(`Appointment?slot=Slot/${free.id}&_count=1000&_fields=id`),
    get(`Slot/${free.id}`),
    put({ ...busy.resource, comment: 'read and written' }, { ifMatch: busy.etag }),
  ];
  await send('POST ', bundle('transaction', reads), { 'x-medplum': 'extended' });
  const now = await send(`GET Slot/${free.id}`);
  const failing: readonly (readonly object[])[] = [
    [
      put({ ...now.resource, comment: 'a' }),
      { resource: { resourceType: 'Slot' }, request: { method: 'POST', url: 'Slot' } },
    ],
    [put({ ...now.resource, comment: 'b' }), remove('Slot/00000000-0000-4000-8000-000000000000')],
    [put({ ...now.resource, comment: 'c' }), get('Slot/00000000-0000-4000-8000-000000000000')],
    [put({ ...now.resource, comment: 'd' }), get('Slot?colour=red')],
    [put({ ...now.resource, comment: 'e' }), put({ ...now.resource, comment: 'f' })],
    [put({ ...now.resource, comment: 'g' }), put({ ...now.resource, id: '00000000-0000-4000-8000-000000000000' })],
    [put(now.resource, { ifMatch: busy.etag })],
    [{ request: { method: 'PUT', url: `Slot/${free.id}` } }],
    [{}],
  ];
  for (const entry of failing) {
    await send('POST ', bundle('transaction', entry));
  }
  await send(`GET Slot/${free.id}`);
  await send('POST ', bundle('transaction', []));
  const first = referenceIn(done, 'Appointment');
  await send('POST ', bundle('transaction', [remove(first), put({ ...now.resource, comment: 'freed' })]));
  await send(`GET ${first}`);
};

/** Conditional entries, patches, and references by search. */
export const conditionalTransaction: Scenario = async ({ admin: { send }, unique }) => {
  const query = `identifier=urn:patient|${unique}`;
  const create = (url: string) => ({ fullUrl: url, ...post('Patient', patient(unique), { ifNoneExist: query }) });
  const urn = 'urn:uuid:5b1cbe4c-3c5c-4e0a-9f0d-8f3f0f6a0003';
  const link = { resourceType: 'Basic', code: { text: 'x' }, subject: { reference: urn } };
  await send(
    'POST ',
    bundle('transaction', [create(urn), { resource: link, request: { method: 'POST', url: 'Basic' } }]),
  );
  await send(
    'POST ',
    bundle('transaction', [create(urn), { resource: link, request: { method: 'POST', url: 'Basic' } }]),
  );
  const bySearch = { ...link, subject: { reference: `Patient?${query}` } };
  await send('POST ', bundle('transaction', [{ resource: bySearch, request: { method: 'POST', url: 'Basic' } }]));
  const nobody = { ...link, subject: { reference: 'Patient?identifier=urn:patient|nobody' } };
  await send('POST ', bundle('transaction', [{ resource: nobody, request: { method: 'POST', url: 'Basic' } }]));
  const patch = [{ op: 'add', path: '/active', value: true }];
  const data = Buffer.from(JSON.stringify(patch)).toString('base64');
  const binary = { resourceType: 'Binary', contentType: 'application/json-patch+json', data };
  const patching = { resource: binary, request: { method: 'PATCH', url: `Patient?${query}` } };
  await send('POST ', bundle('transaction', [patching]));
  const many = Array.from({ length: 9 }, (_, index) => create(`${urn.slice(0, -1)}${index}`));
  await send('POST ', bundle('transaction', many));
  await send('POST ', bundle('transaction', [{ request: { method: 'DELETE', url: `Patient?${query}` } }]));
};
