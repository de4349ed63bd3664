/** How patients find a time: the earliest of any doctor, whose calendars there are, a month, a date. */
import { expect, test } from '@jest/globals';
import { aBrowser, bundle, withPortal } from './installed.ts';

const begin = Date.parse('2040-01-02T07:00:00Z');
let now = begin;
const coding = { system: 'urn:s', code: 'c' };
const HALF_HOUR = 1_800_000;

/** A picture of one pixel, and what is none. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wide = Buffer.from(png, 'base64');
wide.writeUInt32BE(60_000, 16);
const photos: Readonly<Record<string, object[]>> = {
  anna: [{ contentType: 'image/svg+xml', data: png }],
  berta: [{ contentType: 'image/png', data: Buffer.from('<svg onload="alert(1)"/>').toString('base64') }],
  cleo: [{ contentType: 'image/png', data: wide.toString('base64') }],
};
const ids = Object.keys(photos);
const people = ids.map((id) => ({
  resourceType: 'Practitioner',
  id,
  photo: photos[id],
  ...(id === 'berta' && { communication: [{ text: 5 }, null, { coding: [{ code: 'de-99x' }] }] }),
  ...(id === 'anna' && { communication: [{ coding: [{ code: 'tr' }] }, { coding: [{ code: 'de' }] }] }),
}));

/** Dr. anna is for private patients. */
const payers = (...codes: string[]) =>
  codes.map((code) => ({ url: 'urn:payer', valueCoding: { code, display: '<b>' } }));
const serviceOf = (id: string) => ({
  url: 'https://medplum.com/fhir/service-type-reference',
  valueReference: { reference: `HealthcareService/${id}` },
});

/** Whether the clinic does not say where its people work. */
let isRefused = false;

const { app } = await withPortal({ now: () => now }, (clinic) => {
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle(
      ...ids.map((id) => ({
        resourceType: 'Schedule',
        id,
        serviceType: [{ coding: [coding], extension: [serviceOf(id === 'anna' ? 'private' : 'all')] }],
        actor: [{ reference: `Practitioner/${id}`, display: `Dr. ${id}` }],
      })),
    ),
  );
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      {
        resourceType: 'HealthcareService',
        id: 'private',
        type: [{ coding: [coding] }],
        extension: payers('private', 'x'),
      },
      { resourceType: 'HealthcareService', id: 'all', type: [{ coding: [coding] }] },
    ),
  );
  clinic.get('/fhir/R4/Practitioner', async () => bundle(...people));
  const role = {
    resourceType: 'PractitionerRole',
    id: 'r',
    practitioner: { reference: 'Practitioner/anna' },
    location: [{ reference: 'Location/l' }],
  };
  clinic.get('/fhir/R4/PractitionerRole', async (_, reply) =>
    isRefused ? reply.code(403).send({}) : bundle(role, { resourceType: 'Location', id: 'l', name: 'House 3' }),
  );
  clinic.get<{ Params: { id: string } }>('/fhir/R4/Practitioner/:id', async ({ params }) =>
    people.find(({ id }) => id === params.id),
  );
  // Dr. cleo is free first; all have ten times on the 12th and one in February.
  const starts = [
    ...Array.from({ length: 10 }, (_, index) => Date.parse('2040-01-12T08:00:00Z') + index * HALF_HOUR),
    Date.parse('2040-02-03T08:00:00Z'),
  ];
  const slots = ids.flatMap((id, person) =>
    starts.map((start, index) => ({
      resourceType: 'Slot',
      id: `${id}-${index}`,
      status: 'free',
      // The last times of a day are not for those who pay themselves.
      extension: index === 9 ? payers('private', 'statutory') : [],
      schedule: { reference: `Schedule/${id}` },
      start: new Date(start - person * 300_000).toISOString(),
      end: new Date(start + HALF_HOUR - person * 300_000).toISOString(),
    })),
  );
  clinic.get<{ Querystring: { start: string[]; schedule: string } }>('/fhir/R4/Slot', async ({ query }) => {
    const [from = '', to = ''] = query.start.map((one) => one.slice(2));
    const found = slots.filter(
      ({ start, schedule }) => start >= from && start < to && query.schedule.includes(schedule.reference),
    );
    return bundle(...found.toSorted((a, b) => a.start.localeCompare(b.start)));
  });
});

const get = async (query = '') => aBrowser(app, '192.0.2.1').send(`/portal/times?service=urn%3As%7Cc${query}`);

test('people of whom only a part could be read are read again for the next visitor', async () => {
  isRefused = true;
  expect((await get()).body).not.toContain('House 3');
  isRefused = false;
  expect((await get()).body).toContain('House 3');
});

