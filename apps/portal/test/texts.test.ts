/** Every text that a stranger can send to the portal is read at once, whatever it is. */
import { expect, test } from '@jest/globals';
import type { QuestionnaireItem } from '@medplum/fhirtypes';
import { encoded, FUZZ, hostileTexts, seen, slowTexts } from '../../../test/lib/hostile-texts.ts';
import { aBrowser, bundle, withPortal } from './installed.ts';

const types = [
  'boolean',
  'decimal',
  'integer',
  'date',
  'dateTime',
  'time',
  'string',
  'text',
  'url',
  'choice',
  'open-choice',
];
const [start, end] = ['2040-01-02T09:00:00.000Z', '2040-01-02T09:30:00.000Z'];
const slot = { resourceType: 'Slot', id: 'a', status: 'free', schedule: { reference: 'Schedule/s' }, start, end };
const coding = { system: 'urn:s', code: 'c' };

const { app } = await withPortal({ requestsPerMinute: 1e9, changesPerMinute: 1e9, bookingsPerHour: 1e6 }, (clinic) => {
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle({ resourceType: 'Schedule', id: 's', serviceType: [{ coding: [coding] }] }),
  );
  clinic.get('/fhir/R4/Slot', async () => bundle(slot));
  clinic.get('/fhir/R4/Slot/a', async () => slot);
  const item = types.map(
    (type, index): QuestionnaireItem => ({
      linkId: `${index}`,
      text: type,
      type: type as QuestionnaireItem['type'],
      repeats: index % 2 === 0,
      ...(type.endsWith('choice') && { answerOption: [{ valueString: 'x' }] }),
      ...(index > 0 && { enableWhen: [{ question: `${index - 1}`, operator: '!=', answerString: 'never' }] }),
    }),
  );
  clinic.get('/fhir/R4/Questionnaire', async () => bundle({ resourceType: 'Questionnaire', status: 'active', item }));
  const extension = [{ url: 'urn:held', valueInstant: '2040-01-01T00:00:00Z' }];
  const hold = { resourceType: 'Appointment', id: 'hold', status: 'proposed', extension };
  clinic.post('/fhir/R4/Appointment/$hold', async (_request, reply) => reply.code(201).send(hold));
  clinic.get('/fhir/R4/Appointment/hold', async () => hold);
  clinic.post('/fhir/R4/Appointment/$book', async (_request, reply) =>
    reply.code(409).send({ resourceType: 'OperationOutcome', issue: [] }),
  );
  clinic.get('/fhir/R4/Appointment', async () => bundle({ ...hold, id: 'a', status: 'booked', extension: [], start }));
});

const person = {
  given: 'Kim',
  family: 'Muster',
  birthDate: '1990-05-17',
  email: 'kim@example.org',
  phone: '030 123456',
};
const time = `Slot/a Schedule/s ${start} ${end}`;
const service = 'urn:s|c';

/** As long as a form may be. */
const inForm = hostileTexts(63_000, encoded);
/** As long as Node.js lets addresses and headers be. */
const inHead = hostileTexts(15_000, encoded).filter((text) => /^[\t -~]+$/.test(text));

const fields = [
  ...Object.keys(person),
  ...['comment', 'action', 'time', 'for', 'unknown'],
  ...types.map((_, index) => `q.${index}`),
  `q.${types.length - 1}.other`,
];

test.each(fields)('the field %s of the form of a booking', async (field) => {
  const browser = aBrowser(app, '192.0.2.1');
  const { headers } = await browser.send('/portal/hold', { service, time });
  const address = String(headers.location);
  expect((await browser.send(address)).statusCode).toBe(200);
  const statuses = new Set<number>();
  const send = async (text: string) =>
    statuses.add((await browser.send(address, { ...person, [field]: text })).statusCode);
  expect(await slowTexts(inForm, send)).toEqual([]);
  expect([...statuses].filter((status) => ![303, 409, 413, 422].includes(status))).toEqual([]);
});

test.each([
  ['/hold', 'time', { service }],
  ['/hold', 'service', { time }],
  ['/language', 'back', { language: 'de' }],
  ['/language', 'language', { back: '/portal/' }],
  ['/link', 'show', {}],
  ['/appointments/a/move', 'time', {}],
  ['/appointments/a/cancel', 'x', {}],
  ['/leave', 'x', {}],
])('%s: %s', async (path, field, rest) => {
  const send = (text: string) => aBrowser(app, '192.0.2.1').send(`/portal${path}`, { ...rest, [field]: text });
  expect(await slowTexts(inForm, send)).toEqual([]);
});

test.each([
  ['/times', 'service'],
  ['/times', 'from'],
  ['/times', 'day'],
  ['/times', 'move'],
  ['/times', 'schedule'],
  ['/details', 'b'],
  ['/link', 't'],
  ['/appointments', 'left'],
  ['/appointments/a/updates', 'w'],
  ['/appointments/a/move', 'time'],
])('the address %s?%s', async (path, name) => {
  const rest = { service, [name]: '' };
  const send = (text: string) =>
    aBrowser(app, '192.0.2.1').send(`/portal${path}?${new URLSearchParams({ ...rest, [name]: text })}`);
  expect(await slowTexts(inHead, send)).toEqual([]);
});

test('the path', async () => {
  const send = (text: string) => aBrowser(app, '192.0.2.1').send(`/portal/appointments/${encodeURIComponent(text)}`);
  expect(await slowTexts(inHead, send)).toEqual([]);
});

test.each([
  'accept',
  'accept-language',
  'accept-encoding',
  'cookie',
  'content-type',
  'origin',
  'sec-fetch-site',
  'x-forwarded-for',
  'authorization',
])('the header %s', async (name) => {
  const url = '/portal/times?service=urn:s%7Cc';
  const prefix = name === 'cookie' ? ['portal_session=', 'portal_draft=', 'portal_link=', ''] : [''];
  for (const start of prefix) {
    const send = async (text: string) => {
      const headers = { [name]: `${start}${text}` };
      await app.inject({ url, headers });
      await app.inject({ method: 'POST', url: '/portal/hold', payload: 'x', headers });
      await app.inject({ method: 'POST', url: '/portal/notifications', payload: 'x', headers });
    };
    expect(await slowTexts(inHead, send)).toEqual([]);
  }
});

test('these were thousands of texts', () => {
  console.log(`${seen.texts} texts; the longest stand: ${Math.round(seen.longest)} ms`);
  expect(seen.texts).toBeGreaterThan(1_000 * FUZZ);
});
