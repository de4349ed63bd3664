import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Bundle, Schedule } from '@medplum/fhirtypes';
import { emptyClosedDays } from '../../../core/calendar/change/closed-days-list.ts';
import { aPatient, aSchedule, aSlot, minutes, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

let schedule: Schedule;

describe('totals', () => {
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
});

describe('handling', () => {
  let path: string;

  beforeAll(async () => {
    schedule = await aSchedule();
    await aSlot(schedule, 0, 30);
    path = `/Slot?schedule=Schedule/${schedule.id}&colour=blue&schedule.taste=sweet`;
  });

  const preferring = (handling: string) => ({ headers: { prefer: `handling=${handling}` } });

  it('strict: refused, every one named', async () => {
    const answer = await request('portal-a', 'GET', path, preferring('strict'));
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(['malformed-request http.colour', 'malformed-request http.schedule.taste']);
  });

  it('lenient: ignored, not in self, and named in an entry', async () => {
    const answer = await request('portal-a', 'GET', path, preferring('lenient'));
    expect(answer.status).toBe(200);
    const { total, entry = [], link } = resourceIn('Bundle', answer);
    expect([total, entry.map(({ search }) => search?.mode)]).toEqual([1, ['match', 'outcome']]);
    const self = link?.find(({ relation }) => relation === 'self')?.url ?? '';
    expect(self).toContain('schedule=');
    expect(self).not.toMatch(/colour|taste/);
    expect(entry[1]?.resource).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [
        { severity: 'warning', code: 'not-supported', expression: ['http.colour'] },
        { severity: 'warning', code: 'not-supported', expression: ['http.schedule.taste'] },
      ],
    });
  });

  it('lenient, where everything is known: no such entry', async () => {
    const answer = await request('portal-a', 'GET', `/Slot?schedule=Schedule/${schedule.id}`, preferring('lenient'));
    expect(resourceIn('Bundle', answer).entry?.map(({ search }) => search?.mode)).toEqual(['match']);
  });

  it('lenient in a search by POST', async () => {
    const headers = { ...preferring('lenient').headers, 'content-type': 'application/x-www-form-urlencoded' };
    const body = path.slice(path.indexOf('?') + 1);
    const answer = await request('portal-a', 'POST', '/Slot/_search', { body, headers });
    expect(resourceIn('Bundle', answer).entry?.map(({ search }) => search?.mode)).toEqual(['match', 'outcome']);
  });

  it.each(['status:below=free', 'start=tomorrow', '_count=many', '_sort=colour', '_include=Slot:colour'])(
    'lenient refuses what is known but wrong: %s',
    async (query) => {
      const answer = await request('portal-a', 'GET', `/Slot?${query}&colour=blue`, preferring('lenient'));
      expect(answer.status).toBe(400);
      expect(issuesOf(answer)).toHaveLength(1);
    },
  );

  it('without the header the installation decides', async () => {
    const answer = await request('portal-a', 'GET', path);
    expect(answer.status).toBe(config.handling === 'lenient' ? 200 : 400);
  });

  it('a condition of If-None-Exist is never ignored', async () => {
    const headers = { ...preferring('lenient').headers, 'if-none-exist': 'colour=blue' };
    const body = { resourceType: 'Patient', name: [{ family: 'Muster' }] };
    const answer = await request('portal-a', 'POST', '/Patient', { body, headers });
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(['malformed-request http.colour']);
  });
});

async function find(query: string): Promise<(string | undefined)[]> {
  const answer = await request('portal-a', 'GET', `/Schedule${query}`);
  expect(answer.status).toBe(200);
  return (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
}

const aPractitioner = async () =>
  succeeded(
    'Practitioner',
    await medplum('admin', 'POST', '/Practitioner', { body: { resourceType: 'Practitioner' } }),
  );

it('a Schedule that does not say whether it is active is open for booking; an inactive one is not', async () => {
  const practitioner = await aPractitioner();
  const actor = [{ reference: `Practitioner/${practitioner.id}` }];
  const unsaid = await aSchedule({ actor, active: undefined });
  await aSchedule({ actor, active: false });
  expect(await find(`?actor=Practitioner/${practitioner.id}`)).toEqual([unsaid.id]);
});

it('the list of closed days is not among the services, even if asked for', async () => {
  const name = `Service ${Date.now()}`;
  const list = { ...emptyClosedDays(config), name };
  const service = { resourceType: 'HealthcareService', active: false, name };
  const [stored, inactive] = [
    succeeded('HealthcareService', await medplum('admin', 'POST', '/HealthcareService', { body: list })),
    succeeded('HealthcareService', await medplum('admin', 'POST', '/HealthcareService', { body: service })),
  ];
  for (const query of [`name=${name}`, `_id=${stored.id},${inactive.id}`, `active=false&name=${name}`]) {
    const found = resourceIn('Bundle', await request('portal-a', 'GET', `/HealthcareService?${query}`));
    expect([found.total, found.entry?.map(({ resource }) => resource?.id)]).toEqual([1, [inactive.id]]);
  }
  await medplum('admin', 'DELETE', `/HealthcareService/${stored.id}`);
});

it('free slots of a schedule, from a moment on', async () => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  const later = await aSlot(schedule, 60, 90);
  const path = `/Slot?schedule=Schedule/${schedule.id}&status=free&start=ge${minutes(45)}`;
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  expect((resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id)).toEqual([later.id]);
});
