/** The clinic's own: name, logo, colour, address, what to bring, imprint, privacy, what to agree to. */

import { expect, test } from '@jest/globals';
import type { Parameters, QuestionnaireResponse } from '@medplum/fhirtypes';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference.ts';
import { colourSheet, contrast } from '../clinic/clinic.ts';
import { aBrowser, bundle, settings, withPortal } from './installed.ts';

const [start, end] = ['2040-01-02T09:00:00.000Z', '2040-01-02T09:30:00.000Z'];
const slot = { resourceType: 'Slot', id: 'a', status: 'free', schedule: { reference: 'Schedule/s' }, start, end };
const consent = 'I agree that the clinic reminds me by e-mail.';
const logo = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let parts: object[];
let booked: Parameters | undefined;
let waiting: Parameters | undefined;

const extensions = { ...settings.extensions, clinic: 'urn:clinic' };
let time = Date.parse('2040-01-01T09:00:00Z');
/** What was read about the clinic is old at once. */
const now = () => (time += 6_000);

const { app } = await withPortal({ extensions, now }, (clinic) => {
  const extension = [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: 'HealthcareService/h' } }];
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle({
      resourceType: 'Schedule',
      id: 's',
      serviceType: [{ text: 'CT', extension }],
      extension: [{ url: 'urn:policy', extension: [{ url: 'refill', valueBoolean: true }] }],
    }),
  );
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      {
        resourceType: 'HealthcareService',
        id: 'h',
        extraDetails: 'Bring your <b>card</b>.\nCome sober.',
        providedBy: { reference: 'Organization/o' },
        location: [{ reference: 'Location/l' }],
      },
      {
        resourceType: 'Organization',
        id: 'o',
        name: 'Clinic by the lake',
        address: [{ line: ['Seeweg 1'], city: 'Berlin' }],
        extension: [{ url: 'urn:clinic', extension: parts }],
      },
      { resourceType: 'Location', id: 'l', name: 'House 3', position: { latitude: 52.5, longitude: 13.4 } },
    ),
  );
  clinic.get('/fhir/R4/Slot', async () => bundle(slot));
  clinic.get('/fhir/R4/Slot/a', async () => slot);
  const heldUntil = [{ url: 'urn:held', valueInstant: '2040-01-01T00:00:00Z' }];
  const hold = { resourceType: 'Appointment', id: 'hold', status: 'proposed', extension: heldUntil };
  clinic.post('/fhir/R4/Appointment/$hold', async (_request, reply) => reply.code(201).send(hold));
  clinic.get('/fhir/R4/Appointment/hold', async () => hold);
  const appointment = {
    resourceType: 'Appointment',
    id: 'b',
    status: 'booked',
    slot: [{ reference: 'Slot/a' }],
    start,
    end,
  };
  clinic.post('/fhir/R4/Appointment/$book', async ({ body }, reply) => {
    booked = JSON.parse(String(body));
    return reply.code(201).send(appointment);
  });
  clinic.post('/fhir/R4/Appointment/$waitlist', async ({ body }, reply) => {
    waiting = JSON.parse(String(body));
    return reply.code(201).send({ ...appointment, status: 'waitlist' });
  });
  clinic.get('/fhir/R4/Appointment', async () => bundle(appointment, slot));
});

test('the clinic is shown as its Organization says, and a booking holds what was agreed to', async () => {
  parts = [
    { url: 'logo', valueAttachment: { data: logo } },
    { url: 'colour', valueString: '#FFCC00' },
    { url: 'imprint', valueUrl: 'https://clinic.example/imprint' },
    { url: 'privacy', valueUrl: 'https://clinic.example/privacy' },
    { url: 'consent', valueString: consent },
  ];
  const browser = aBrowser(app, '192.0.2.1');
  await browser.send('/portal/');
  const { body } = await browser.send('/portal/');
  expect(body).toContain('– Clinic by the lake</title>');
  expect(body).toMatch(/<img src="\/portal\/pictures\/Organization\/o\?v=\w+"/);
  expect(body).toContain('href="/portal/colour.css?c=ffcc00"');
  expect(body).toContain('Seeweg 1, Berlin <a href="https://www.openstreetmap.org/search?query=Seeweg+1%2C+Berlin"');
  expect(body).toContain('<a href="https://clinic.example/imprint">Imprint</a>');

  const held = await browser.send('/portal/hold', { service: '', time: `Slot/a Schedule/s ${start} ${end}` });
  const address = String(held.headers.location);
  const form = await browser.send(address);
  expect(form.body).toContain(consent);
  expect(form.body).toContain('href="https://clinic.example/privacy"');
  const person = { given: 'Kim', family: 'Muster', birthDate: '1990-05-17', email: 'kim@example.org' };
  await browser.send(address, person);
  expect(booked).toBeUndefined();
  await browser.send(address, { ...person, consent: '0' });
  const agreed = (request: Parameters | undefined) => {
    const answers = request?.parameter?.find(({ name }) => name === 'patientSubmittedInformation')?.resource;
    return (answers as QuestionnaireResponse | undefined)?.item?.[0]?.answer;
  };
  expect(agreed(booked)).toEqual([{ valueString: consent }]);

  const days = { first: '2040-01-02', last: '2040-01-03' };
  const unread = await browser.send('/portal/wait?service=', { ...person, ...days });
  expect([unread.statusCode, waiting]).toEqual([422, undefined]);
  expect(unread.body).toContain(consent);
  await browser.send('/portal/wait?service=', { ...person, ...days, consent: '0' });
  expect(agreed(waiting)).toEqual([{ valueString: consent }]);
  const own = await browser.send('/portal/appointments/b');
  expect(own.body).toContain('Bring your &lt;b&gt;card&lt;/b&gt;.\nCome sober.');
  expect(own.body).toContain('<a href="https://www.openstreetmap.org/?mlat=52.5&amp;mlon=13.4"');
});

test('what is no address, no colour or no picture is left out', async () => {
  parts = [
    { url: 'logo', valueAttachment: { contentType: 'image/png', data: Buffer.from('<svg/>').toString('base64') } },
    { url: 'colour', valueString: 'red;}body{background:url(//evil.example)' },
    { url: 'imprint', valueUrl: 'javascript:alert(1)' },
    { url: 'privacy' },
  ];
  await app.inject('/portal/');
  const { body } = await app.inject('/portal/');
  expect(body).not.toMatch(/<img|colour\.css|javascript:|evil/);
  expect((await app.inject('/portal/colour.css?c=red')).statusCode).toBe(404);
});

test.each(['ffcc00', '0a5c8f', '000000', 'ffffff', '808080', '00ff00'])('%s can be read in both schemes', (colour) => {
  const rgb = (hex: string) => [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const found = [...colourSheet(colour).matchAll(/--link:#([0-9a-f]{6})/g)].map(([, hex = '']) => rgb(hex));
  const [light = [], dark = []] = found;
  for (const [one, other] of [
    [light, 'f6f8fa'],
    [light, 'ffffff'],
    [light, 'e7f1f8'],
    [dark, '10161d'],
    [dark, '19222c'],
    [dark, '223242'],
    [dark, '08131c'],
  ] as const) {
    expect(contrast(one, rgb(other))).toBeGreaterThanOrEqual(4.5);
  }
});
