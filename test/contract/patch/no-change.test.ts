import { describe, expect, it } from '@jest/globals';
import { minutes } from '../fixtures.ts';
import { base } from '../installation.ts';
import { aBooking, fhirPathPatch, patch, read, replacing } from './fixtures.ts';

const inBerlin = (instant: string) =>
  new Date(Date.parse(instant) + 3_600_000).toISOString().replace('.000Z', '+01:00');

describe('a patch whose result is what is stored', () => {
  it.each<[string, (slot: string, patient: string) => unknown]>([
    ['the same status', () => fhirPathPatch(replacing('Appointment.status', { valueCode: 'booked' }))],
    ['the same start', () => fhirPathPatch(replacing('Appointment.start', { valueInstant: minutes(0) }))],
    ['the same start, other offset', () => fhirPathPatch(replacing('start', { valueInstant: inBerlin(minutes(0)) }))],
    [
      'the same slot, absolute',
      (slot) => fhirPathPatch(replacing('Appointment.slot[0].reference', { valueString: `${base}/${slot}` })),
    ],
    [
      'the same patient, with a version',
      (_, patient) =>
        fhirPathPatch(
          replacing('Appointment.participant[0].actor.reference', { valueString: `${patient}/_history/1` }),
        ),
    ],
    [
      'changed and changed back',
      (slot) =>
        fhirPathPatch(
          replacing('Appointment.slot[0].reference', { valueString: 'Slot/another' }),
          replacing('Appointment.slot[0].reference', { valueString: slot }),
        ),
    ],
    ['a JSON Patch that only tests', () => [{ op: 'test', path: '/status', value: 'booked' }]],
  ])('%s: 200, the same version', async (_, body) => {
    const { slot, patient, id, booked } = await aBooking();
    const answer = await patch(id, body(`Slot/${slot.id}`, `Patient/${patient.id}`));
    expect([answer.status, answer.body]).toEqual([200, booked]);
    expect(await read(id)).toEqual(booked);
  });
});
