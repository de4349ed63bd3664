/** Tokens: codes of elements that hold a code alone, with their code system and without; identifiers of references. */
import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aPatient, aSchedule, aSlot } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';

async function find(path: string): Promise<(string | undefined)[]> {
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  return (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
}

it('a status is found by its code, with its code system or without', async () => {
  const schedule = await aSchedule();
  const [free, busy] = [await aSlot(schedule, 0, 30), await aSlot(schedule, 30, 60, { status: 'busy' })];
  const own = `/Slot?schedule=Schedule/${schedule.id}&_sort=start`;
  const system = 'http://hl7.org/fhir/slotstatus';
  expect(await find(`${own}&status=free`)).toEqual([free.id]);
  expect(await find(`${own}&status=${system}|free`)).toEqual([free.id]);
  expect(await find(`${own}&status=${system}|free,${system}|busy`)).toEqual([free.id, busy.id]);
  expect(await find(`${own}&status:not=${system}|free`)).toEqual([busy.id]);
  expect(await find(`${own}&status=http://hl7.org/fhir/appointmentstatus|free`)).toEqual([]);
  expect(await find(`${own}&schedule.active=http://terminology.hl7.org/CodeSystem/special-values|true`)).toHaveLength(
    2,
  );
});

it('other codes and booleans are found the same way', async () => {
  const patient = await aPatient('portal-a', { gender: 'female', active: true });
  const own = `/Patient?_id=${patient.id}`;
  expect(await find(`${own}&gender=http://hl7.org/fhir/administrative-gender|female`)).toEqual([patient.id]);
  expect(await find(`${own}&gender=http://hl7.org/fhir/administrative-gender|male`)).toEqual([]);
  expect(await find(`${own}&active=http://terminology.hl7.org/CodeSystem/special-values|true`)).toEqual([patient.id]);
});

it('a code system without a code is refused rather than finding nothing', async () => {
  const answer = await request('portal-a', 'GET', '/Slot?status=http://hl7.org/fhir/slotstatus|');
  expect(answer.status).toBe(400);
  expect(issuesOf(answer)).toEqual(['malformed-request http.status']);
});

it('a reference is found by the identifier that it carries', async () => {
  const identifier = { system: 'https://example.org/rooms', value: randomUUID() };
  const schedule = await aSchedule({ actor: [{ identifier, display: 'Room 1' }] });
  expect(await find(`/Schedule?actor:identifier=${identifier.system}|${identifier.value}`)).toEqual([schedule.id]);
  expect(await find(`/Schedule?actor:identifier=https://example.org/other|${identifier.value}`)).toEqual([]);
});

it('free slots are those to come, unless a start is asked for', async () => {
  const schedule = await aSchedule();
  const past = await aSlot(schedule, 0, 0, { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' });
  const future = await aSlot(schedule, 0, 30);
  const own = `/Slot?schedule=Schedule/${schedule.id}&_sort=start`;
  expect(await find(`${own}&status=free`)).toEqual([future.id]);
  expect(await find(`${own}&status=http://hl7.org/fhir/slotstatus|free`)).toEqual([future.id]);
  expect(await find(`${own}&status=free&start=ge2019`)).toEqual([past.id, future.id]);
  expect(await find(own)).toEqual([past.id, future.id]);
});
