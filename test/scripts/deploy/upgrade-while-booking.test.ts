import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { Appointment, Parameters, Patient, Slot, Task } from '@medplum/fhirtypes';
import { lookIn } from '../../../core/calendar/publish/publication.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { isUnclear, markedSlots } from '../../../core/slots/upgrade.ts';
import { type Deployment, deploy } from '../../../scripts/deploy.ts';
import { until } from '../../lib/until.ts';
import { config, present } from '../installation.ts';

/**
 * What an embedded Medplum kept of version 0.1.0: calendars published and made by hand, with buffers, with two places and
 * with confirmation by hand; bookings, requests, holds, parts of Slots, a cancellation. Published Slots that nobody touched
 * are left out, and so are the code of the Bots and the profiles: the deployment writes them.
 */
const RECORDED = 'test/scripts/deploy/version-before.jsonl.gz';
const RECORDED_AT = Date.parse('2026-11-25T06:41:01Z');

const administrator = {
  clientId: '907a222a-a8c1-43c9-aa27-c2f4664b02d8',
  clientSecret: '01b8dca115e0650dd7f3e58e84d312ae7d8d67f068da85dcd614ca043d595d6d',
};
const portalClient = {
  clientId: '24c56621-a795-480a-ad72-81d64cbef992',
  clientSecret: 'fdb9395998b593c49ff8bd97a0b15766b0b7b8d5f5e5eabdfcbf3436b2c06b53',
};

/** The Schedule whose service has two places; all others have one. */
const TWO_PLACES = 'Schedule/4358eaf0-ad3b-4d07-a2f0-85779afdc1fe';

const DAY = 86_400_000;
const shift = Math.floor((Date.now() - RECORDED_AT) / DAY) * DAY;

/** The recorded text with all its dates as many days later as have passed since. */
const shifted = (text: string): string =>
  text.replaceAll(/\b20\d\d-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{3})?Z)?/g, (found, time?: string) => {
    const moved = new Date(Date.parse(found) + shift).toISOString();
    return time ? moved : moved.slice(0, 10);
  });

let folder: string;
let sandbox: Sandbox;
let deployment: Deployment;
let portal: MedplumClient;
/** Ids of Appointments that were booked before the deployment, and of those that a portal booked meanwhile. */
let before: string[];
const meanwhile: string[] = [];

const medplum = (): MedplumClient => deployment.connection.medplum;

async function clientOf({ clientId, clientSecret }: typeof portalClient): Promise<MedplumClient> {
  const client = new MedplumClient({ baseUrl: sandbox.baseUrl });
  await client.startClientLogin(clientId, clientSecret);
  return client;
}

/** Books a Slot as it is, or answers with nothing if that is refused. */
async function book({ id, start, end }: Slot): Promise<Appointment | undefined> {
  const resource: Appointment = {
    resourceType: 'Appointment',
    meta: { profile: [artefactUri(config, 'LocalTermin')] },
    status: 'proposed',
    start,
    end,
    slot: [{ reference: `Slot/${id}` }],
    participant: [{ actor: { reference: 'Patient/sent' }, status: 'accepted' }],
  };
  const patient: Patient = { resourceType: 'Patient', id: 'sent', name: [{ family: 'Meanwhile' }] };
  const parameter = [
    { name: 'appt-resource', resource },
    { name: 'patient', resource: patient },
  ];
  const input: Parameters = { resourceType: 'Parameters', parameter };
  const bot = { system: artefactUri(config, 'LocalBot'), value: 'book' };
  const answer: unknown = await portal.executeBot(bot, input).catch(() => undefined);
  return isResource(answer, 'Appointment') ? answer : undefined;
}

const freeSlots = (client: MedplumClient): Promise<Slot[]> =>
  client.searchResources(
    'Slot',
    {
      status: 'free',
      start: `gt${new Date(RECORDED_AT + shift + 8 * DAY).toISOString()}`,
      _count: '1000',
      _sort: 'start',
    },
    { cache: 'reload' },
  );

/** Four portals at once book a Slot, the same Slot, and two others of its Schedule, again and again. */
async function bookMeanwhile(client: MedplumClient, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    const slots = await freeSlots(client);
    const chosen = slots[(turn * 37) % slots.length];
    const near = slots.filter((one) => one.schedule.reference === chosen?.schedule.reference && one !== chosen);
    const rivals = chosen ? [chosen, chosen, ...near.slice(0, 2)] : [];
    const booked = await Promise.all(rivals.map(book));
    meanwhile.push(...booked.flatMap((one) => one?.id ?? []));
  }
}

const openAppointments = (): Promise<Appointment[]> =>
  medplum().searchResources('Appointment', 'status=booked,pending&_count=1000', { cache: 'reload' });

