/** Books and cancels an appointment with fhir-kit-client. */
import { Client } from 'fhir-kit-client';
import { isResource } from '../../core/fhir/resource.ts';
import { base, clientId, clientSecret, schedule } from './settings.ts';

const client = new Client({ baseUrl: base });
const { tokenUrl } = await client.smartAuthMetadata();
const answer = await fetch(tokenUrl ?? '', {
  method: 'POST',
  body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
});
const { access_token: token }: { access_token: string } = JSON.parse(await answer.text());
client.bearerToken = token;

const searchParams = { schedule: `Schedule/${schedule}`, status: 'free', _sort: 'start', _count: 1 };
const found = await client.resourceSearch({ resourceType: 'Slot', searchParams });
const first = isResource(found, 'Bundle') ? found.entry?.[0]?.resource : undefined;
const slot = isResource(first, 'Slot') ? first : undefined;
const patient = await client.create({
  resourceType: 'Patient',
  body: { resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }] },
});

const booked = await client.operation({
  name: '$book',
  resourceType: 'Appointment',
  input: {
    resourceType: 'Appointment',
    status: 'proposed',
    start: slot?.start,
    end: slot?.end,
    slot: [{ reference: `Slot/${slot?.id}` }],
    participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
  },
});
if (!isResource(booked, 'Appointment')) {
  throw new Error('This is no appointment.');
}
console.log(booked.status);

const { id = '', meta } = booked;
console.log((await client.vread({ resourceType: 'Appointment', id, version: meta?.versionId ?? '' })).status);
const cancelled = await client.patch({
  resourceType: 'Appointment',
  id,
  jsonPatch: [{ op: 'replace', path: '/status', value: 'cancelled' }],
});
console.log(cancelled.status);
