/** What can be booked, as files for directories (SMART Scheduling Links), and the page to which they lead. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { aBrowser, bundle, withPortal } from './installed.ts';

const start = Date.parse('2040-01-02T07:00:00Z');
const clock = { now: start };
const type = [{ coding: [{ system: 'urn:s', code: 'c' }], text: 'Visit' }];
const named = {
  url: 'https://medplum.com/fhir/service-type-reference',
  valueReference: { reference: 'HealthcareService/visit' },
};
const slot = (id: string, minutes: number, more: object = {}) => ({
  resourceType: 'Slot',
  id,
  status: 'free',
  comment: 'SECRET',
  schedule: { reference: 'Schedule/anna' },
  start: new Date(start + 3_600_000).toISOString(),
  end: new Date(start + 3_600_000 + minutes * 60_000).toISOString(),
  ...more,
});
const slots = [
  slot('short', 30),
  slot('long', 90),
  slot('taken', 30, { status: 'busy' }),
  slot('closed', 30, { schedule: { reference: 'Schedule/other' } }),
];

let isDown = false;
let pages = 1;

const { app, baseUrl } = await withPortal({ isPublished: true, now: () => clock.now }, (clinic) => {
  clinic.addHook('onRequest', async (_request, reply) => (isDown ? reply.code(500).send({}) : undefined));
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle({
      resourceType: 'Schedule',
      id: 'anna',
      comment: 'SECRET',
      serviceType: [{ ...type[0], extension: [named] }],
      actor: [{ reference: 'Practitioner/anna', display: 'Dr. Anna' }],
    }),
  );
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      {
        resourceType: 'HealthcareService',
        id: 'visit',
        name: 'Visit',
        type,
        meta: { author: { display: 'SECRET' } },
        extension: [
          {
            url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
            extension: [{ url: 'duration', valueDuration: { value: 30, unit: 'min' } }],
          },
        ],
        location: [{ reference: 'Location/house' }],
      },
      {
        resourceType: 'Location',
        id: 'house',
        name: 'House 3',
        address: { state: 'Bayern' },
        managingOrganization: { display: 'SECRET' },
      },
    ),
  );
  clinic.get<{ Querystring: { page?: string } }>('/fhir/R4/Slot', async ({ query: { page = '1' } }) => {
    const next = { relation: 'next', url: `${baseUrl}/Slot?page=${Number(page) + 1}` };
    return { ...bundle(...slots.filter(({ status }) => status === 'free')), link: Number(page) < pages ? [next] : [] };
  });
  clinic.get<{ Params: { id: string } }>('/fhir/R4/Slot/:id', async ({ params }, reply) => {
    const found = slots.find(({ id }) => id === params.id);
    return found ?? reply.code(404).send({ resourceType: 'OperationOutcome', issue: [] });
  });
});

const read = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

interface Manifest {
  readonly transactionTime: string;
  readonly request: string;
  readonly output: readonly { readonly type: string; readonly url: string; readonly extension?: object }[];
}

const manifest = async (): Promise<Manifest> => (await read('/portal/$bulk-publish')).json();
const pathOf = (url = ''): string => new URL(url).pathname;
const linesOf = async (url: string | undefined) =>
  (await read(pathOf(url))).payload
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('the manifest names a file for each type, which hold only what every visitor sees', async () => {
  const response = await read('/portal/$bulk-publish');
  expect(response.headers).toMatchObject({
    'content-type': expect.stringMatching(/^application\/json/),
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=60',
  });
  const { output, request, transactionTime } = response.json<Manifest>();
  expect([request, transactionTime]).toEqual([
    'https://portal.example/portal/$bulk-publish',
    '2040-01-02T07:00:00.000Z',
  ]);
  const [locations, services, schedules, found] = await Promise.all(output.map(({ url }) => linesOf(url)));
  expect(output.map((one) => one.type)).toEqual(['Location', 'HealthcareService', 'Schedule', 'Slot']);
  expect(locations).toEqual([{ resourceType: 'Location', id: 'house', name: 'House 3', address: { state: 'Bayern' } }]);
  expect(output).toMatchObject(output.map(() => ({ extension: { state: ['Bayern'] } })));
  expect(services?.[0]).toMatchObject({ id: 'visit', name: 'Visit', location: [{ reference: 'Location/house' }] });
  expect(schedules).toEqual([
    {
      resourceType: 'Schedule',
      id: 'anna',
      serviceType: type,
      actor: [{ reference: 'Location/house' }, { reference: 'HealthcareService/visit' }, { display: 'Dr. Anna' }],
    },
  ]);
  expect(found?.map(({ id }) => id)).toEqual(['short', 'long']);
  expect(found?.[0]).toMatchObject({
    status: 'free',
    extension: [
      {
        url: 'http://hl7.org/fhir/uv/smart-scheduling-links/StructureDefinition/booking-deep-link',
        valueUrl: 'https://portal.example/portal/slots/short',
      },
    ],
  });
  expect(JSON.stringify([locations, services, schedules, found])).not.toContain('SECRET');
});

test('who has a file gets it no second time; the files of the snapshot before can still be read, older ones cannot', async () => {
  const [first] = (await manifest()).output;
  const whole = await read(pathOf(first?.url));
  const again = await read(pathOf(first?.url), { 'if-none-match': String(whole.headers.etag) });
  expect([whole.statusCode, again.statusCode, again.payload]).toEqual([200, 304, '']);
  const small = await read(pathOf(first?.url), { 'accept-encoding': 'br, gzip' });
  expect(small.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(small.rawPayload).toString()).toBe(whole.payload);
  clock.now += 61_000;
  await manifest();
  expect((await read(pathOf(first?.url))).statusCode).toBe(200);
  clock.now += 61_000;
  await manifest();
  const over = await read(pathOf(first?.url));
  expect([over.statusCode, over.json().issue[0].code]).toEqual([404, 'not-found']);
  expect(over.json().issue[0].diagnostics).toContain('https://portal.example/portal/$bulk-publish');
});

test('of very many Slots the nearest are published, and the manifest says until when', async () => {
  clock.now += 61_000;
  pages = 20_000;
  slots.push(...Array.from({ length: 2_500 }, (_, index) => slot(`more-${index}`, 30)));
  const { output } = await manifest();
  slots.length = 4;
  pages = 1;
  const found = await linesOf(output.at(-1)?.url);
  expect(found.length).toBeLessThanOrEqual(22_501);
  expect(output.at(-1)?.extension).toMatchObject({ until: '2040-01-02T08:00:00.000Z' });
});

test('a clinic that does not answer is no empty clinic', async () => {
  clock.now += 61_000;
  isDown = true;
  const response = await read('/portal/$bulk-publish');
  isDown = false;
  expect([response.statusCode, response.json().issue[0].code]).toEqual([503, 'transient']);
});

test.each([
  ['short', 200, undefined],
  ['long', 303, '/portal/times?service=urn%3As%7Cc&schedule=Schedule%2Fanna&from=2040-01-02'],
  ['taken', 409, undefined],
  ['closed', 303, '/portal/'],
  ['unknown', 303, '/portal/'],
])('the page of the Slot %s answers %d, and takes nothing by itself', async (id, status, location) => {
  const response = await aBrowser(app, '192.0.2.7').send(`/portal/slots/${id}`);
  expect([response.statusCode, response.headers.location]).toEqual([status, location]);
  const isOffered =
    /<form method="post" action="\/portal\/hold" class="hold-now">.*<button name="time" value="Slot\/short /s;
  expect(isOffered.test(response.payload)).toBe(id === 'short');
});

test('a portal that publishes nothing has no manifest', async () => {
  const { app: other } = await withPortal({}, () => undefined);
  expect((await other.inject({ url: '/portal/$bulk-publish' })).statusCode).toBe(404);
});