const slotOf = async ({ slot = [] }: Appointment): Promise<Slot> =>
  medplum().readReference<Slot>(present(slot[0]), { cache: 'reload' });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
  writeFileSync(join(folder, 'journal.jsonl'), shifted(gunzipSync(readFileSync(RECORDED)).toString()));
  sandbox = await startSandbox({ dataFolder: folder, delayScale: 0.02 });
  const client = await clientOf(administrator);
  portal = await clientOf(portalClient);
  const booked = await client.searchResources('Appointment', 'status=booked,pending&_count=1000');
  before = booked.map(({ id }) => id);
  const since = Date.now();
  let isOver = false;
  const booking = bookMeanwhile(client, () => isOver);
  try {
    deployment = await deploy({ ...administrator, baseUrl: sandbox.baseUrl, config, log: () => undefined });
    await until(() => meanwhile.length > 3);
  } finally {
    isOver = true;
    await booking;
  }
  const rows = async (query: string): Promise<Task[]> =>
    client.searchResources('Task', query.replace('Task?', ''), { cache: 'reload' });
  await until(async () => {
    const [look] = (await rows(rowSearch(['publish-all'], {}, config))).flatMap((row) => lookIn(row) ?? []);
    const left = await rows(rowSearch(['publish'], { 'status:not': 'completed' }, config));
    return look?.status === 'completed' && look.began >= since && left.length === 0;
  });
}, 120_000);

afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

test('every Slot that is taken, or a part of another, says what it is', async () => {
  const now = Date.now();
  const slots = await medplum().searchResources('Slot', '_count=1000', { cache: 'reload' });
  const left = slots.filter(({ end }) => Date.parse(end) > now);
  expect(left.filter((slot) => isUnclear(slot, config))).toEqual([]);
  expect(markedSlots(left, new Set(), now, config)).toEqual([]);
});

test('nothing is lost: what was booked before and meanwhile stands', async () => {
  const open = new Set((await openAppointments()).map(({ id }) => id));
  expect(before).toHaveLength(13);
  expect([...before, ...meanwhile].filter((id) => !open.has(id))).toEqual([]);
});

test('nothing is sold twice', async () => {
  const taken = await Promise.all(
    (await openAppointments()).map(async (one) => ({ ...one, at: (await slotOf(one)).schedule.reference })),
  );
  const together = taken.map((one) => ({
    ...one,
    beside: taken.filter(
      ({ at, start = '', end = '' }) => at === one.at && start < (one.end ?? '') && (one.start ?? '') < end,
    ).length,
  }));
  expect(together.filter(({ at, beside }) => beside > (at === TWO_PLACES ? 2 : 1))).toEqual([]);
  const slots = taken.flatMap(({ slot = [] }) => slot.map(({ reference }) => reference));
  expect(new Set(slots).size).toBe(slots.length);
});

test('a portal that sends a booking from before again changes what is its own, and not what the clinic has set', async () => {
  const [one] = (await openAppointments()).filter(({ id, status }) => before.includes(id ?? '') && status === 'booked');
  const edited = { ...present(one), comment: 'Of the clinic' };
  const { id, start, end, slot, participant } = await medplum().updateResource<Appointment>(edited);
  expect(edited.meta).not.toHaveProperty('extension');
  const sent = { resourceType: 'Appointment', id, status: 'proposed', start, end, slot, participant };
  const bot = { system: artefactUri(config, 'LocalBot'), value: 'book' };
  const moved: unknown = await portal.executeBot(bot, {
    ...sent,
    comment: 'Of the portal',
    description: 'Of the portal',
  });
  expect(moved).toMatchObject({ id, comment: 'Of the clinic', description: 'Of the portal' });
  expect(moved).toHaveProperty('meta.extension');
});

test('what is taken is refused', async () => {
  const open = await openAppointments();
  const again = await Promise.all(open.filter(({ status }) => status === 'booked').map(slotOf));
  expect(again.length).toBeGreaterThan(before.length - 3);
  expect(await Promise.all(again.map(book))).toEqual(again.map(() => undefined));
});

test('a cancellation gives the time back', async () => {
  const open = (await openAppointments()).filter(({ status }) => status === 'booked');
  const wanted = await Promise.all(open.map(async (one) => ({ one, at: (await slotOf(one)).schedule.reference })));
  for (const one of open) {
    await medplum().updateResource<Appointment>({ ...one, status: 'cancelled' });
  }
  const isFree = (free: readonly Slot[], at: string | undefined, start: string, end: string): boolean => {
    const next = free.find((slot) => slot.schedule.reference === at && slot.start <= start && slot.end > start);
    return next !== undefined && (next.end >= end || isFree(free, at, next.end, end));
  };
  await until(
    async () => {
      const free = await freeSlots(medplum());
      return wanted.filter(({ one, at }) => !isFree(free, at, one.start ?? '', one.end ?? '')).map(({ one }) => one);
    },
    (left) => left.length === 0,
  );
});
