import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { appointment, config, ct, issuesOf, patient, plan, schedule, slot, stateOf } from '../support.ts';

const origin = artefactUri(config, 'LocalSlotOrigin');
const marked = (value: string): Partial<Slot> => ({ identifier: [{ system: origin, value }] });
const nine = slot('nine', '09:00', '09:30');

const planBeside = (other: Slot) => plan(appointment(), stateOf(schedule, patient, nine, other));

describe('time that is taken beside a free slot', () => {
  it.each<[string, Slot]>([
    ['an appointment', slot('x', '09:00', '09:30', { status: 'busy' })],
    ['a request, at the end', slot('x', '09:29', '10:00', { status: 'busy-tentative' })],
    ['a block, around it', slot('x', '00:00', '23:00', { status: 'busy-unavailable' })],
    ['a block for this service', slot('x', '09:00', '09:30', { status: 'busy-unavailable', serviceType: [ct] })],
  ])('%s: slot-not-free', (_, other) => {
    expect(issuesOf(planBeside(other))).toEqual(['slot-not-free Appointment.slot[0]']);
  });

  it.each<[string, Slot]>([
    ['touches it', slot('x', '09:30', '10:00', { status: 'busy' })],
    ['is another place, as its mark shows', slot('x', '09:00', '09:30', { status: 'busy', ...marked('x') })],
    ['is free itself', slot('x', '09:00', '09:30')],
    [
      'is a block for another service',
      slot('x', '09:00', '09:30', { status: 'busy-unavailable', serviceType: [{ coding: [{ code: 'mri' }] }] }),
    ],
    [
      'belongs to another schedule',
      slot('x', '09:00', '09:30', { status: 'busy', schedule: { reference: 'Schedule/other' } }),
    ],
  ])('that %s: nothing in the way', (_, other) => {
    expect(planBeside(other).kind).toBe('write');
  });

  it('is reported once for a slot that is not free itself either', () => {
    const taken = slot('nine', '09:00', '09:30', { status: 'busy' });
    const other = slot('x', '09:00', '09:30', { status: 'busy' });
    expect(issuesOf(plan(appointment(), stateOf(schedule, patient, taken, other)))).toEqual([
      'slot-not-free Appointment.slot[0]',
    ]);
  });

  it('says that time is taken of a slot that was narrowed because of it', () => {
    const state = stateOf(
      schedule,
      patient,
      slot('nine', '09:00', '09:20'),
      slot('x', '09:20', '10:00', { status: 'busy' }),
    );
    expect(issuesOf(plan(appointment(), state))).toEqual(['slot-not-free Appointment.slot[0]']);
  });
});
