/** What a page, a link, an address or a shared computer gives away, asked as browsers with cookies ask. */
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Appointment, Parameters, Patient } from '@medplum/fhirtypes';
import { createSessions, noSession, withMore } from '../session/session.ts';
import { aBrowser, bundle, settings, withPortal } from './installed.ts';

const duration = { url: 'duration', valueDuration: { value: 30, code: 'min' } };
const parameters = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';
const day = '2040-01-02';

/** How often each operation was asked for. */
const asked = { hold: 0, book: 0, services: 0, all: 0 };
/** What is stored at the clinic. */
const appointments = new Map<string, Appointment>();
const patients = new Map<string, Patient>();
/** What the clinic waits for before it names its free times. */
let slow: Promise<void> | undefined;
/** How many answers to `$book` are lost, although it has booked. */
let lost = 0;
let now = Date.parse('2040-01-01T09:00:00Z');

/** `$book` as the service does it: the identifier that has booked before is answered with what there is. */
function book(request: Parameters | Appointment): { status: number; body: Appointment } {
  if (request.resourceType === 'Appointment') {
    return { status: 201, body: { ...request, status: 'booked' } };
  }
  const { parameter = [] } = request;
  const sent = parameter.find(({ name }) => name === 'appt-resource')?.resource as Appointment;
  const patient = parameter.find(({ name }) => name === 'patient')?.resource as Patient | undefined;
  const key = sent.identifier?.[0]?.value;
  const known = [...appointments.values()].find(
    ({ identifier, status }) => status === 'booked' && identifier?.[0]?.value === key,
  );
  if (known) {
    return { status: 200, body: known };
  }
  const id = sent.id ?? `a-${appointments.size}`;
  const submitted = patient && { ...patient, id: `p-${patients.size}` };
  if (submitted) {
    patients.set(submitted.id, submitted);
  }
  const [{ actor } = {}] = sent.participant;
  const reference = submitted ? `Patient/${submitted.id}` : actor?.reference;
  const booked: Appointment = {
    ...sent,
    id,
    status: 'booked',
    participant: [{ status: 'accepted', actor: { ...actor, reference: reference ?? '' } }],
  };
  appointments.set(id, booked);
  return { status: 201, body: booked };
}

const { now: realNow } = Date;
// Limits for a minute count by it, however long the tests take.
Date.now = () => now;
afterAll(() => {
  Date.now = realNow;
});

const portals = [
  { requestsPerMinute: 1_000, changesPerMinute: 400, bookingsPerHour: 12, now: () => now },
  { path: '/usual' },
  { path: '/few', requestsPerMinute: 20 },
];

const { app } = await withPortal(portals, (clinic) => {
  clinic.addHook('onRequest', async ({ url }) => {
    asked.all += url.startsWith('/fhir/') ? 1 : 0;
  });
  const extension = [{ url: parameters, extension: [duration] }];
  clinic.get('/fhir/R4/Schedule', async () => {
    asked.services += 1;
    return bundle({ resourceType: 'Schedule', id: 's', extension });
  });
  const slot = {
    resourceType: 'Slot',
    id: 'a',
    status: 'free',
    schedule: { reference: 'Schedule/s' },
    start: `${day}T08:00:00.000Z`,
    end: `${day}T16:00:00.000Z`,
  };
  clinic.get('/fhir/R4/Slot', async () => {
    await slow;
    return bundle(slot);
  });
  clinic.get('/fhir/R4/Slot/a', async () => slot);
  clinic.post('/fhir/R4/Appointment/$hold', async (request, reply) => {
    asked.hold += 1;
    const sent: Appointment = JSON.parse(String(request.body));
    const id = sent.id ?? `hold-${asked.hold}`;
    const held = [{ url: 'urn:held', valueInstant: new Date(now + 600_000).toISOString() }];
    const hold: Appointment = { ...sent, id, status: 'proposed', participant: [], extension: held };
    appointments.set(id, hold);
    return reply.code(201).send(hold);
  });
  clinic.post('/fhir/R4/Appointment/$book', async (request, reply) => {
    asked.book += 1;
    const { status, body } = book(JSON.parse(String(request.body)));
    if (lost > 0) {
      lost -= 1;
      reply.hijack();
      request.raw.socket.destroy();
      return reply;
    }
    return reply.code(status).send(body);
  });
  clinic.get<{ Params: { id: string } }>('/fhir/R4/Appointment/:id', async ({ params }) => appointments.get(params.id));
  clinic.get<{ Params: { id: string } }>('/fhir/R4/Patient/:id', async ({ params }) => patients.get(params.id));
  clinic.get<{ Querystring: { _id?: string; patient?: string } }>('/fhir/R4/Appointment', async ({ query }) =>
    bundle(
      ...[...appointments.values()].filter(({ id = '', participant }) =>
        query._id === undefined
          ? query.patient?.split(',').includes(participant[0]?.actor?.reference ?? '')
          : query._id.split(',').includes(id),
      ),
    ),
  );
});

