/** Books and cancels an appointment with fhirclient, the SMART client library. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Appointment, Bundle, Patient, Slot } from '@medplum/fhirtypes';
import smart from 'fhirclient';
import { base, clientId, clientSecret, origin, schedule } from './settings.ts';

const answer = await fetch(`${origin}/oauth2/token`, {
  method: 'POST',
  body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
});
const tokenResponse: { access_token: string } = JSON.parse(await answer.text());
// On a server the library belongs to a request of the portal's own page, which this program has none of.
const page = new IncomingMessage(new Socket());
const client = smart(page, new ServerResponse(page)).client({ serverUrl: base, tokenResponse });

const query = new URLSearchParams({ schedule: `Schedule/${schedule}`, status: 'free', _sort: 'start', _count: '1' });
const { entry = [] } = await client.request<Bundle<Slot>>(`Slot?${query}`);
const slot = entry[0]?.resource;
const patient = await client.create<Patient>({ resourceType: 'Patient', name: [{ family: 'Muster', given: ['Kim'] }] });

const booked = await client.request<Appointment>({
  url: 'Appointment/$book',
  method: 'POST',
  headers: { 'content-type': 'application/fhir+json' },
  body: JSON.stringify({
    resourceType: 'Appointment',
    status: 'proposed',
    start: slot?.start,
    end: slot?.end,
    slot: [{ reference: `Slot/${slot?.id}` }],
    participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
  }),
});
console.log(booked.status);

console.log((await client.request<Appointment>(`Appointment/${booked.id}`)).status);
const cancelled = await client.patch<Appointment>(`Appointment/${booked.id}`, [
  { op: 'replace', path: '/status', value: 'cancelled' },
]);
console.log(cancelled.status);
