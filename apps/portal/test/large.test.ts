/** A clinic with ten thousand doctors, whose names are written in every script; its record lacks what can be lacking. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { assetsOf } from '../../../packages/web/assets.ts';
import { buildWeb } from '../../../scripts/build/web.ts';
import { languages, textsOf } from '../texts/texts.ts';
import { aBrowser, bundle, withPortal } from './installed.ts';

const now = Date.parse('2040-01-02T07:00:00Z');
const names = [
  'Jörg Müller',
  'Łukasz Żak',
  'د. ليلى حداد',
  'Олена Шевченко',
  '李小龍',
  '<b>Dr.</b> & "Co"',
  '👩‍⚕️ Ümit',
  '',
];
const COUNT = 10_000;
const schedules = Array.from({ length: COUNT }, (_, index) => ({
  resourceType: 'Schedule',
  id: `s${index}`,
  actor: [
    {
      reference: `Practitioner/p${index}`,
      display: names[index % names.length] && `${names[index % names.length]} ${index}`,
    },
  ],
}));

const slotOf = (id: string, schedule: string, start: number, end: number) => ({
  resourceType: 'Slot',
  id,
  status: 'free',
  schedule: { reference: `Schedule/${schedule}` },
  start: new Date(start).toISOString(),
  end: new Date(end).toISOString(),
});

const asked: { schedules: number; doctors: number } = { schedules: 0, doctors: 0 };

const { app, baseUrl } = await withPortal({ now: () => now }, (clinic) => {
  clinic.get<{ Querystring: { _count: string; _offset?: string } }>('/fhir/R4/Schedule', async ({ query }) => {
    const [start, count] = [Number(query._offset ?? 0), Number(query._count)];
    const link = [{ relation: 'next', url: `${baseUrl}/Schedule?_count=${count}&_offset=${start + count}` }];
    return { ...bundle(...schedules.slice(start, start + count)), ...(start + count < COUNT && { link }) };
  });
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      { resourceType: 'HealthcareService', id: 'h', providedBy: { reference: 'Organization/o' } },
      {
        resourceType: 'Organization',
        id: 'o',
        name: 'عيادة البحيرة',
        address: null,
        extension: [{ url: 'urn:clinic', extension: [] }],
      },
    ),
  );
  clinic.get<{ Querystring: { schedule: string } }>('/fhir/R4/Slot', async ({ query }) => {
    asked.schedules = query.schedule.split(',').length;
    const start = Date.parse('2040-01-03T09:00:00Z');
    const ids = query.schedule.split(',').map((reference) => reference.slice(9));
    return bundle(...ids.map((id) => slotOf(id, id, start, start + 1_800_000)));
  });
  clinic.get<{ Querystring: { _id: string } }>('/fhir/R4/Practitioner', async ({ query }) => {
    asked.doctors = query._id.split(',').length;
    return bundle();
  });
});

test('the pages stay small, and say that there is more', async () => {
  const browser = aBrowser(app, '192.0.2.1');
  const first = await browser.send('/portal/');
  expect([first.statusCode, first.body.length < 10_000]).toEqual([200, true]);
  const { statusCode, body } = await browser.send('/portal/times?service=');
  expect(statusCode).toBe(200);
  expect(body.length).toBeLessThan(150_000);
  expect(body).toContain('There are more free times than can be shown here.');
  expect(asked).toEqual({ schedules: 200, doctors: 12 });
  expect(body).not.toContain('<b>Dr.');
  expect(body).toContain('&lt;b&gt;Dr.&lt;/b&gt; &amp; &quot;Co&quot; 5');
});

test.each([
  ['muller 0', 'Jörg Müller 0'],
  ['حداد 9994', 'د. ليلى حداد 9994'],
  ['ШЕВЧЕНКО 9995', 'Олена Шевченко 9995'],
  ['小龍 9996', '李小龍 9996'],
  ['zak 9993', 'Łukasz Żak 9993'],
])('anybody is found by name: %s', async (who, name) => {
  const { body } = await aBrowser(app, '192.0.2.1').send(`/portal/times?service=&who=${encodeURIComponent(who)}`);
  const found = [...body.matchAll(/<strong dir="auto">([^<]+)<\/strong>\n/g)].map(([, one]) => one);
  expect(found).toContain(name);
});

test('whoever was chosen is shown, with all of their times', async () => {
  const { body } = await aBrowser(app, '192.0.2.1').send('/portal/times?service=&schedule=Schedule%2Fs9996');
  expect(asked.schedules).toBe(1);
  expect(body).toContain('aria-current="true"');
  expect(body).toContain('李小龍 9996');
});

test('many times of many doctors cost at most 10 kB with script and style, in every language', async () => {
  const output = mkdtempSync(join(tmpdir(), 'web-'));
  await buildWeb(output);
  const [doctors, times, minutes] = [150, 24, 20];
  const begin = Date.parse('2040-01-03T07:00:00Z');
  const ids = Array.from({ length: doctors }, () => ({ person: randomUUID(), schedule: randomUUID() }));
  const coding = { system: 'https://clinic.example/fhir/CodeSystem/services', code: 'consultation', display: 'Visit' };
  let isNamed = true;
  const communication = [{ coding: [{ code: 'de' }] }, { coding: [{ code: 'en' }] }];
  const assets = assetsOf(output, 'portal');
  const portals = ['/portal', '/rooms'].map((path) => ({ path, assets, now: () => now }));
  const { app: own } = await withPortal(portals, (hospital) => {
    hospital.get('/fhir/R4/Practitioner', async () =>
      bundle(...ids.map(({ person }) => ({ resourceType: 'Practitioner', id: person, communication }))),
    );
    hospital.get('/fhir/R4/Schedule', async () =>
      bundle(
        ...ids.map(({ person, schedule }, index) => ({
          resourceType: 'Schedule',
          id: schedule,
          serviceType: [{ coding: [coding] }],
          actor: [
            {
              reference: `Practitioner/${person}`,
              ...(isNamed && { display: `Dr. ${person.slice(0, 6)} Müller ${index}` }),
            },
          ],
        })),
      ),
    );
    hospital.get('/fhir/R4/Slot', async () =>
      bundle(
        ...Array.from({ length: times }, (_, index) => begin + index * minutes * 60_000).flatMap((start) =>
          ids.map(({ schedule }) => slotOf(randomUUID(), schedule, start, start + minutes * 60_000)),
        ),
      ),
    );
  });
  const { send, cookies } = aBrowser(own, '192.0.2.4');
  const get = async (url: string) => (await send(url, undefined, { 'accept-encoding': 'gzip, br' })).rawPayload;
  const { script, style } = assets.page();
  const files = await Promise.all([script, style].map((name) => get(`/portal/assets/${name}`)));
  const shared = files.reduce((sum, { length }) => sum + length, 0);
  expect(shared).toBeGreaterThan(3_000);
  const query = new URLSearchParams({ service: `${coding.system}|${coding.code}` });
  for (const language of languages) {
    cookies.set('portal_language', language);
    for (const more of ['', '&view=month', '&who=a', '&day=2040-01-03', `&schedule=Schedule%2F${ids[7]?.schedule}`]) {
      const page = await get(`/portal/times?${query}${more}`);
      expect([language, more, Math.max(10_240, page.length + shared)]).toEqual([language, more, 10_240]);
      const text = brotliDecompressSync(page).toString();
      expect(text).toContain(`lang="${textsOf[language].locale.slice(0, 2)}`);
      // Each moment once; whoever was chosen is shown with all times.
      expect(text.match(/class="time"/g)).toHaveLength(times);
      expect(text.includes(textsOf[language].times.incomplete)).toBe(!more.includes('schedule'));
    }
  }
  // Rooms are nobody: nothing is missing if each moment is named once.
  isNamed = false;
  cookies.set('portal_language', 'en');
  const rooms = brotliDecompressSync(await get(`/rooms/times?${query}`)).toString();
  expect(rooms.match(/class="time"/g)).toHaveLength(times);
  expect(rooms).not.toContain(textsOf.en.times.incomplete);
  rmSync(output, { recursive: true });
});

test('where each moment is named once, the next page says with whom it is, and whether they confirm; so do other times', async () => {
  const begin = Date.parse('2040-01-03T07:00:00Z');
  const people = ['Dr. Ada', 'Dr. Bea'].map((display, index) => ({
    resourceType: 'Schedule',
    id: `c${index}`,
    actor: [{ reference: `Practitioner/${index}`, display }],
    extension: index === 1 ? [{ url: 'urn:confirmation', valueCode: 'manual' }] : [],
  }));
  const slots = people.flatMap(({ id }) =>
    Array.from({ length: 21 }, (_, index) =>
      slotOf(`${id}-${index}`, id, begin + index * 1_200_000, begin + (index + 1) * 1_200_000),
    ),
  );
  const held = {
    resourceType: 'Appointment',
    id: 'held',
    status: 'proposed',
    extension: [{ url: 'urn:held', valueInstant: new Date(now + 600_000).toISOString() }],
  };
  const other = [
    { url: 'slot', valueReference: { reference: 'Slot/c1-3' } },
    { url: 'start', valueInstant: slots[3]?.start },
    { url: 'end', valueInstant: slots[3]?.end },
  ];
  const gone = {
    details: { coding: [{ code: 'slot-not-free' }] },
    extension: [{ url: 'urn:alternative', extension: other }],
  };
  let isGone = false;
  const { app: own } = await withPortal({ now: () => now }, (hospital) => {
    hospital.get('/fhir/R4/Schedule', async () => bundle(...people));
    hospital.get('/fhir/R4/Slot', async () => bundle(...slots.toSorted((a, b) => a.start.localeCompare(b.start))));
    hospital.get<{ Params: { id: string } }>('/fhir/R4/Slot/:id', async ({ params }) =>
      slots.find(({ id }) => id === params.id),
    );
    hospital.get('/fhir/R4/Appointment/held', async () => held);
    hospital.post('/fhir/R4/Appointment/$hold', async (_, reply) =>
      isGone ? reply.code(409).send({ resourceType: 'OperationOutcome', issue: [gone] }) : reply.code(201).send(held),
    );
  });
  const { send } = aBrowser(own, '192.0.2.5');
  const { body } = await send('/portal/times?service=');
  const [, time = ''] = /value="([^"]+)" class="time">[^<]+<br><small dir="auto">Dr. Bea</.exec(body) ?? [];
  const { headers } = await send('/portal/hold', { service: '', time });
  const details = (await send(String(headers.location))).body;
  expect([details.includes('<br>Dr. Bea</p>'), details.includes('Send the request')]).toEqual([true, true]);
  isGone = true;
  expect((await send('/portal/hold', { service: '', time })).body).toContain(
    '09:00, Tuesday, 3 January 2040 · Dr. Bea',
  );
});

test('of two hundred services some are listed, and all are found by name or person', async () => {
  const doctors = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'Schedule',
    id: `s${index}`,
    serviceType: [{ coding: [{ system: 'urn:s', code: `${index}`, display: `Sprechstunde ${index}` }] }],
    actor: [{ display: `Dr. Müller ${index}` }],
  }));
  const { app: own } = await withPortal({}, (hospital) => {
    hospital.get('/fhir/R4/Schedule', async () => bundle(...doctors));
  });
  const { send } = aBrowser(own, '192.0.2.3');
  const cards = async (query: string) => {
    const { body } = await send(`/portal/${query}`);
    return { body, found: [...body.matchAll(/class="name">([^<]+)</g)].map(([, name]) => name) };
  };
  const all = await cards('');
  expect(all.found.length).toBe(40);
  expect(all.body).toContain('and 160 others');
  expect((await cards('?find=muller+157')).found).toEqual(['Sprechstunde 157']);
  expect((await cards('?find=nothing')).found).toEqual([]);
});
