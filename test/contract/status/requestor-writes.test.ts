import { describe, expect, it } from '@jest/globals';
import { aSlot, minutes, proposed, slotsOf } from '../fixtures.ts';
import { type Answer, medplum, request } from '../http.ts';
import { aBooking, cancellation, read } from '../patch/fixtures.ts';

type Send = typeof request;
type Known = Awaited<ReturnType<typeof aTarget>>;

async function aTarget() {
  const booking = await aBooking();
  return { ...booking, free: await aSlot(booking.schedule, 60, 90) };
}

const bundle = (type: 'batch' | 'transaction', request_: object, resource?: object) => ({
  resourceType: 'Bundle',
  type,
  entry: [{ request: request_, ...(resource && { resource }) }],
});

const jsonPatch = {
  body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
  headers: { 'content-type': 'application/json-patch+json' },
};

const fhirPath = { body: cancellation };

const parameters = { body: { resourceType: 'Parameters', parameter: [] } };

/** Every way of writing an Appointment or a Slot that Medplum offers, besides the service's own. */
const writes: readonly (readonly [string, (send: Send, known: Known) => Promise<Answer>])[] = [
  [
    'POST /Appointment',
    (send, { patient, free }) => send('portal-a', 'POST', '/Appointment', { body: proposed(patient, [free]) }),
  ],
  [
    'conditional POST',
    (send, { patient, free }) =>
      send('portal-a', 'POST', '/Appointment', {
        body: proposed(patient, [free]),
        headers: { 'if-none-exist': 'identifier=unknown' },
      }),
  ],
  [
    'PUT',
    (send, { id, booked }) => send('portal-a', 'PUT', `/Appointment/${id}`, { body: { ...booked, start: minutes(5) } }),
  ],
  [
    'conditional PUT',
    (send, { id, booked }) =>
      send('portal-a', 'PUT', `/Appointment?_id=${id}`, { body: { ...booked, start: minutes(5) } }),
  ],
  ['conditional JSON Patch', (send, { id }) => send('portal-a', 'PATCH', `/Appointment?_id=${id}`, jsonPatch)],
  ['DELETE', (send, { id }) => send('portal-a', 'DELETE', `/Appointment/${id}`)],
  ['conditional DELETE', (send, { id }) => send('portal-a', 'DELETE', `/Appointment?_id=${id}`)],
  ['POST /Slot', (send, { free: { id: _, ...slot } }) => send('portal-a', 'POST', '/Slot', { body: slot })],
  ['PUT /Slot', (send, { free }) => send('portal-a', 'PUT', `/Slot/${free.id}`, { body: { ...free, status: 'busy' } })],
  ['PATCH /Slot', (send, { free }) => send('portal-a', 'PATCH', `/Slot/${free.id}`, jsonPatch)],
  ['DELETE /Slot', (send, { free }) => send('portal-a', 'DELETE', `/Slot/${free.id}`)],
  ['native $cancel', (send, { id }) => send('portal-a', 'POST', `/Appointment/${id}/$cancel`, parameters)],
  ['native $confirm', (send, { id }) => send('portal-a', 'POST', `/Appointment/${id}/$confirm`, parameters)],
  [
    'batch',
    (send, { id, booked }) =>
      send('portal-a', 'POST', '', {
        body: bundle('batch', { method: 'PUT', url: `Appointment/${id}` }, { ...booked, start: minutes(5) }),
      }),
  ],
  [
    'transaction',
    (send, { id }) =>
      send('portal-a', 'POST', '', { body: bundle('transaction', { method: 'DELETE', url: `Appointment/${id}` }) }),
  ],
  [
    'GraphQL',
    (send, { id }) =>
      send('portal-a', 'POST', '/$graphql', { body: { query: `mutation { AppointmentDelete(id: "${id}") { id } }` } }),
  ],
];

/** Writes that only Medplum's own address offers; at the gateway PATCH and `$hold` are the service's. */
const atMedplum: typeof writes = [
  ...writes,
  ['native $hold', (send) => send('portal-a', 'POST', '/Appointment/$hold', parameters)],
  ['JSON Patch', (send, { id }) => send('portal-a', 'PATCH', `/Appointment/${id}`, jsonPatch)],
  ['FHIRPath Patch', (send, { id }) => send('portal-a', 'PATCH', `/Appointment/${id}`, fhirPath)],
];

async function changesNothing(send: Send, write: (send: Send, known: Known) => Promise<Answer>): Promise<Answer> {
  const known = await aTarget();
  const answer = await write(send, known);
  expect(await read(known.id)).toEqual(known.booked);
  expect(await slotsOf(known.schedule)).toEqual(['busy 0-30', 'free 60-90']);
  return answer;
}

const refused = ({ status, text }: Answer) => status >= 400 || /"status":"4\d\d"|"errors":/.test(text);

describe("a requestor's own token writes no Appointment and no Slot", () => {
  it.each(writes)('at the service: %s', async (name, write) => {
    const isBundle = name === 'batch' || name === 'transaction';
    const answer = await changesNothing(request, write);
    // A batch is answered with a refusal of each write in it, a transaction as a whole.
    expect(isBundle ? refused(answer) : [404, 405, 415].includes(answer.status)).toBe(true);
  });

  it.each(atMedplum)('at Medplum: %s', async (_, write) => {
    expect(refused(await changesNothing(medplum, write))).toBe(true);
  });
});
