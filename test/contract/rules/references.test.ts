import { expect, it } from '@jest/globals';
import { aClinic, book, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

const id = (reference: string): string => reference.split('/')[1] ?? '';

it.each([
  ['Type/id', (reference: string) => reference],
  ['{base}/Type/id', (reference: string) => `${base}/${reference}`],
  ['a version of it', (reference: string) => `${reference}/_history/1`],
  ['an absolute version of it', (reference: string) => `${base}/${reference}/_history/1`],
])('%s is accepted and stored as Type/id', async (_, spelt) => {
  const { slot, patient } = await aClinic();
  const answer = await book(
    proposed(patient, [], {
      slot: [{ reference: spelt(`Slot/${slot.id}`) }],
      participant: [{ actor: { reference: spelt(`Patient/${patient.id}`) }, status: 'accepted' }],
    }),
  );
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer)).toMatchObject({
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ actor: { reference: `Patient/${patient.id}` } }],
  });
});

it('a bare id is accepted in Appointment.slot', async () => {
  const { slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [], { slot: [{ reference: slot.id ?? '' }] }));
  expect(answer.status).toBe(201);
});

it.each([
  ["another server's", (reference: string) => ({ reference: `https://elsewhere.example/fhir/${reference}` })],
  ['an identifier alone', () => ({ identifier: { system: 'urn:x', value: '1' } })],
  ['a query', (reference: string) => ({ reference: `Slot?_id=${id(reference)}` })],
  ['a path that climbs', (reference: string) => ({ reference: `Slot/../${reference}` })],
  ['an encoded path', (reference: string) => ({ reference: `Slot%2F${id(reference)}` })],
])('%s reference is refused', async (_, spelt) => {
  const { schedule, slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [], { slot: [spelt(`Slot/${slot.id}`)] }));
  expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request Appointment.slot[0]']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
