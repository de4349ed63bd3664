import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { type Client, removeClient, standIn } from '../clients.ts';
import {
  aPatient,
  aSchedule,
  aSlot,
  book,
  parameters,
  proposed,
  several,
  simultaneously,
  stored,
} from '../fixtures.ts';
import { issuesOf, refusalOf, resourceIn } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { count, policy } from './fixtures.ts';

const at = (index: number) => ({ from: index * 10, to: index * 10 + 10 });

/** A schedule with a quota, and slots of ten minutes on it. */
async function aLimited(part: string, limit: number, slots: number) {
  const schedule = await aSchedule(policy(count(part, limit)));
  const made = await simultaneously(slots, (index) => aSlot(schedule, at(index).from, at(index).to));
  return { schedule, slots: made, patient: await aPatient() };
}

/** A portal without other appointments: whatever a portal has on the day is read to count it. */
let mine: Client;
beforeAll(async () => {
  mine = await standIn('portal-a');
});
afterAll(async () => {
  await removeClient(mine);
});

describe('quotas', () => {
  it('maxOpenPerPatient: one more is refused, a cancelled one gives back, another patient is another', async () => {
    const { slots, patient } = await aLimited('maxOpenPerPatient', 2, 4);
    const wish = (index: number, who = patient) => book(proposed(who, slots.slice(index, index + 1), at(index)));
    const first = await wish(0);
    expect([first.status, (await wish(1)).status]).toEqual([201, 201]);
    expect(refusalOf(await wish(2))).toEqual([422, 'patient-limit-reached Appointment.start']);
    expect((await wish(2, await aPatient())).status).toBe(201);
    await patch(resourceIn('Appointment', first).id ?? '', cancellation);
    expect((await wish(3)).status).toBe(201);
  });

  it('maxOpenPerPatient: whoever else takes part as a patient counts as well, in whatever order', async () => {
    const { slots, patient } = await aLimited('maxOpenPerPatient', 1, 3);
    const others = [await aPatient(), await aPatient()];
    const actors = (...all: { id?: string }[]) =>
      all.map(({ id }) => ({ actor: { reference: `Patient/${id}` }, status: 'accepted' as const }));
    const wish = (index: number, ...all: { id?: string }[]) =>
      book(proposed(patient, slots.slice(index, index + 1), { ...at(index), participant: actors(...all) }));
    expect((await wish(0, others[0] ?? {}, patient)).status).toBe(201);
    const refused = await wish(1, others[1] ?? {}, patient);
    expect(refusalOf(refused)).toEqual([422, 'patient-limit-reached Appointment.start']);
    expect((await wish(1, others[1] ?? {})).status).toBe(201);
  });

  it('maxOpenPerPatient: one person is whoever shares an identifier, or name and birth date within a portal', async () => {
    const { slots } = await aLimited('maxOpenPerPatient', 1, 5);
    const kim = { name: [{ family: `Muster ${slots[0]?.id}`, given: ['Kim'] }], birthDate: '1980-05-17' };
    const first = await aPatient('portal-a', kim);
    const wish = (index: number, who: Patient) => book(proposed(who, slots.slice(index, index + 1), at(index)));
    expect((await wish(0, first)).status).toBe(201);
    const another = { system: 'https://example.org/patients', value: randomUUID() };
    const again: readonly Partial<Patient>[] = [
      { ...kim, name: [{ family: `muster  ${slots[0]?.id}`, given: ['KIM'] }] },
      { identifier: [another, ...(first.identifier ?? [])], birthDate: '1980-05-18' },
    ];
    for (const more of again) {
      expect(refusalOf(await wish(1, await aPatient('portal-a', more)))[1]).toBe(
        'patient-limit-reached Appointment.start',
      );
    }
    const { participant: _, ...rest } = proposed(first, slots.slice(1, 2), at(1));
    const sent = await book(parameters(rest, ['patient', { resourceType: 'Patient', identifier: [another], ...kim }]));
    expect(refusalOf(sent)[1]).toMatch(/^patient-limit-reached /);
    const twin = { ...kim, name: [{ ...kim.name[0], given: ['Robin'] }] };
    expect((await wish(1, await aPatient('portal-a', twin))).status).toBe(201);
    const elsewhere = proposed(await aPatient('portal-b', kim), slots.slice(2, 3), at(2));
    expect((await book(elsewhere, 'portal-b')).status).toBe(201);
  });

  it('maxOpenPerPatient: all appointments of one request count', async () => {
    const { slots } = await aLimited('maxOpenPerPatient', 1, 2);
    const kim = { name: [{ family: `Muster ${slots[0]?.id}`, given: ['Kim'] }], birthDate: '1980-05-17' };
    const [first, again] = [await aPatient('portal-a', kim), await aPatient('portal-a', kim)];
    const wish = (index: number, who: Patient) => proposed(who, slots.slice(index, index + 1), at(index));
    for (const body of [several(wish(0, first), wish(1, first)), several(wish(0, first), wish(1, again))]) {
      const path = 'Parameters.parameter[1].resource.start';
      expect(refusalOf(await book(body))).toEqual([422, `patient-limit-reached ${path}`]);
    }
  });

  it('maxOpenPerPatient: an appointment that is moved does not count twice', async () => {
    const { slots, patient } = await aLimited('maxOpenPerPatient', 1, 2);
    const first = resourceIn('Appointment', await book(proposed(patient, slots.slice(0, 1), at(0))));
    expect((await book(proposed(patient, slots.slice(1), { ...at(1), id: first.id }))).status).toBe(201);
  });

  it('maxPerPortalAndDay: another portal has a share of its own; staff have none', async () => {
    const { slots, patient } = await aLimited('maxPerPortalAndDay', 1, 4);
    expect((await book(proposed(patient, slots.slice(0, 1), at(0)))).status).toBe(201);
    const refused = await book(proposed(patient, slots.slice(1, 2), at(1)));
    expect(refusalOf(refused)).toEqual([422, 'portal-quota-reached Appointment.start']);
    const others = await aPatient('portal-b');
    expect((await book(proposed(others, slots.slice(1, 2), at(1)), 'portal-b')).status).toBe(201);
    expect((await book(proposed(patient, slots.slice(2, 3), at(2)), 'front-desk')).status).toBe(201);
  });

  it('30 at the same time with a limit of 5: exactly 5', async () => {
    const { schedule, slots, patient } = await aLimited('maxPerPortalAndDay', 5, 30);
    const responses = await simultaneously(30, (index) =>
      book(proposed(patient, slots.slice(index, index + 1), at(index))),
    );
    const refused = responses.filter(({ status }) => status !== 201);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(new Set(refused.flatMap(issuesOf))).toEqual(new Set(['portal-quota-reached Appointment.start']));
    expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy`)).toHaveLength(5);
  });
});
