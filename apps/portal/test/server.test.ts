import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from '@jest/globals';
import type { Appointment, Parameters } from '@medplum/fhirtypes';
import fastify from 'fastify';
import { pino } from 'pino';
import { timesOf } from '../clinic/times.ts';
import { portal } from '../server.ts';
import { viewOf } from '../visit/appointment.ts';
import { aBrowser, builtFiles, bundle, settings, withPortal } from './installed.ts';

const [start, end] = ['2040-01-02T09:00:00.000Z', '2040-01-02T09:30:00.000Z'];

/** What the clinic was asked to book. */
const booked: Appointment[] = [];
/** How many answers to `$book` are lost. */
let lost = 0;
let refusal: object | undefined;

const down = { path: '/down', baseUrl: 'http://localhost:9/fhir/R4' };

const { app } = await withPortal([{ requestsPerMinute: 30, changesPerMinute: 12 }, down], (clinic) => {
  clinic.get('/fhir/R4/Schedule', async () =>
    bundle(
      { resourceType: 'Schedule', id: 's' },
      { resourceType: 'Schedule', id: 'broken', actor: null, serviceType: [null] },
    ),
  );
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle({ resourceType: 'HealthcareService', id: 'h', type: 'x' }),
  );
  clinic.get('/fhir/R4/Slot', async () =>
    bundle(
      { resourceType: 'Slot', id: 'a', schedule: { actor: '', reference: 'Schedule/s' }, start, end },
      { resourceType: 'Slot', id: 'b', schedule: { actor: '', reference: 'Schedule/s' }, start },
      { resourceType: 'Slot', id: 'c', start, end },
    ),
  );
  clinic.get('/fhir/R4/Slot/other', async () => ({ resourceType: 'Slot', id: 'other' }));
  clinic.post('/fhir/R4/Appointment/$hold', async (_request, reply) => {
    const extension = [{ url: 'urn:held', valueInstant: new Date(Date.now() + 600_000).toISOString() }];
    return reply.code(201).send({ resourceType: 'Appointment', id: 'hold', status: 'proposed', extension });
  });
  clinic.get('/fhir/R4/Appointment/hold', async () => ({
    resourceType: 'Appointment',
    id: 'hold',
    status: 'proposed',
  }));
  clinic.post('/fhir/R4/Appointment/$book', async (request, reply) => {
    const { parameter }: Parameters = JSON.parse(String(request.body));
    booked.push(parameter?.[0]?.resource as Appointment);
    if (lost > 0) {
      lost -= 1;
      reply.hijack();
      request.raw.socket.destroy();
      return reply;
    }
    if (refusal) {
      return reply.code(409).send(refusal);
    }
    return reply.code(201).send({ resourceType: 'Appointment', id: 'hold', status: 'booked' });
  });
});
beforeEach(() => {
  booked.length = 0;
  refusal = undefined;
});

let visitor = 0;
let browser: ReturnType<typeof aBrowser>;

beforeEach(() => {
  visitor += 1;
  browser = aBrowser(app, `192.0.2.${visitor}`);
});

const send: typeof browser.send = (...request) => browser.send(...request);

const person = { given: 'Kim', family: 'Muster', birthDate: '1990-05-17', phone: '030 123456' };
const time = `Slot/a Schedule/s ${start} ${end}`;

async function details(): Promise<string> {
  const { headers } = await send('/portal/hold', { service: '', time });
  return String(headers.location);
}

test('broken resources of the clinic stop no page', async () => {
  expect((await send('/portal/')).statusCode).toBe(200);
  const { statusCode, body } = await send('/portal/times?service=&from=2040-01-01');
  expect([statusCode, body.match(/class="time"/g)?.length]).toEqual([200, 1]);
  expect(timesOf({ resourceType: 'Slot', id: 'a', start, end } as never, {} as never)).toHaveLength(1);
  expect(timesOf({ resourceType: 'Slot', id: 'a', start } as never, {} as never)).toEqual([]);
  expect(viewOf({ resourceType: 'Appointment', id: 'a' } as never, [], [], { heldUntil: '' }, 0)).toMatchObject({
    state: 'unclear',
    isOpen: false,
  });
});

test('the log tells what failed and where, and nothing of a person', async () => {
  const lines: string[] = [];
  const failing = fastify({ loggerInstance: pino({ level: 'error' }, { write: (line) => void lines.push(line) }) });
  failing.addHook('preHandler', async () => Promise.reject(new RangeError('Kim Muster')));
  const { assets, remove } = builtFiles();
  failing.register(portal({ ...settings, ...down, assets }), { prefix: down.path });
  expect((await failing.inject(down.path)).statusCode).toBe(500);
  await failing.close();
  remove();
  expect(lines.join()).toMatch(/RangeError.*server\.test\.ts/);
  expect(lines.join()).not.toContain('Muster');
});

test('a page that anybody may see is compressed for browsers that take it; one that is a person’s never is', async () => {
  const get = (url: string, encoding: string) => send(url, undefined, { 'accept-encoding': encoding });
  const plain = await get('/portal/times?service=', 'br;q=0, gzip;q=0');
  for (const [encoding, taken, read] of [
    ['deflate, GZIP;q=0.5', 'gzip', gunzipSync],
    ['gzip, br', 'br', brotliDecompressSync],
  ] as const) {
    const small = await get('/portal/times?service=', encoding);
    expect([plain.headers['content-encoding'], small.headers['content-encoding']]).toEqual([undefined, taken]);
    expect(read(small.rawPayload).toString()).toBe(plain.body);
    expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
  }
  const personal = await get(await details(), 'gzip');
  expect([personal.statusCode, personal.headers['content-encoding']]).toEqual([200, undefined]);
});

