import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { aPatient, aSlot, minutes, proposed, slotsOf } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';
import { aBooking } from '../patch/fixtures.ts';
import { edit, inMedplum } from './fixtures.ts';

const deactivate = async (id: string | undefined) => {
  const answer = await medplum('front-desk', 'PATCH', `/Patient/${id}`, {
    body: [{ op: 'add', path: '/active', value: false }],
    headers: { 'content-type': 'application/json-patch+json' },
  });
  expect(answer.status).toBe(200);
};

describe('what clinic staff cannot do in Medplum', () => {
  it.each<[string, (known: { slot: string; patient: string }) => Partial<Appointment>, string]>([
    ['move the start', () => ({ start: minutes(5) }), 'immutable-element Appointment.start'],
    ['move the end', () => ({ end: minutes(25) }), 'immutable-element Appointment.end'],
    ['take another slot', ({ slot }) => ({ slot: [{ reference: slot }] }), 'immutable-element Appointment.slot'],
    [
      'change the patient',
      ({ patient }) => ({ participant: [{ actor: { reference: patient, display: 'x' }, status: 'accepted' }] }),
      'immutable-element Appointment.participant[0].actor',
    ],
    ["take the requestor's tag away", () => ({ meta: {} }), 'immutable-element Appointment.meta.tag'],
    ['go back to pending', () => ({ status: 'pending' }), 'transition-not-allowed Appointment.status'],
  ])('%s: refused, nothing changed', async (_, changes, issue) => {
    const { schedule, id } = await aBooking();
    const before = await inMedplum(id);
    const [slot, patient] = [await aSlot(schedule, 60, 90), await aPatient()];
    const answer = await edit(id, changes({ slot: `Slot/${slot.id}`, patient: `Patient/${patient.id}` }));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(issuesOf(answer)[0]).toBe(issue);
    expect(await inMedplum(id)).toEqual(before);
  });

  it('the same in a batch, a transaction and by JSON Patch', async () => {
    const { id } = await aBooking();
    const before = await inMedplum(id);
    const entry = [
      { request: { method: 'PUT', url: `Appointment/${id}` }, resource: { ...before, start: minutes(5) } },
    ];
    const batch = await medplum('front-desk', 'POST', '', { body: { resourceType: 'Bundle', type: 'batch', entry } });
    expect(batch.text).toContain('immutable-element');
    const body = { resourceType: 'Bundle', type: 'transaction', entry };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBeGreaterThanOrEqual(400);
    const patched = await medplum('admin', 'PATCH', `/Appointment/${id}`, {
      body: [{ op: 'replace', path: '/start', value: minutes(5) }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect(issuesOf(patched)).toEqual(['immutable-element Appointment.start']);
    expect(await inMedplum(id)).toEqual(before);
  });

  it('make an appointment for an inactive patient', async () => {
    const { schedule } = await aBooking();
    const [later, patient] = [await aSlot(schedule, 60, 90), await aPatient()];
    await deactivate(patient.id);
    const body = { ...proposed(patient, [later], { from: 60, to: 90 }), status: 'booked' };
    const answer = await medplum('front-desk', 'POST', '/Appointment', { body });
    expect(issuesOf(answer)).toEqual(['patient-inactive Appointment.participant[0].actor']);
    expect(await slotsOf(schedule)).toContain('free 60-90');
  });

  it('delete an appointment that is open; a cancelled one they may', async () => {
    const { schedule, id } = await aBooking();
    const before = await inMedplum(id);
    const refused = await medplum('front-desk', 'DELETE', `/Appointment/${id}`);
    expect(issuesOf(refused)).toEqual(['transition-not-allowed Appointment.status']);
    expect(await inMedplum(id)).toEqual(before);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
  });

  it('everything else they may: a comment', async () => {
    const { id } = await aBooking();
    expect((await edit(id, { comment: 'Room 5' })).status).toBe(200);
    expect((await inMedplum(id)).comment).toBe('Room 5');
  });
});
