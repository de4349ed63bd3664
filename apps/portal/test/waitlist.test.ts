/** How somebody waits for free time: what can be typed, and whose offers are whose. */
import { expect, test } from '@jest/globals';
import type { Appointment, Parameters, Patient } from '@medplum/fhirtypes';
import { aBrowser, bundle, withPortal } from './installed.ts';

const now = Date.parse('2040-01-01T09:00:00Z');
const coding = { system: 'urn:s', code: 'c' };
const refill = [{ url: 'urn:policy', extension: [{ url: 'refill', valueBoolean: true }] }];
const address = '/portal/wait?service=urn%3As%7Cc';
const person = { given: 'Kim', family: 'Muster', birthDate: '1990-05-17', email: 'kim@example.org' };
const days = { first: '2040-01-02', last: '2040-01-03' };

let joined: Appointment[] = [];
let offers: object[] = [];
let refusal: string | undefined;
/** The identifiers of the records at the clinic. */
const records: Record<string, Patient['identifier']> = { victim: [] };

const { app } = await withPortal({ now: () => now }, (clinic) => {
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle(
      { resourceType: 'Schedule', id: 's', serviceType: [{ coding: [coding] }], extension: refill },
      { resourceType: 'Schedule', id: 't', serviceType: [{ coding: [{ ...coding, code: 'other' }] }] },
    ),
  );
  clinic.get<{ Querystring: { _id?: string } }>('/fhir/R4/Appointment', async ({ query: { _id } }) =>
    bundle(...[...joined, ...offers].filter((one) => _id === undefined || (one as Appointment).id === _id)),
  );
  clinic.get<{ Params: { id: string } }>('/fhir/R4/Patient/:id', async ({ params: { id } }) => ({
    resourceType: 'Patient',
    id,
    name: [{ given: ['Maria'], family: 'Secret' }],
    telecom: [{ system: 'email', value: 'maria@example.org' }],
    identifier: records[id],
  }));
  clinic.post<{ Body: string }>('/fhir/R4/Appointment/$waitlist', async ({ body }, reply) => {
    if (refusal) {
      const issue = [{ severity: 'error', details: { coding: [{ code: refusal }] } }];
      return reply.code(422).send({ resourceType: 'OperationOutcome', issue });
    }
    const { parameter = [] } = JSON.parse(body) as Parameters;
    const sent = parameter[0]?.resource as Appointment | undefined;
    const extension = [{ url: 'urn:place', valuePositiveInt: 3 }];
    // Sent again, it is answered with the entry that there is, as the clinic has changed it.
    const [known] = joined.filter(({ identifier }) => identifier?.[0]?.value === sent?.identifier?.[0]?.value);
    if (known?.identifier) {
      return { ...known, extension };
    }
    const participant = [{ actor: { reference: 'Patient/p' }, status: 'accepted' as const }];
    records.p = (parameter.find(({ name }) => name === 'patient')?.resource as Patient | undefined)?.identifier;
    joined = sent ? [{ ...sent, id: 'w', participant }] : joined;
    return reply.code(201).send({ ...joined[0], extension });
  });
});

/** A browser that was shown the page. */
async function aVisitor() {
  const browser = aBrowser(app, '192.0.2.1');
  const { statusCode, rawPayload } = await browser.send(address);
  expect(statusCode).toBe(200);
  expect(rawPayload.length).toBeLessThan(10_000);
  return browser;
}

test('the page of times leads to it where the clinic keeps a waitlist; elsewhere there is none', async () => {
  const { send } = aBrowser(app, '192.0.2.1');
  expect((await send('/portal/times?service=urn%3As%7Cc')).body).toContain('Wait for a time that becomes free');
  expect((await send('/portal/times?service=urn%3As%7Cother')).body).not.toContain('/portal/wait');
  for (const service of ['urn%3As%7Cother', 'nothing', '']) {
    expect((await send(`/portal/wait?service=${service}`)).statusCode).toBe(404);
  }
});

test.each([
  [{ first: '' }, 'First day: Please fill this in.'],
  [{ last: 'soon' }, 'Last day: Enter a date'],
  [{ last: '2040-01-01' }, 'Last day: Choose a last day'],
  [{ last: '2041-01-02' }, 'Last day: Choose a last day'],
  [{ first: '2039-01-01', last: '2039-01-02' }, 'Last day: Choose a last day'],
  [{ family: '' }, 'Last name: Please fill this in.'],
  [{ email: '' }, 'E-mail: Enter an e-mail address or a phone number.'],
])('what is wrong is said, and what was typed stays: %j', async (wrong, said) => {
  const { send } = await aVisitor();
  const { statusCode, body } = await send(address, { ...person, ...days, ...wrong });
  expect([statusCode, joined]).toEqual([422, []]);
  expect(body).toContain(said);
  expect(body).toContain('value="Kim"');
});