let addresses = 0;
beforeEach(() => {
  now += 86_400_000;
  lost = 0;
  asked.hold = 0;
  asked.book = 0;
  asked.services = 0;
});

interface Seen {
  readonly status: number;
  readonly body: string;
  readonly location: string;
}

/** A browser, with its cookies and an internet connection of its own. */
function visitor(remoteAddress?: string) {
  addresses += 1;
  const { send, cookies } = aBrowser(app, remoteAddress ?? `192.0.2.${addresses}`);
  const seen = async (url: string, form?: Record<string, string>): Promise<Seen> => {
    const { statusCode: status, body, headers } = await send(url, form);
    return { status, body, location: String(headers.location ?? '') };
  };
  return { get: (url: string) => seen(url), post: seen, cookies };
}

type Browser = ReturnType<typeof visitor>;

const anna = { given: 'Anna', family: 'Berg', birthDate: '1980-05-17', email: 'anna@example.org' };
const eve = { given: 'Eve', family: 'Fremd', birthDate: '1970-01-01', phone: '030 123456' };
const time = (from = '09:00', to = '09:30', slot = 'a') =>
  `Slot/${slot} Schedule/s ${day}T${from}:00.000Z ${day}T${to}:00.000Z`;

const press = async (browser: Browser, value = time()): Promise<string> =>
  (await browser.post('/portal/hold', { service: '', time: value })).location;

const idIn = ({ location }: Seen): string => /appointments\/([^?]+)/.exec(location)?.[1] ?? '';

/** Books, and gives the id of the appointment. */
async function booked(browser: Browser, person: Record<string, string>, value = time()): Promise<string> {
  return idIn(await browser.post(await press(browser, value), person));
}

async function linkOf(browser: Browser, id: string): Promise<string> {
  const { body } = await browser.get(`/portal/appointments/${id}`);
  return new URL(/class="link"[^>]*>([^<]+\/link\?t=[^<]+)</.exec(body)?.[1] ?? '').href.slice(settings.origin.length);
}

const recordOf = (id: string): string | undefined => appointments.get(id)?.participant[0]?.actor?.reference;

