import { describe, expect, it } from '@jest/globals';
import { aSlot, minutes, proposed, slotsOf } from '../fixtures.ts';
import { type Answer, medplum, type RequestOptions, request } from '../http.ts';
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

type Write = (send: Send, known: Known) => Promise<Answer>;

/** A write of portal A; `{}` is the id of its appointment, `{free}` that of a free slot. */
const write =
  (method: string, path: string, options: (known: Known) => RequestOptions = () => ({})): Write =>
  (send, known) =>
    send('portal-a', method, path.replace('{free}', known.free.id ?? '').replace('{}', known.id), options(known));

const moved = ({ booked }: Known) => ({ body: { ...booked, start: minutes(5) } });
const made = ({ patient, free }: Known) => ({ body: proposed(patient, [free]) });
const unless = { headers: { 'if-none-exist': 'identifier=unknown' } };

/** Every way of writing an Appointment or a Slot that Medplum offers, besides the service's own. */
const writes: readonly (readonly [string, Write])[] = [
  ['POST /Appointment', write('POST', '/Appointment', made)],
  ['conditional POST', write('POST', '/Appointment', (known) => ({ ...made(known), ...unless }))],
  ['PUT', write('PUT', '/Appointment/{}', moved)],
  ['conditional PUT', write('PUT', '/Appointment?_id={}', moved)],
  ['conditional JSON Patch', write('PATCH', '/Appointment?_id={}', () => jsonPatch)],
  ['DELETE', write('DELETE', '/Appointment/{}')],
  ['conditional DELETE', write('DELETE', '/Appointment?_id={}')],
  ['POST /Slot', write('POST', '/Slot', ({ free: { id: _, ...body } }) => ({ body }))],
  ['PUT /Slot', write('PUT', '/Slot/{free}', ({ free }) => ({ body: { ...free, status: 'busy' } }))],
  ['PATCH /Slot', write('PATCH', '/Slot/{free}', () => jsonPatch)],
  ['DELETE /Slot', write('DELETE', '/Slot/{free}')],
  ['native $cancel', write('POST', '/Appointment/{}/$cancel', () => parameters)],
  ['native $confirm', write('POST', '/Appointment/{}/$confirm', () => parameters)],
  [
    'batch',
    write('POST', '', (known) => ({
      body: bundle('batch', { method: 'PUT', url: `Appointment/${known.id}` }, moved(known).body),
    })),
  ],
  [
    'transaction',
    write('POST', '', ({ id }) => ({ body: bundle('transaction', { method: 'DELETE', url: `Appointment/${id}` }) })),
  ],
  [
    'GraphQL',
    write('POST', '/$graphql', ({ id }) => ({ body: { query: `mutation { AppointmentDelete(id: "${id}") { id } }` } })),
  ],
];

/** Writes that only Medplum's own address offers; at the gateway PATCH and `$hold` are the service's. */
const atMedplum: typeof writes = [
  ...writes,
  ['native $hold', write('POST', '/Appointment/$hold', () => parameters)],
  ['JSON Patch', write('PATCH', '/Appointment/{}', () => jsonPatch)],
  ['FHIRPath Patch', write('PATCH', '/Appointment/{}', () => fhirPath)],
];

async function changesNothing(send: Send, one: Write): Promise<Answer> {
  const known = await aTarget();
  const response = await one(send, known);
  expect(await read(known.id)).toEqual(known.booked);
  expect(await slotsOf(known.schedule)).toEqual(['busy 0-30', 'free 60-90']);
  return response;
}

const refused = ({ status, text }: Answer) => status >= 400 || /"status":"4\d\d"|"errors":/.test(text);

describe("a requestor's own token writes no Appointment and no Slot", () => {
  it.each(writes)('at the service: %s', async (name, one) => {
    const isBundle = name === 'batch' || name === 'transaction';
    const response = await changesNothing(request, one);
    // A batch is answered with a refusal of each write in it, a transaction as a whole.
    expect(isBundle ? refused(response) : [404, 405, 415].includes(response.status)).toBe(true);
  });

  it.each(atMedplum)('at Medplum: %s', async (_, one) => {
    expect(refused(await changesNothing(medplum, one))).toBe(true);
  });
});
