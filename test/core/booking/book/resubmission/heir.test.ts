import { describe, expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { heirOf, mergedPatients } from '../../../../../core/booking/book/resubmission/heir.ts';
import { appointment, config, stateOf } from '../../support.ts';

const patientOf = (id: string, into?: string): Patient => ({
  resourceType: 'Patient',
  id,
  ...(into && { active: false, link: [{ type: 'replaced-by', other: { reference: `Patient/${into}` } }] }),
});

const known = (...patients: readonly Patient[]) => new Map(patients.map((one) => [one.id ?? '', one]));
const merged = known(patientOf('anna', 'bea'), patientOf('bea'));
const of = (id: string) =>
  appointment({ participant: [{ actor: { reference: `Patient/${id}` }, status: 'accepted' }] });
const none = { issues: [] };

describe('who stands for a patient', () => {
  it('is the one into whom the patient of the earlier appointment was merged, whichever is named', () => {
    for (const earlier of [{ previous: of('anna') }, { replaced: of('anna') }, { previous: of('bea') }]) {
      expect(heirOf('anna', { ...none, ...earlier }, merged, config.baseUrl)).toBe('bea');
    }
    expect(heirOf('bea', { ...none, previous: of('bea') }, merged, config.baseUrl)).toBe('bea');
  });

  it('is nobody for a patient whom the earlier appointment does not name', () => {
    expect(heirOf('anna', none, merged, config.baseUrl)).toBeUndefined();
    expect(heirOf('anna', { ...none, previous: of('carl') }, merged, config.baseUrl)).toBeUndefined();
  });

  it('is nobody where nothing was read, or nobody is left', () => {
    expect(heirOf('anna', { ...none, previous: of('anna') }, undefined, config.baseUrl)).toBeUndefined();
    const gone = known(patientOf('anna', 'bea'));
    expect(heirOf('anna', { ...none, previous: of('anna') }, gone, config.baseUrl)).toBeUndefined();
  });
});

describe('whose survivor must be known', () => {
  const asked = (ids: readonly string[], earlier: object, ...seen: readonly Patient[]) =>
    mergedPatients(
      ids,
      { ...none, ...earlier },
      stateOf(...(seen.length > 0 ? seen : [patientOf('x')])),
      config.baseUrl,
    );

  it('is that of one whom the caller cannot see, but its own appointment names', () => {
    expect(asked(['anna', 'bea'], { previous: of('anna') })).toEqual(['anna']);
    expect(asked(['anna'], {})).toEqual([]);
  });

  it('is that of one who was merged, if an appointment is moved or replaced', () => {
    const [anna, bea] = [patientOf('anna', 'bea'), patientOf('bea')];
    expect(asked(['anna', 'bea'], { replaced: of('carl') }, anna, bea)).toEqual(['anna']);
    expect(asked(['anna', 'bea'], {}, anna, bea)).toEqual([]);
    expect(asked(['anna'], { previous: of('anna') }, { ...bea, id: 'anna', active: false })).toEqual([]);
  });
});