test('a form without the cookie of its browser, and one that the clinic refuses, join nothing', async () => {
  const stranger = await aBrowser(app, '192.0.2.1').send(address, { ...person, ...days });
  expect(stranger.statusCode).toBe(403);
  const { send } = await aVisitor();
  refusal = 'patient-limit-reached';
  const { statusCode, body } = await send(address, { ...person, ...days });
  refusal = undefined;
  expect([statusCode, joined]).toEqual([409, []]);
  expect(body).toContain('as many open appointments as the clinic allows');
  expect(body).toContain('value="Muster"');
});

test('whoever has joined sees the place, and only what is offered to them', async () => {
  const { send } = await aVisitor();
  const { headers } = await send(address, { ...person, ...days });
  expect(headers.location).toBe('/portal/appointments/w?outcome=joined');
  expect(joined[0]).toMatchObject({
    status: 'waitlist',
    requestedPeriod: [{ start: '2040-01-01T23:00:00.000Z', end: '2040-01-03T23:00:00.000Z' }],
  });
  const entry = await send(String(headers.location));
  expect(entry.body).toContain('<dt>Your place</dt><dd>3</dd>');
  expect(entry.body).toContain('Monday, 2 January 2040 to Tuesday, 3 January 2040');
  const offer = (id: string, patient: string, until: string) => ({
    resourceType: 'Appointment',
    id,
    status: 'proposed',
    start: `2040-01-02T1${id}:00:00Z`,
    end: `2040-01-02T1${id}:30:00Z`,
    slot: [{ reference: 'Slot/x' }],
    participant: [{ actor: { reference: `Patient/${patient}` } }],
    extension: [
      { url: 'urn:held', valueInstant: until },
      {
        url: 'urn:offer',
        extension: [{ url: 'for', valueReference: { reference: `Appointment/${patient === 'p' ? 'w' : 'v'}` } }],
      },
    ],
  });
  const later = '2040-01-01T12:00:00Z';
  offers = [offer('1', 'p', later), offer('2', 'q', later), offer('3', 'p', '2040-01-01T08:00:00Z')];
  const { body } = await send('/portal/appointments');
  expect(body.match(/\/appointments\/\d\/accept/g)).toEqual(['/appointments/1/accept']);
  expect(body).toContain('We keep it for you until Sunday, 1 January 2040, 13:00.');
  const accepted = await Promise.all(['2', '3'].map((id) => send(`/portal/appointments/${id}/accept`, {})));
  expect(accepted.map(({ statusCode }) => statusCode)).toEqual([409, 409]);
  expect(accepted[1]?.body).toContain('no longer kept for you');
});

test.each(['victim', 'p'])(
  'of records that the clinic merges, a session gains nothing, whichever stays: %s',
  async (stays) => {
    const theirs = (id: string): Appointment => ({
      resourceType: 'Appointment',
      id,
      status: 'booked',
      start: '2040-01-02T08:00:00Z',
      end: '2040-01-02T08:30:00Z',
      comment: 'what Maria has',
      participant: [{ actor: { reference: `Patient/${stays}` }, status: 'accepted' }],
    });
    const { send } = await aVisitor();
    const form = { ...person, ...days, given: stays };
    await send(address, form);
    // The clinic merges the record that came with the form and that of the person whose name it says.
    joined = joined.map((appointment) => ({ ...appointment, participant: theirs('').participant }));
    records[stays] = [...(records[stays] ?? []), ...(records.p ?? [])];
    offers = [theirs('9')];
    await send(address, form);
    const { body } = await send('/portal/appointments');
    expect(body).toContain('On the waitlist');
    expect(body).not.toContain('Maria');
    expect((await send('/portal/appointments/9')).statusCode).toBe(404);
    expect((await send('/portal/appointments/9/cancel', {})).statusCode).toBe(404);
    expect((await send('/portal/appointments/w')).body).not.toContain('maria@example.org');
    const again = await send(address);
    expect(again.body).not.toMatch(/Maria|value="victim"/);
  },
);
