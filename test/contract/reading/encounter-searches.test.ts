import { beforeAll, expect, it } from '@jest/globals';
import type { Appointment, Encounter, Patient } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aClinic, aPatient, book, proposed, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';

const ended = { start: '2026-01-06T10:00:00+01:00', end: '2026-01-08T18:00:00+01:00' };
const accounts = 'https://example.org/accounts';

let patient: Patient;
let appointment: Appointment;
/** What portal A sees: a planned stay, one that goes on, and one that is over. */
let planned: string;
let ongoing: string;
let over: string;

const to = ({ resourceType, id }: Appointment | Patient) => ({ reference: `${resourceType}/${id}` });

async function anEncounter(more: Partial<Encounter>, subject = patient): Promise<string> {
  const body: Encounter = {
    resourceType: 'Encounter',
    status: 'planned',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IMP' },
    subject: to(subject),
    appointment: [to(appointment)],
    ...more,
  };
  const { id = '' } = succeeded('Encounter', await medplum('front-desk', 'POST', '/Encounter', { body }));
  return id;
}

const accountOf = (value: string) => [
  { reference: `Account/${value}`, identifier: { system: accounts, value: `${value}-${patient.id}` } },
];

beforeAll(async () => {
  const { slot, patient: own } = await aClinic();
  patient = own;
  appointment = succeeded('Appointment', await book(proposed(patient, [slot])));
  planned = await anEncounter({});
  ongoing = await anEncounter({ status: 'in-progress', period: { start: ended.start }, account: accountOf('one') });
  over = await anEncounter({ status: 'finished', period: ended, account: accountOf('other') });
  await anEncounter({ status: 'finished', period: ended }, await aPatient('portal-b'));
  await until(
    () => search(''),
    ({ total }) => total === 3,
  );
});

const search = async (query: string) =>
  resourceIn('Bundle', await request('portal-a', 'GET', `/Encounter?patient=${patient.id}&${query}`));

const idsIn = (bundle: Awaited<ReturnType<typeof search>>) =>
  (bundle.entry ?? []).flatMap(({ resource, search: { mode } = {} }) => (mode === 'match' ? [resource?.id] : []));

it.each<[string, () => readonly string[]]>([
  ['date=ge2026-01-05&date=le2026-01-14', () => [ongoing, over]],
  ['date=2026-01-05', () => []],
  ['date=gt1999-01-01', () => [ongoing, over]],
  ['date=ge2026-01-09', () => [ongoing]],
  ['date:missing=true', () => [planned]],
  ['date-start=ge1999-01-01', () => [ongoing, over]],
  ['date-start=ge2026-01-14', () => []],
  ['end-date=le2050-01-01', () => [over]],
  ['end-date=le2026-01-05', () => []],
  ['date-start=ge2026-01-05&end-date=le2026-01-14', () => [over]],
  ['date=ge2026-01-05&status=in-progress', () => [ongoing]],
  ['account=one', () => [ongoing]],
  ['account=Account/other,Account/one', () => [ongoing, over]],
  ['account:identifier={accounts}|other-{patient}', () => [over]],
  ['class=http://terminology.hl7.org/CodeSystem/v3-ActCode|IMP', () => [planned, ongoing, over]],
])('Encounter?%s', async (query, expected) => {
  const asked = query.replace('{accounts}', accounts).replace('{patient}', patient.id ?? '');
  const bundle = await search(asked.replace('|', '%7C'));
  expect(idsIn(bundle).sort()).toEqual([...expected()].sort());
  expect(bundle.total).toBe(expected().length);
});

it('a search by date has pages and order, and includes what is asked for on each of them', async () => {
  const first = await search('date=ge2026-01-05&_sort=-_lastUpdated&_count=1&_include=Encounter:patient');
  expect(first.total).toBe(2);
  expect(first.entry?.map(({ resource, search: { mode } = {} }) => [mode, resource?.id])).toEqual([
    ['match', over],
    ['include', patient.id],
  ]);
  const next = first.link?.find(({ relation }) => relation === 'next')?.url ?? '';
  const second = resourceIn('Bundle', await request('portal-a', 'GET', next.slice(next.indexOf('/Encounter?'))));
  expect(idsIn(second)).toEqual([ongoing]);
  expect(second.entry).toHaveLength(2);
});

it('another portal finds nothing by date', async () => {
  for (const query of [`date=ge1999&patient=${patient.id}`, `date=ge1999&_id=${planned},${ongoing},${over}`]) {
    const { total, entry } = resourceIn('Bundle', await request('portal-b', 'GET', `/Encounter?${query}`));
    expect([total, entry]).toEqual([0, undefined]);
  }
});
