/** Patients are found by their names as people write them, with whatever characters. */
import { expect, it } from '@jest/globals';
import type { HumanName } from '@medplum/fhirtypes';
import { aPatient } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';

/** Whether the search finds, of a patient of this name and another one, just the former. */
async function finds(name: HumanName, query: string): Promise<boolean> {
  const [wanted, other] = [await aPatient('portal-a', { name: [name] }), await aPatient()];
  const path = `/Patient?_id=${wanted.id},${other.id}&${query}`;
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  const ids = (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
  expect([[], [wanted.id]]).toContainEqual(ids);
  return ids.length === 1;
}

/** From the public test suite of ISiK: the names of a patient, and how they are searched for. */
const german: HumanName = { family: 'Gräfin Müßtermánn', given: ['An&na,Vic$tor|a', 'Ğabriele'] };

it.each<[string, HumanName]>([
  ['family:contains=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', german],
  ['given:contains=An%26na%5C%2CVic%24tor%7Ca', german],
  ['given=An%26na%5C%2CVic%24tor%7Ca', german],
  ['given=An%26na%5C%2CVic%5C%24tor%5C%7Ca', german],
  ['given=an%26NA', german],
  ['family=gr%C3%84fin+m%C3%BC%C3%9F', german],
  ['family:exact=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', german],
  ['name=%C4%9Eabriele', german],
  ['family=Gra%CC%88fin', german],
  ['family:contains=Mu%CC%88%C3%9Fterma%CC%81nn', german],
  ['family:exact=Gra%CC%88fin%20Mu%CC%88%C3%9Fterma%CC%81nn', german],
  ["family=O'Hara", { family: "O'Hara" }],
  ['family=O%E2%80%99Hara', { family: "O'Hara" }],
  ['family=Hara', { family: "O'Hara" }],
  ['family=Meier-Schm', { family: 'Meier-Schmidt' }],
  ['family=St.Clair', { family: 'St.Clair' }],
  ['given=Anna/Mar', { family: 'Kim', given: ['Anna/Maria'] }],
  ['family=100%25_', { family: '100%_Ok' }],
  ['family=back%5C%5Cslash', { family: 'back\\slash' }],
  ['family=%F0%9F%98%80', { family: '😀 Smile' }],
  ['family=%F0%9F%98%80,Xu', { family: 'Xu' }],
  ['family=Mu%CC%88:', { family: 'Mu\u0308:ller' }],
  ['family:contains=M%C3%BCll', { family: 'Mu\u0308ller' }],
  ['family=%E6%9D%8E', { family: '李', given: ['明'] }],
  ['name=%D0%94%D0%BC%D0%B8', { family: 'Дмитриев' }],
  ['family=%E0%A4%95%E0%A5%81%E0%A4%AE', { family: 'कुमार' }],
])('by %s', async (query, name) => {
  expect(await finds(name, query)).toBe(true);
});

it.each([
  'family=%F0%9F%98%80',
  'family=!',
  "given='",
  'name=-',
  'family:contains=%25',
  'family=_',
  'family:exact=Meier*',
])('nobody is found by what no name has: %s', async (query) => {
  expect(await finds({ family: 'Meier', given: ['Kim'] }, query)).toBe(false);
});

it.each(['family=%2C', 'family=%5C', 'given:contains=%2C,', 'family=M%FCller'])('%s is refused', async (query) => {
  const answer = await request('portal-a', 'GET', `/Patient?${query}`);
  expect([answer.status, issuesOf(answer)[0]]).toEqual([400, expect.stringMatching(/^malformed-request http\./)]);
});

it('If-None-Exist with a name without letters finds nobody, and creates', async () => {
  await aPatient();
  const headers = { 'if-none-exist': 'family=%F0%9F%98%B6%E2%80%8D%F0%9F%8C%AB' };
  const body = { resourceType: 'Patient', name: [{ family: 'Nebel' }] };
  expect((await request('portal-a', 'POST', '/Patient', { body, headers })).status).toBe(201);
});
