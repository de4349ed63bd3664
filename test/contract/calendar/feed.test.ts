import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Parameters, Practitioner, Schedule } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { aPatient, aSchedule, book, stored, succeeded } from '../fixtures.ts';
import { medplum, request } from '../http.ts';
import { base, config, type Role } from '../installation.ts';
import { aSlotIn, whole } from '../policy/fixtures.ts';
import { edit } from '../status/fixtures.ts';

/** What staff want of the link of a calendar. */
async function feed({ id }: Schedule, valueCode: 'look' | 'make' | 'end', names = false, role: Role = 'front-desk') {
  const body: Parameters = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'schedule', valueReference: { reference: `Schedule/${id}` } },
      { name: 'action', valueCode },
      { name: 'names', valueBoolean: names },
    ],
  };
  const { status, body: answer } = await request(role, 'POST', '/Schedule/$feed', { body });
  const { parameter = [] } = answer as Parameters;
  const part = (name: string) => parameter.find((one) => one.name === name);
  return { status, active: part('active')?.valueBoolean, link: part('link')?.valueString ?? '' };
}

/** The file of a link, as a program reads it; lines are unfolded. */
async function read(link: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(link, { headers });
  const text = (await response.text()).replace(/\r?\n[ \t]/g, '');
  return { status: response.status, etag: response.headers.get('etag') ?? '', text };
}

describe('the feed of a calendar', () => {
  let schedule: Schedule;
  let id: string;

  beforeAll(async () => {
    const body: Practitioner = { resourceType: 'Practitioner', name: [{ family: 'Kalender' }] };
    const own = succeeded('Practitioner', await medplum('front-desk', 'POST', '/Practitioner', { body }));
    schedule = await aSchedule({ actor: [{ reference: `Practitioner/${own.id}`, display: 'Dr. Kalender' }] });
    const [slot, patient] = [await aSlotIn(48, schedule), await aPatient()];
    const sent = whole(slot, patient, { comment: 'A secret' });
    const [participant] = sent.participant;
    const named = [
      { ...participant, status: 'accepted' as const, actor: { ...participant?.actor, display: 'Kim Muster' } },
    ];
    const booked = succeeded('Appointment', await book({ ...sent, participant: named }));
    id = booked.id ?? '';
  });

  it('shows when somebody is taken to whoever has its link, and names patients only if the clinic says so', async () => {
    expect(await feed(schedule, 'look')).toMatchObject({ status: 200, active: false, link: '' });
    const { link } = await feed(schedule, 'make');
    const first = await read(link);
    expect(first.text).toContain(`UID:${id}@`);
    expect(first.text.match(/BEGIN:VEVENT/g)).toHaveLength(1);
    expect(first.text).not.toMatch(/Muster|secret/i);
    expect(await read(link, { 'if-none-match': first.etag })).toMatchObject({ status: 304, text: '' });
    const { link: named } = await feed(schedule, 'make', true);
    expect((await read(named)).text).toMatch(/SUMMARY:.*Kim Muster/);
    const [start, end] = [72, 73].map((hours) => new Date(Math.ceil(Date.now() / 1_000) * 1_000 + hours * 3_600_000));
    expect((await edit(id, { start: `${start?.toISOString()}`, end: `${end?.toISOString()}` })).status).toBe(200);
    expect((await read(named)).text).toContain(`DTSTART:${start?.toISOString().replace(/[-:]|\.000/g, '')}`);
  });

  it('has one link, of which no secret is kept; a new one and its end close the one before', async () => {
    const { link: first } = await feed(schedule, 'make');
    const { link: second } = await feed(schedule, 'make');
    expect((await read(first)).status).toBe(404);
    expect((await read(second)).status).toBe(200);
    const [, secret = ''] = /\.([0-9a-f]{64})\.ics$/.exec(second) ?? [];
    const rows = await stored('Task', `code=${artefactUri(config, 'LocalTask')}|calendar-feed`);
    expect([secret.length, JSON.stringify(rows).includes(secret)]).toEqual([64, false]);
    expect(await feed(schedule, 'end')).toMatchObject({ active: false });
    const other = second.replace(/.\.ics$/, (end) => (end.startsWith('0') ? '1.ics' : '0.ics'));
    expect([(await read(other)).status, (await read(new URL('/portal/calendar/x.ics', base).href)).status]).toEqual([
      404, 404,
    ]);
  });

  it('is made by staff only', async () => {
    expect((await feed(schedule, 'make', false, 'portal-a')).status).toBe(404);
    expect((await feed(schedule, 'look', false, 'portal-a')).status).toBe(404);
  });
});
