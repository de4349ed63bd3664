/** What the pages say of limits, deadlines and answers that did not come. */

import { describe, expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference.ts';
import { createSeal, sealKey } from '../session/seal.ts';
import { aBrowser, bundle, settings, withPortal } from './installed.ts';

const now = Date.parse('2040-01-01T09:00:00Z');
const hours = (count: number): string => new Date(now + count * 3_600_000).toISOString();

const serviceReference = { url: SERVICE_TYPE_REFERENCE, valueReference: { reference: 'HealthcareService/h' } };
const service = [
  {
    resourceType: 'HealthcareService',
    id: 'h',
    providedBy: { reference: 'Organization/o' },
    location: [{ reference: 'Location/l' }],
  },
  { resourceType: 'Organization', id: 'o', telecom: [{ system: 'phone', value: '+49 30 23125-000' }] },
  {
    resourceType: 'Location',
    id: 'l',
    name: 'House 3',
    address: { line: ['Seeweg 1'], postalCode: '10115', city: 'Berlin' },
  },
];

const time = `Slot/a Schedule/s ${hours(48)} ${hours(49)}`;

let appointment: Appointment;
/** What was booked with it. */
let others: object[] = [];

const extensions = { ...settings.extensions, visitGroup: 'urn:group' };
const { app } = await withPortal({ now: () => now, extensions }, (clinic) => {
  const cancelUntil = { url: 'cancelUntil', valueDuration: { value: 1, code: 'd' } };
  const extension = [{ url: 'urn:policy', extension: [cancelUntil] }];
  const serviceType = [{ text: 'CT', extension: [serviceReference] }];
  const actor = [{ display: 'CT' }];
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle({ resourceType: 'Schedule', id: 's', extension, serviceType, actor }),
  );
  clinic.get('/fhir/R4/HealthcareService', async () => bundle(...service));
  const slot = {
    resourceType: 'Slot',
    id: 'a',
    schedule: { reference: 'Schedule/s' },
    start: hours(48),
    end: hours(49),
  };
  clinic.get<{ Querystring: { start: string[] } }>('/fhir/R4/Slot', async ({ query: { start } }) =>
    bundle(...(`ge${slot.start}` >= (start[0] ?? '') && `lt${slot.start}` < (start[1] ?? '') ? [slot] : [])),
  );
  clinic.get('/fhir/R4/Appointment', async () => bundle(appointment, slot, ...others));
  clinic.patch('/fhir/R4/Appointment/b', async () => ({ resourceType: 'Appointment', id: 'b', status: 'cancelled' }));
  clinic.patch('/fhir/R4/Appointment/a', async (_request, reply) => {
    const issue = [{ severity: 'error', details: { coding: [{ code: 'cancellation-closed' }] } }];
    return reply.code(422).send({ resourceType: 'OperationOutcome', issue });
  });
});

/** The page of an appointment, to whoever has its link. */
async function pageOf(stored: Partial<Appointment>, language: 'de' | 'en' = 'en') {
  appointment = {
    resourceType: 'Appointment',
    id: 'a',
    status: 'booked',
    slot: [{ reference: 'Slot/a' }],
    participant: [],
    ...stored,
  };
  const link = await createSeal(sealKey(settings.clientSecret), () => now).close(
    'link',
    { appointments: ['a'] },
    now + 1e6,
  );
  const browser = aBrowser(app, '192.0.2.1');
  browser.cookies.set('portal_language', language);
  await browser.send(`/portal/link?t=${link}`);
  return { browser, body: (await browser.send('/portal/appointments/a')).body };
}

describe('the last moment to cancel', () => {
  test('is named as long as there is time', async () => {
    const { body } = await pageOf({ start: hours(48), end: hours(49) });
    expect(body).toContain('You can move or cancel it here until Monday, 2 January 2040, 10:00.');
    expect(body).toContain('/appointments/a/cancel');
  });

  test('is named when it has passed: nothing is offered that the clinic refuses, and nothing can be tried again', async () => {
    const { browser, body } = await pageOf({ start: hours(12), end: hours(13) });
    expect(body).toContain('It could be moved or cancelled here until');
    expect(body).not.toContain('/appointments/a/cancel');
    const refused = await browser.send('/portal/appointments/a/cancel', {});
    expect(refused.statusCode).toBe(409);
    expect(refused.body).toContain('It is too late to cancel');
    expect(refused.body).not.toMatch(/Try again|class="danger"/);
  });
});

test('of a visit that has begun the rest is cancelled', async () => {
  const visit = {
    identifier: [{ system: 'urn:group', value: 'g' }],
    participant: [{ actor: { reference: 'Patient/p' }, status: 'accepted' as const }],
  };
  others = [{ resourceType: 'Appointment', id: 'b', status: 'booked', start: hours(1), end: hours(2), ...visit }];
  const { browser, body } = await pageOf({ slot: [], start: hours(-1), end: hours(0), ...visit });
  expect(body).toContain('Cancel the visit');
  expect(body).not.toContain('Move the visit');
  expect((await browser.send('/portal/appointments/a/cancel')).body).toContain('class="danger"');
  expect((await browser.send('/portal/appointments/a/cancel', {})).statusCode).toBe(303);
  others = [];
});

test.each([
  ['/hold', '/times?service=&payer='],
  ['/appointments/a/move', `/appointments/a/move?${new URLSearchParams({ service: '', payer: '', time })}`],
  ['/appointments/b/accept', '/appointments/b'],
])('in another language the answer to what a form has sent to %s is a page, too', async (path, page) => {
  const { browser } = await pageOf({ start: hours(48), end: hours(49) });
  const { statusCode, body } = await browser.send(`/portal${path}`, { service: '', time });
  const back = /name="back" value="([^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const { location = '' } = (await browser.send('/portal/language', { language: 'de', back })).headers;
  const { statusCode: shown, headers } = await browser.send(location);
  expect([statusCode, shown === 303 ? headers.location : location]).toEqual([409, `/portal${page}`]);
});

describe('a request', () => {
  test('names until when the clinic has to answer', async () => {
    const extension = [{ url: 'urn:deadline', valueInstant: hours(5) }];
    const { body } = await pageOf({ status: 'pending', start: hours(48), end: hours(49), extension }, 'de');
    expect(body).toContain('<dt>Antwort bis</dt><dd>Sonntag, 1. Januar 2040, 15:00</dd>');
  });
});

test('a page that advises to call has the number, and an appointment its place, here and in the calendar file', async () => {
  const browser = aBrowser(app, '192.0.2.1');
  const expired = await browser.send('/portal/link?t=x');
  expect(expired.body).toContain('<a href="tel:+493023125000">+49 30 23125-000</a>');
  const stored = { start: hours(48), end: hours(49), serviceType: [{ text: 'CT' }] };
  const own = await pageOf(stored);
  expect(own.body).toContain(
    '<dt>Where</dt><dd>House 3, Seeweg 1, 10115 Berlin <a href="https://www.openstreetmap.org/search?query=Seeweg',
  );
  expect(own.body).toContain('<dt>What</dt><dd>CT</dd>');
  // The calendar of a device is named after what it does.
  expect(own.body).not.toContain('<dt>With</dt>');
  const file = await own.browser.send('/portal/appointments/a/calendar.ics');
  expect(file.body).toContain('LOCATION:House 3\\, Seeweg 1\\, 10115 Berlin');
  expect(file.body).toContain('SUMMARY:CT\\, C\r\n');
});
