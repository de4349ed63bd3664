/** Every search says how many it finds, unless it is asked not to. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Bundle, Schedule } from '@medplum/fhirtypes';
import { aPatient, aSchedule, aSlot } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

let schedule: Schedule;

beforeAll(async () => {
  schedule = await aSchedule();
  for (let index = 0; index < 3; index++) {
    await aSlot(schedule, index * 30, index * 30 + 30);
  }
});

async function search(query: string): Promise<Bundle> {
  const answer = await request('portal-a', 'GET', `/Slot?schedule=Schedule/${schedule.id}${query}`);
  expect(answer.status).toBe(200);
  return resourceIn('Bundle', answer);
}

const found = ({ total, entry }: Bundle) => [total, entry?.length ?? 0];

it.each<[string, number]>([
  ['', 3],
  ['&_count', 3],
  ['&_count=2', 2],
  ['&_total=accurate', 3],
  ['&status=free', 3],
])('a search%s counts all that it finds', async (query, entries) => {
  expect(found(await search(query))).toEqual([3, entries]);
});

it.each(['&_count=0', '&_summary=count', '&_count=0&_total=none', '&_summary=count&_total=none'])(
  'a search%s gives the count alone',
  async (query) => {
    expect(found(await search(query))).toEqual([3, 0]);
  },
);

it('the last page has the same total as the first', async () => {
  const first = await search('&_count=2');
  const next = first.link?.find(({ relation }) => relation === 'next')?.url ?? '';
  const answer = await request('portal-a', 'GET', next.slice(base.length));
  expect(found(resourceIn('Bundle', answer))).toEqual([3, 1]);
});

it('_total=none counts nothing', async () => {
  expect(found(await search('&_total=none'))).toEqual([undefined, 3]);
});

describe('Slots of every Schedule, here those of one service', () => {
  let code: string;

  beforeAll(async () => {
    code = randomUUID();
    const body = {
      resourceType: 'HealthcareService',
      name: 'Totals',
      type: [{ coding: [{ system: 'urn:services', code }] }],
    };
    const made = resourceIn('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
    const own = await aSchedule({ actor: [{ reference: `HealthcareService/${made.id}` }] });
    for (let index = 0; index < 3; index++) {
      await aSlot(own, index * 30, index * 30 + 30);
    }
  });

  it.each<[string, number | undefined, number]>([
    ['', 3, 3],
    ['&status=free&_count=2', 3, 2],
    ['&_count=2&_offset=2', 3, 1],
    ['&_count=1&_include=Slot:schedule', 3, 2],
    ['&_count', 3, 3],
    ['&_count=0', 3, 0],
    ['&_summary=count', 3, 0],
    ['&_count=1&_total=accurate', 3, 1],
    ['&_count=1&_total=none', undefined, 1],
    ['&start=lt1990-01-01', 0, 0],
  ])('%s', async (query, total, entries) => {
    const path = `/Slot?schedule.actor:HealthcareService.type=urn:services%7C${code}${query}`;
    const answer = await request('portal-a', 'GET', path);
    expect(answer.status).toBe(200);
    expect(found(resourceIn('Bundle', answer))).toEqual([total, entries]);
  });
});

it('a search without results says so', async () => {
  expect(found(await search('&status=busy'))).toEqual([0, 0]);
});

it('what the caller may not read is not counted', async () => {
  const patient = await aPatient('portal-b');
  const answer = await request('portal-a', 'GET', `/Patient?_id=${patient.id}`);
  expect(found(resourceIn('Bundle', answer))).toEqual([0, 0]);
});