describe('the address of a form', () => {
  test('does nothing in another browser: neither before it was booked with, nor after', async () => {
    const [owner, stranger] = [visitor(), visitor()];
    const address = await press(owner);
    await press(stranger);
    for (const when of ['before', 'after']) {
      for (const answer of [
        await stranger.get(address),
        await stranger.post(address, eve),
        await stranger.post(address, { action: 'prolong' }),
        await stranger.post(address, { action: 'other' }),
        await visitor().post(address, eve),
      ]) {
        expect([when, answer.status, answer.location]).toEqual([when, 403, '']);
        expect(answer.body).toContain('another browser');
      }
      expect((await stranger.get('/portal/appointments')).status).toBe(403);
      if (when === 'before') {
        expect([...appointments.values()].at(-1)?.status).toBe('proposed');
        expect((await owner.post(address, anna)).status).toBe(303);
      }
    }
    expect(asked.book).toBe(1);
  });

  test('ends when it was booked with: the same browser is led to its appointment, and another name changes nothing', async () => {
    const browser = visitor();
    const address = await press(browser);
    const { location } = await browser.post(address, anna);
    const own = location.split('?')[0];
    for (const answer of [
      await browser.get(address),
      await browser.post(address, eve),
      await browser.post(address, { ...eve, time: time('10:00', '10:30') }),
    ]) {
      expect([answer.status, answer.location]).toEqual([303, own]);
    }
    expect(asked.book).toBe(1);
  });

  test('ends when the browser is signed out', async () => {
    const browser = visitor();
    const address = await press(browser);
    await browser.post(address, anna);
    await browser.post('/portal/leave', {});
    await press(browser, time('11:00', '11:30'));
    expect((await browser.post(address, eve)).status).toBe(403);
    expect((await browser.get('/portal/appointments')).status).toBe(403);
  });

  test('can be sent again where the answer was lost, in the browser that sent it', async () => {
    const browser = visitor();
    const address = await press(browser);
    lost = 3;
    expect((await browser.post(address, anna)).status).toBe(409);
    const again = await browser.post(address, anna);
    expect([again.status, again.location]).toEqual([303, expect.stringMatching(/appointments\/.*outcome=booked/)]);
  });
});

test('of two bookings at once in one browser neither takes the other out of sight, whichever answer comes last', async () => {
  for (const isReversed of [false, true]) {
    const browser = visitor();
    const forms = [await press(browser), await press(browser, time('10:00', '10:30'))];
    const sent = forms.map(async (form) => {
      const answer = await browser.post(form, anna);
      return { answer, cookie: browser.cookies.get('portal_session') ?? '' };
    });
    const answers = await Promise.all(sent);
    browser.cookies.set('portal_session', answers[isReversed ? 0 : 1]?.cookie ?? '');
    for (const { answer } of answers) {
      expect((await browser.get(`/portal/appointments/${idIn(answer)}`)).status).toBe(200);
    }
  }
});

test('nor does it when the browser sees as many as it may: the oldest go', () => {
  const [{ keep }, all] = [createSessions(), Array.from({ length: 12 }, (_, index) => `a${index}`)];
  const before = keep(withMore(noSession, { appointments: all }));
  for (const id of ['b', 'c', 'd']) {
    keep(withMore(before, { appointments: [id] }));
  }
  expect(keep(before).appointments.toSorted()).toEqual([...all.slice(3), 'b', 'c', 'd'].toSorted());
});

describe('a link', () => {
  test('shows the appointment that it names, not others of the patient', async () => {
    const browser = visitor();
    const first = await booked(browser, anna);
    const link = await linkOf(browser, first);
    const second = await booked(browser, { for: recordOf(first)?.split('/')[1] ?? '' }, time('10:00', '10:30'));
    expect(recordOf(second)).toBe(recordOf(first));
    const elsewhere = visitor();
    expect((await elsewhere.get(link)).location).toBe('/portal/appointments');
    expect((await elsewhere.get(`/portal/appointments/${first}`)).status).toBe(200);
    expect((await elsewhere.get(`/portal/appointments/${second}`)).status).toBe(404);
  });

  test('joins nothing where other appointments are shown, until the visitor has decided by both names', async () => {
    const [stranger, victim] = [visitor(), visitor()];
    const theirs = await booked(stranger, eve);
    const own = await booked(victim, anna, time('10:00', '10:30'));
    const sees = async () =>
      Promise.all([own, theirs].map(async (id) => (await victim.get(`/portal/appointments/${id}`)).status));
    const link = await linkOf(stranger, theirs);
    expect((await victim.get(link)).location).toBe('/portal/link');
    const { status, body } = await victim.get('/portal/link');
    expect([status, body.includes('Anna Berg'), body.includes('Eve Fremd'), body.includes('?t=')]).toEqual([
      200,
      true,
      true,
      false,
    ]);
    expect(await sees()).toEqual([200, 404]);
    await victim.post('/portal/link', { show: 'none' });
    expect([await sees(), (await victim.get('/portal/link')).status]).toEqual([[200, 404], 404]);
    await victim.get(link);
    await victim.post('/portal/link', { show: 'both' });
    expect(await sees()).toEqual([200, 200]);
    await victim.post('/portal/leave', {});
    await victim.get(await linkOf(stranger, theirs));
    expect(await sees()).toEqual([404, 200]);
    await victim.get(await linkOf(stranger, await booked(stranger, anna, time('12:00', '12:30'))));
    await victim.post('/portal/link', { show: 'only' });
    // A link leads to all that its browser showed when it was made.
    expect(await sees()).toEqual([404, 200]);
  });

  test('gives no record to book for: neither by name and date of birth, nor by its id', async () => {
    const [stranger, victim] = [visitor(), visitor()];
    const trap = await booked(stranger, anna);
    await victim.get(await linkOf(stranger, trap));
    const form = await victim.get(await press(victim, time('10:00', '10:30')));
    expect(form.body).not.toContain('anna@example.org');
    expect(form.body).not.toContain('class="patient"');
    const record = recordOf(trap);
    const mine = await booked(victim, anna, time('11:00', '11:30'));
    const forced = await booked(victim, { ...anna, for: record?.split('/')[1] ?? '' }, time('12:00', '12:30'));
    expect([mine, forced].map(recordOf)).not.toContain(record);
  });
});

