import { describe, expect, it } from '@jest/globals';
import { wantedFor } from '../../../../core/booking/book/wanted.ts';
import { appointment, parameters, patient, resourceParameter, schedule, situation, slot, stateOf } from '../support.ts';

const notFree = { code: 'slot-not-free', diagnostics: '' } as const;

describe('the fragments of slots', () => {
  it('are not read for a new booking against which nothing speaks', () => {
    expect(wantedFor(situation(appointment()), [])?.fragments).toBeUndefined();
  });

  it('are read for one that lacks nothing but a free slot', () => {
    expect(wantedFor(situation(appointment()), [notFree])?.fragments).toEqual({ origins: ['nine'], rewritten: [] });
    const other = { code: 'patient-inactive', diagnostics: '' } as const;
    expect(wantedFor(situation(appointment()), [notFree, other])?.fragments).toBeUndefined();
  });

  it('are read, where a Schedule alone is named, of the slots there that are held or requested at that time', () => {
    const { slot: _, ...unplaced } = appointment();
    const body = parameters(resourceParameter('appt-resource', unplaced), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/calendar' },
    });
    const elsewhere = { schedule: { reference: 'Schedule/other' } };
    const state = stateOf(
      schedule,
      { ...schedule, id: 'other' },
      patient,
      slot('held', '09:00', '09:30', { status: 'busy-tentative' }),
      slot('booked', '09:00', '09:30', { status: 'busy' }),
      slot('blocked', '09:00', '09:30', { status: 'busy-unavailable' }),
      slot('later', '09:30', '10:00', { status: 'busy-tentative' }),
      slot('elsewhere', '09:00', '09:30', { status: 'busy-tentative', ...elsewhere }),
    );
    expect(wantedFor(situation(body, state), [notFree])?.fragments?.origins).toEqual(['held']);
  });
});
