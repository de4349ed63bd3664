/** `Prefer: handling`: an unknown search parameter is refused, or ignored and named; never ignored in silence. */
import { beforeAll, expect, it } from '@jest/globals';
import type { Schedule } from '@medplum/fhirtypes';
import { aSchedule, aSlot } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

let schedule: Schedule;
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