describe('a session', () => {
  test('books for a patient of before only if that patient is chosen, and shows nothing but the name', async () => {
    const browser = visitor();
    const first = await booked(browser, anna);
    const address = await press(browser, time('10:00', '10:30'));
    const { body } = await browser.get(address);
    expect(body).toContain('Anna Berg');
    expect(body).not.toMatch(/anna@example.org|1980-05-17/);
    expect((await browser.get((await browser.post(address, {})).location)).status).toBe(422);
    const record = recordOf(first)?.split('/')[1] ?? '';
    const chosen = idIn(await browser.post(address, { for: record }));
    expect(recordOf(chosen)).toBe(recordOf(first));
    const same = await booked(browser, anna, time('11:00', '11:30'));
    expect(recordOf(same)).not.toBe(recordOf(first));
  });

  test('that has only typed can be ended, and what was typed is shown to no other session', async () => {
    const browser = visitor();
    const address = await press(browser);
    await browser.post(address, { ...anna, action: 'other' });
    const next = await press(browser, time('10:00', '10:30'));
    const { body } = await browser.get(next);
    expect([body.includes('anna@example.org'), body.includes('/portal/leave')]).toEqual([true, true]);
    const draft = browser.cookies.get('portal_draft') ?? '';
    await browser.post('/portal/leave', {});
    browser.cookies.set('portal_draft', draft);
    expect((await browser.get(await press(browser, time('11:00', '11:30')))).body).not.toContain('anna@example.org');
  });

  test('that has ended is forgotten by the browser, and its pages hear no more updates', async () => {
    const browser = visitor();
    const id = await booked(browser, anna);
    const { body } = await browser.get(`/portal/appointments/${id}`);
    const updates = /data-updates="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect((await browser.get(updates)).status).toBe(200);
    expect((await visitor().get(updates)).status).toBe(404);
    const headers = { 'sec-fetch-site': 'same-origin' };
    const left = await app.inject({ method: 'POST', url: '/portal/leave', headers });
    expect(left.headers['clear-site-data']).toBe('"cache"');
    expect(left.headers['cache-control']).toBe('no-store');
  });
});