test('a long Slot is cut into appointments of the length that the clinic gives', () => {
  const schedule = {
    actor: '',
    reference: 'Schedule/s',
    name: '',
    text: '',
    isRequest: false,
    cancelUntil: undefined,
    place: undefined,
    phone: undefined,
    map: undefined,
    bring: undefined,
    payers: [],
    hasWaitlist: false,
    minutes: 20,
  };
  const slot = {
    resourceType: 'Slot',
    id: 'a',
    schedule: {},
    status: 'free',
    start,
    end: '2040-01-02T10:10:00.000Z',
  } as const;
  expect(timesOf(slot, schedule).map((freeTime) => (freeTime.end - freeTime.start) / 60_000)).toEqual([20, 20, 20]);
});

test('a booking whose answer is lost is sent again by itself, with the same identifier', async () => {
  const address = await details();
  lost = 1;
  const response = await send(address, person);
  expect([response.statusCode, response.headers.location]).toEqual([303, '/portal/appointments/hold?outcome=booked']);
  const values = booked.map(({ identifier }) => identifier?.[0]?.value);
  expect(values).toHaveLength(2);
  expect(new Set(values).size).toBe(1);
});

test('a button that the form does not have books, as the Enter key does', async () => {
  expect((await send(await details(), { ...person, action: 'constructor' })).statusCode).toBe(303);
});

test('a clinic that does not answer at all: what was typed stays, and can be sent again', async () => {
  const address = await details();
  lost = 3;
  const response = await send(address, person);
  expect(response.statusCode).toBe(409);
  expect(response.body).toContain('nothing is booked twice');
  expect(response.body).toContain('value="Muster"');
  expect((await send(address, person)).statusCode).toBe(303);
  expect(new Set(booked.map(({ identifier }) => identifier?.[0]?.value)).size).toBe(1);
});

test('the times that the clinic names in its refusal are one click away', async () => {
  const address = await details();
  const named = [
    { url: 'slot', valueReference: { reference: 'Slot/other' } },
    { url: 'start', valueInstant: '2040-01-02T10:00:00Z' },
    { url: 'end', valueInstant: '2040-01-02T10:30:00Z' },
  ];
  const details_ = { coding: [{ code: 'hold-expired' }] };
  const issue = [
    {
      severity: 'error',
      details: details_,
      extension: [{ url: 'urn:alternative', extension: named }, { url: 'urn:alternative' }],
    },
  ];
  refusal = { resourceType: 'OperationOutcome', issue };
  const { body } = await send(address, person);
  expect(body.match(/name="time"/g)).toHaveLength(1);
  expect(body).toContain('11:00, Monday, 2 January 2040');
  refusal = undefined;
  const chosen = 'Slot/other  2040-01-02T10:00:00.000Z 2040-01-02T10:30:00.000Z';
  expect((await send(address, { ...person, time: chosen })).statusCode).toBe(303);
  expect(booked.at(-1)).toMatchObject({ slot: [{ reference: 'Slot/other' }], start: '2040-01-02T10:00:00.000Z' });
  expect(booked.at(-1)?.id).toBeUndefined();
});

test('a clinic that cannot be reached has a page of its own', async () => {
  const { statusCode, body } = await send('/down/');
  expect(statusCode).toBe(503);
  expect(body).toContain('Nothing that you have booked is lost.');
});

test('what is too large or too often is refused with a page that says so', async () => {
  const address = await details();
  const large = await send(address, `comment=${'x'.repeat(70_000)}`);
  expect([large.statusCode, large.body.includes('Too much text')]).toEqual([413, true]);
  const long = await send(address, { ...person, comment: 'x'.repeat(1_001) });
  expect([long.statusCode, (await send(String(long.headers.location))).statusCode]).toEqual([303, 422]);
  expect((await send(address, { ...person, comment: 'x'.repeat(3_001) })).statusCode).toBe(422);
  const many = await Promise.all(Array.from({ length: 14 }, () => send('/portal/hold', { time: 'x' })));
  expect(many.map(({ statusCode }) => statusCode)).toContain(429);
  const pages = await Promise.all(Array.from({ length: 32 }, () => send('/portal/nothing')));
  expect(pages.map(({ statusCode }) => statusCode)).toContain(429);
  expect(pages.at(-1)?.body).toContain('Please wait a minute');
});

test('what is no form, no time and no page is refused', async () => {
  const json = { method: 'POST', url: '/portal/hold', payload: { time } } as const;
  const headers = { 'sec-fetch-site': 'same-origin' };
  expect((await app.inject({ ...json, headers })).statusCode).toBe(404);
  for (const bad of [
    '',
    'Slot/a',
    `Slot/../x Schedule/s ${start} ${end}`,
    `Slot/a Schedule/s ${end} ${start}`,
    `${time} x`,
  ]) {
    expect((await send('/portal/hold', { service: '', time: bad })).statusCode).toBe(404);
  }
  expect((await send('/portal/details?b=x')).statusCode).toBe(404);
  expect((await send('/portal/unknown')).statusCode).toBe(404);
});
