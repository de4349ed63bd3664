/**
 * Isolation of searches: no entry, total or order of a search depends on a resource that the caller may not read. The same
 * searches are asked twice, with other foreign data in the store; the answers must be the same.
 *
 * `ISOLATION_SEARCHES` sets how many are generated, `ISOLATION_SEED` from which seed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CapabilityStatement } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { type Client, removeClient, standIn } from '../clients.ts';
import { type Answer, medplum, request, resourceIn } from '../http.ts';
import { type Search, searches } from '../searches/generate.ts';
import { type TwoStores, twoStores } from '../searches/two-stores.ts';

const numRuns = Number(process.env.ISOLATION_SEARCHES ?? 600);
const seed = Number(process.env.ISOLATION_SEED ?? 11);

let standIns: readonly Client[] = [];
let stores: TwoStores;
let types: readonly string[] = [];

beforeAll(async () => {
  standIns = await Promise.all([standIn('portal-a'), standIn('portal-b')]);
  stores = await twoStores();
  const statement: CapabilityStatement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
  types = statement.rest?.[0]?.resource?.map(({ type }) => type ?? '') ?? [];
});

afterAll(async () => {
  await Promise.all(standIns.map(removeClient));
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

const ask = ({ type, query, method }: Search): Promise<Answer> =>
  method === 'POST'
    ? request('portal-a', 'POST', `/${type}/_search`, { body: query, headers: form })
    : request('portal-a', 'GET', `/${type}?${query}`);

/** All of an answer that may tell something: status, total, entries in their order, or what was wrong. */
function told(answer: Answer): string {
  if (answer.status !== 200) {
    return `${answer.status} ${answer.text.slice(0, 2_000)}`;
  }
  const { total, entry = [], link = [] } = resourceIn('Bundle', answer);
  const entries = entry.map(({ resource, search }) => `${search?.mode} ${resource?.resourceType}/${resource?.id}`);
  return [`200, total ${total}, links ${link.map(({ relation }) => relation).join()}`, ...entries].join('\n');
}

/** Asks everything, a few searches at a time. */
async function tellAll<T>(questions: readonly T[], tell: (question: T) => Promise<string>): Promise<string[]> {
  const answers: string[] = [];
  for (let start = 0; start < questions.length; start += 4) {
    answers.push(...(await Promise.all(questions.slice(start, start + 4).map(tell))));
  }
  return answers;
}

/** `POST /Patient` if none matches; what was made is taken away again. */
async function createdUnless(query: string): Promise<string> {
  const body = { resourceType: 'Patient' };
  const answer = await request('portal-a', 'POST', '/Patient', { body, headers: { 'if-none-exist': query } });
  if (answer.status !== 201) {
    return `${answer.status} ${answer.status === 200 ? resourceIn('Patient', answer).id : answer.text}`;
  }
  await medplum('front-desk', 'DELETE', `/Patient/${resourceIn('Patient', answer).id}`);
  return '201';
}

/** Attacks that have worked once, among them those that name no id. */
const known: readonly Pick<Search, 'type' | 'query'>[] = [
  { type: 'Patient', query: 'link:Patient.family=g' },
  { type: 'Patient', query: 'link:Patient.birthdate=lt1962-01-01&_total=accurate' },
  { type: 'Patient', query: 'link.gender:not=female&_summary=count' },
  { type: 'Appointment', query: 'supporting-info:QuestionnaireResponse.patient.phone=%2B49301234567' },
  { type: 'Appointment', query: 'supporting-info:QuestionnaireResponse.status=in-progress' },
  { type: 'Appointment', query: 'supporting-info:Appointment.part-status=tentative' },
  { type: 'Appointment', query: 'patient.link:Patient.family=Geheim' },
  { type: 'QuestionnaireResponse', query: 'source:Patient.family=Geheim' },
  { type: 'QuestionnaireResponse', query: 'author:Patient.address-city=Verborgen' },
  { type: 'Slot', query: '_has:Appointment:slot:description=Geheim' },
  { type: 'Patient', query: '_has:RelatedPerson:patient:name=Geheim' },
  { type: 'Patient', query: '_filter=link.family eq "Geheim"' },
  { type: 'Patient', query: 'family=Muster&_sort=link.family' },
];

describe('what a portal is told depends on nothing that it may not read', () => {
  it('whatever it searches for, and by whatever condition it creates', async () => {
    const staff = resourceIn('Bundle', await medplum('front-desk', 'GET', `/Patient?${stores.telling}`));
    expect(staff.entry).toHaveLength(1);

    const generated = fc.sample(searches(types, stores.wanted), { numRuns, seed });
    const questions = [...known.map((one): Search => ({ ...one, method: 'GET' })), ...generated];
    const conditions = questions.flatMap(({ type, query }) => (type === 'Patient' ? [query] : [])).slice(0, 60);
    const before = await tellAll(questions, async (search) => told(await ask(search)));
    const createdBefore = await tellAll(conditions, createdUnless);
    await stores.exchange();
    const after = await tellAll(questions, async (search) => told(await ask(search)));
    const createdAfter = await tellAll(conditions, createdUnless);

    const answered = before.filter((answer) => answer.startsWith('200'));
    expect(answered.length).toBeGreaterThan(questions.length / 3);
    expect(answered.filter((answer) => answer.includes('match')).length).toBeGreaterThan(questions.length / 25);
    const differences = questions.flatMap(({ type, query }, index) =>
      before[index] === after[index] ? [] : [`${type}?${decodeURIComponent(query)}\n${before[index]}\n${after[index]}`],
    );
    expect(differences).toEqual([]);
    expect(createdAfter).toEqual(createdBefore);
  }, 120_000);
});