describe('one visitor', () => {
  const starts = Array.from({ length: 16 }, (_, index) => {
    const at = (minutes: number) =>
      new Date(Date.parse(`${day}T08:00:00Z`) + minutes * 60_000).toISOString().slice(11, 16);
    return [at(index * 30), at(index * 30 + 30)] as const;
  });

  test('holds only so many times, with however many sessions, and can still book; others can hold', async () => {
    const address = '198.51.100.1';
    const seen: string[] = [];
    for (let index = 0; index < 40; index += 1) {
      seen.push(await press(visitor(address), time(...(starts[index % 16] ?? []))));
    }
    expect(seen.filter((location) => location.startsWith('/portal/details'))).toHaveLength(40);
    expect(asked.hold).toBe(12);
    expect((await press(visitor())).startsWith('/portal/details')).toBe(true);
    expect(asked.hold).toBe(13);
    now += 700_000;
    await press(visitor(address));
    expect(asked.hold).toBe(14);
  });

  test('books only so many in an hour and in a day, by whatever route', async () => {
    const address = '198.51.100.2';
    const tries = async (): Promise<number> => {
      const before = asked.book;
      for (const [from, to] of [...starts, ...starts].slice(0, 20)) {
        const browser = visitor(address);
        const answer = await browser.post(await press(browser, time(from, to)), anna);
        expect([303, 409]).toContain(answer.status);
        now += 5_000;
      }
      return asked.book - before;
    };
    expect(await tries()).toBe(12);
    now += 3_600_000;
    expect(await tries()).toBe(12);
    now += 3_600_000;
    expect(await tries()).toBe(12);
    now += 3_600_000;
    expect(await tries()).toBe(0);
    now += 86_400_000;
    expect(await tries()).toBe(12);
  });

  test.each([
    ['one address', 2 * 20, () => '198.51.100.4'],
    ['a whole network of IPv6', 8 * 20, (index: number) => `2001:db8:3:${(index % 60).toString(16)}::1`],
  ])('from %s asks the clinic only so much in a minute, on whichever pages; others can', async (_, most, addressOf) => {
    const before = asked.all;
    for (let index = 0; index < 4 * most; index += 1) {
      const { get } = visitor(addressOf(index));
      const paths = ['/few/slots/a', `/few/pictures/Practitioner/a?v=${index}`, `/few/message/a.${index}`];
      await get(paths[index % 3] ?? '');
    }
    // What all visitors share is read once more.
    expect(asked.all - before).toBeLessThanOrEqual(most + 4);
    const other = asked.all;
    await visitor().get('/few/slots/a');
    expect(asked.all).toBeGreaterThan(other);
  });

  test('has only so many requests answered at the same time; others need not wait', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    const asked = Array.from({ length: 13 }, () => visitor('198.51.100.3').get('/portal/times?service='));
    expect((await Promise.race(asked)).status).toBe(429);
    expect((await visitor().get('/portal/appointments')).status).toBe(403);
    resolve();
    const seen = await Promise.all(asked);
    expect(seen.map(({ status }) => status).toSorted()).toEqual([...Array(12).fill(200), 429]);
    expect((await visitor('198.51.100.3').get('/portal/times?service=')).status).toBe(200);
  });

  test('has one limit for all forms', async () => {
    const browser = visitor();
    const paths = ['/usual/hold', '/usual/details?b=x', '/usual/link', '/usual/language', '/usual/appointments/a/move'];
    const statuses: number[] = [];
    for (let index = 0; index < 65; index += 1) {
      statuses.push((await browser.post(paths[index % paths.length] ?? '', {})).status);
    }
    expect(statuses.indexOf(429)).toBe(60);
    expect((await browser.get('/usual/')).status).toBe(200);
  });
});

describe('a time is taken only as it is offered', () => {
  test.each([
    ['longer than an appointment', time('09:00', '13:00')],
    ['of four weeks', `Slot/a Schedule/s ${day}T09:00:00.000Z 2040-01-30T09:00:00.000Z`],
    ['shorter', time('09:00', '09:05')],
    ['beside the steps', time('09:07', '09:37')],
    ['outside of its Slot', time('16:00', '16:30')],
  ])('%s: neither held, nor booked, nor moved to', async (_, value) => {
    const browser = visitor();
    const { status, location } = await browser.post('/portal/hold', { service: '', time: value });
    expect([status, location, asked.hold]).toEqual([409, '', 0]);
    const address = await press(browser);
    expect((await browser.post(address, { ...anna, time: value })).status).toBe(409);
    expect(asked.book).toBe(0);
    const id = idIn(await browser.post(address, anna));
    const move = `/portal/appointments/${id}/move`;
    expect([(await browser.post(move, { time: value })).status, asked.book]).toEqual([409, 1]);
    expect((await browser.post(move, { time: time('10:00', '10:30') })).status).toBe(303);
  });
});
