import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { afterPatientChange, survivorOf } from '../../../../core/booking/appointment/patient-change.ts';
import { byId } from '../../../../core/booking/resource-set.ts';

const base = 'https://clinic.example/fhir/R4';
const patient = (id: string, more: Partial<Patient> = {}): Patient => ({ resourceType: 'Patient', id, ...more });
const merged = (id: string, into: string): Patient =>
  patient(id, { active: false, link: [{ type: 'replaced-by', other: { reference: `Patient/${into}` } }] });

const appointment = (...ids: readonly string[]): Appointment => ({
  resourceType: 'Appointment',
  status: 'booked',
  participant: ids.map((id) => ({ actor: { reference: `Patient/${id}`, display: id }, status: 'accepted' })),
});

const settled = (given: Appointment, ...patients: readonly Patient[]) =>
  afterPatientChange(given, byId(patients), base);

describe('an appointment whose patient has gone', () => {
  it('stays the very same while the patient is active', () => {
    const given = appointment('a');
    expect(settled(given, patient('a'))).toBe(given);
  });

  it('is cancelled for one who was deleted or is inactive', () => {
    expect(settled(appointment('a')).status).toBe('cancelled');
    expect(settled(appointment('a'), patient('a', { active: false })).status).toBe('cancelled');
    expect(settled(appointment('a', 'b'), patient('a')).status).toBe('cancelled');
  });

  it('is handed on to the survivor of a merge, once', () => {
    const survivors = [merged('a', 'b'), merged('b', 'c'), patient('c')];
    expect(settled(appointment('a'), ...survivors).participant).toEqual([
      { actor: { reference: 'Patient/c', display: 'a' }, status: 'accepted' },
    ]);
    expect(settled(appointment('c', 'a'), ...survivors).participant).toHaveLength(1);
  });

  it('is cancelled if nobody survives', () => {
    expect(settled(appointment('a'), merged('a', 'b')).status).toBe('cancelled');
    expect(settled(appointment('a'), merged('a', 'b'), merged('b', 'a')).status).toBe('cancelled');
    expect(survivorOf('a', byId([merged('a', 'a')]))).toBeUndefined();
  });

  it('stays as it is when it is over', () => {
    const given = { ...appointment('a'), status: 'fulfilled' as const };
    expect(settled(given)).toBe(given);
  });
});