test('the earliest times of any doctor are on top, and who is free first is the first to choose', async () => {
  const { body } = await get();
  const [, earliest = ''] = body.split('Next free times');
  const times = [...earliest.matchAll(/<strong>([^<]+)<\/strong><br>([^<]+)</g)].slice(0, 4);
  expect(times.map(([, time, name]) => `${time} ${name}`)).toEqual([
    '08:50, Thu 12 Jan Dr. cleo',
    '08:55, Thu 12 Jan Dr. berta',
    '09:00, Thu 12 Jan Dr. anna',
    '09:20, Thu 12 Jan Dr. cleo',
  ]);
  const names = [...body.matchAll(/<strong dir="auto">(Dr\. \w+)<\/strong>/g)].map(([, name]) => name);
  expect(names).toEqual(['Dr. cleo', 'Dr. berta', 'Dr. anna']);
  expect(body).toContain('Speaks Turkish and German');
  expect(body).toContain('Speaks de-99x');
  expect(body).toContain('House 3');
  expect(body).toContain('Next: 08:50, Thu 12 Jan');
});

test('a month has its days with free times as links; a chosen date begins the list', async () => {
  const month = await get('&view=month&from=2040-02-10');
  expect(month.body).toContain('<caption>February 2040</caption>');
  expect(month.body.match(/<td>/g)).toHaveLength(29 + 2);
  expect(month.body).toMatch(/<a href="[^"]*view=month[^"]*" aria-label="Friday, 3 February 2040, 3 times"/);
  now = Date.parse('2040-01-30T07:00:00Z');
  const ending = await get('&view=month');
  now = begin;
  expect(ending.body).toMatch(/<caption>January 2040.*<caption>February 2040/s);
  const later = await get('&from=2040-01-20');
  expect(later.body).toContain('value="2040-01-20"');
  expect(later.body).not.toContain('12 Jan');
});

test('a picture is what its bytes say, comes from the portal itself, and can do nothing', async () => {
  const { body } = await get();
  const addresses = [...body.matchAll(/<img src="([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses).toHaveLength(1);
  const picture = await app.inject(addresses[0] ?? '');
  expect(picture.headers).toMatchObject({
    'content-type': 'image/png',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=31536000, immutable',
  });
  expect(picture.headers.vary).toBeUndefined();
  expect(picture.rawPayload.toString('base64')).toBe(png);
  for (const other of ['/portal/pictures/Practitioner/berta?v=undefined', '/portal/pictures/Practitioner/anna?v=x']) {
    expect((await app.inject(other)).statusCode).toBe(404);
  }
});

test('who pays is chosen where it makes a difference, and only what serves them is shown', async () => {
  const { send } = aBrowser(app, '192.0.2.7');
  const start = await send('/portal/');
  expect(start.body).toContain('Who pays?');
  expect(
    [...start.body.matchAll(/href="\/portal\/\?payer=(\w+)"(?: aria-current="true")?>([^<]+)/g)].map(
      ([, ...all]) => all,
    ),
  ).toEqual([
    ['private', 'Private insurance'],
    ['x', '&lt;b&gt;'],
  ]);
  const response = await get('&day=2040-01-12');
  const other = await get('&day=2040-01-12&payer=x');
  const countOf = ({ body }: { body: string }) =>
    body
      .split('class="times"')
      .slice(1)
      .map((one) => one.match(/name="time"/g)?.length);
  expect([countOf(response), countOf(other)]).toEqual([
    [10, 10, 10],
    [9, 9, 9],
  ]);
  expect(other.body).toContain('<input type="hidden" name="payer" value="x">');
  expect(other.body).toMatch(/name="time"|payer=x/);
  expect(other.body).toMatch(/href="[^"]*payer=x[^"]*view=month/);
  expect((await get('&payer=constructor')).statusCode).toBe(200);
});

test('a calendar of all services offers each that is active, by its own name', async () => {
  const all = { system: 'https://medplum.com/fhir/CodeSystem/scheduling-service-type', code: 'all' };
  const schedule = {
    resourceType: 'Schedule',
    id: 'a',
    serviceType: [{ coding: [all] }],
    actor: [{ display: 'Dr. A' }],
  };
  const typed = (code: string) => ({ resourceType: 'HealthcareService', id: code, type: [{ coding: [{ code }] }] });
  const services = [typed('Eyes'), typed('Ears'), { ...typed('Nose'), active: false }];
  const site = await withPortal({}, (own) => {
    own.get('/fhir/R4/Schedule', async () => bundle(schedule));
    own.get('/fhir/R4/HealthcareService', async () => bundle(...services));
  });
  const { body } = await aBrowser(site.app, '192.0.2.3').send('/portal/');
  expect([...body.matchAll(/service=%7C(\w+)/g)].map(([, name]) => name)).toEqual(['Ears', 'Eyes']);
});
