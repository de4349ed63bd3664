/**
 * Isolation of searches: no entry, total or order of a search depends on a resource that the caller may not read. The
 * same searches are asked twice, with other foreign data in the store; the answers must be the same.
 *
 * `ISOLATION_SEARCHES` sets how many are generated, `ISOLATION_SEED` from which seed.
 */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CapabilityStatement } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { scaled } from '../../lib/time-scale.ts';
import { aClient, type Client, removeClient, standIn, tokensOf } from '../clients.ts';
import { type Answer, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { type Role, takeRole } from '../installation.ts';
import { type Search, searches } from '../searches/generate.ts';
import { type TwoStores, twoStores } from '../searches/two-stores.ts';

const numRuns = Number(process.env.ISOLATION_SEARCHES ?? 600);
const seed = Number(process.env.ISOLATION_SEED ?? 11);

/** Who asks: portal A, and a consumer of its appointments, who takes portal B's place when that has made its data. */
type Asker = Role & ('portal-a' | 'portal-b');

type Question = Search & { readonly role: Asker };

let standIns: readonly Client[] = [];
let stores: TwoStores;
let types: readonly string[] = [];

beforeAll(async () => {
  const [portal, other] = await Promise.all([standIn('portal-a'), standIn('portal-b')]);
  stores = await twoStores();
  const valueReference = { reference: `ClientApplication/${portal.id}` };
  const consumer = await aClient('Appointment booking: consumer', { name: 'requestor', valueReference });
  takeRole('portal-b', tokensOf(consumer));
  standIns = [portal, other, consumer];
  const statement: CapabilityStatement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
  const resources = statement.rest?.[0]?.resource ?? [];
  types = resources.flatMap(({ type = '', interaction = [] }) =>
    interaction.some(({ code }) => code === 'search-type') ? [type] : [],
  );
});

afterAll(async () => {
  await Promise.all(standIns.map(removeClient));
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Whether a request was one too many, or met another one on its way, so that it is to be sent again. */
const isToBeRepeated = (response: Answer): boolean =>
  response.status === 429 ||
  (response.status === 409 && issuesOf(response).some((one) => one.startsWith('booking-conflict')));

/** Sends a request, and again after as long as the service says where it says so. */
async function patiently(send: () => Promise<Answer>): Promise<Answer> {
  const response = await send();
  if (!isToBeRepeated(response)) {
    return response;
  }
  await setTimeout(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  return patiently(send);
}

const ask = ({ role, type, query, method }: Question): Promise<Answer> =>
  patiently(() =>
    method === 'POST'
      ? request(role, 'POST', `/${type}/_search`, { body: query, headers: form })
      : request(role, 'GET', `/${type}?${query}`),
  );

/** All of an answer that may tell something: status, total, entries in their order, or what was wrong. */
function told(response: Answer): string {
  if (response.status !== 200) {
    return `${response.status} ${response.text.slice(0, 2_000)}`;
  }
  const { total, entry = [], link = [] } = resourceIn('Bundle', response);
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
  const headers = { 'if-none-exist': query };
  const response = await patiently(() => request('portal-a', 'POST', '/Patient', { body, headers }));
  if (response.status !== 201) {
    return `${response.status} ${response.status === 200 ? resourceIn('Patient', response).id : response.text}`;
  }
  await medplum('front-desk', 'DELETE', `/Patient/${resourceIn('Patient', response).id}`);
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
  { type: 'Encounter', query: 'part-of.type=secret-code' },
  { type: 'Encounter', query: 'date=2020-02-02&_total=accurate' },
  { type: 'Encounter', query: 'date-start=ge2020&_count=0' },
  { type: 'Encounter', query: 'date=ge2000&part-of.date-start=2020-02' },
  { type: 'Encounter', query: 'account:Account.status=active' },
  { type: 'Encounter', query: 'account:identifier=secret-code&_summary=count' },
  { type: 'Encounter', query: 'end-date=ge2020&_include=Encounter:part-of' },
  { type: 'Encounter', query: 'appointment:Appointment.patient.family=Geheim' },
  { type: 'Encounter', query: 'part-of:Encounter.status=in-progress' },
  { type: 'Appointment', query: '_has:Encounter:appointment:status=in-progress' },
  { type: 'Appointment', query: '_has:Encounter:appointment:type=secret-code' },
  { type: 'Appointment', query: 'actor:RelatedPerson.phone=%2B49301234567' },
  { type: 'RelatedPerson', query: 'patient.link:Patient.family=Geheim' },
];

const limit = scaled(60_000 + numRuns * 200);

async function whateverIsAsked(): Promise<void> {
  const staff = resourceIn('Bundle', await medplum('front-desk', 'GET', `/Patient?${stores.telling}`));
  expect(staff.entry).toHaveLength(1);

  const generated = fc.sample(searches(types, stores.wanted), { numRuns, seed });
  expect(generated).toHaveLength(numRuns);
  const asked = [...known.map((one): Search => ({ ...one, method: 'GET' })), ...generated];
  const questions = asked.flatMap((search): Question[] => [
    { ...search, role: 'portal-a' },
    ...(search.type === 'Appointment' ? [{ ...search, role: 'portal-b' as const }] : []),
  ]);
  const conditions = asked.flatMap(({ type, query }) => (type === 'Patient' ? [query] : [])).slice(0, 60);
  const before = await tellAll(questions, async (question) => told(await ask(question)));
  const createdBefore = await tellAll(conditions, createdUnless);
  await stores.exchange();
  const after = await tellAll(questions, async (question) => told(await ask(question)));
  const createdAfter = await tellAll(conditions, createdUnless);

  for (const [role, share] of [
    ['portal-a', 3],
    ['portal-b', 8],
  ] as const) {
    const own = before.filter((_, index) => questions[index]?.role === role);
    const answered = own.filter((answer) => answer.startsWith('200'));
    expect(answered.length).toBeGreaterThan(own.length / share);
    expect(answered.filter((answer) => answer.includes('match')).length).toBeGreaterThan(answered.length / 20);
  }
  const differences = questions.flatMap(({ role, type, query }, index) =>
    before[index] === after[index]
      ? []
      : [`${role} ${type}?${decodeURIComponent(query)}\n${before[index]}\n${after[index]}`],
  );
  expect(differences).toEqual([]);
  expect(createdAfter).toEqual(createdBefore);
}

it(
  `in ${numRuns} searches, no response to a portal or a consumer depends on what it may not read`,
  whateverIsAsked,
  limit,
);
