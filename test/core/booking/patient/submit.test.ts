import { describe, expect, test } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { replacementIssues, submittedPatient, updatedPatient } from '../../../../core/booking/patient/submit.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { told } from '../../../lib/told.ts';
import { config } from '../support.ts';

const portal = { profileId: 'portal-a', role: 'requestor' } as const;
const staff = { profileId: 'doctor', role: 'repository' } as const;
const own = requestorTag('portal-a', config);
const replaced: Patient = {
  resourceType: 'Patient',
  link: [{ type: 'replaced-by', other: { reference: 'Patient/2' } }],
};
const codes = (judged: ReturnType<typeof submittedPatient>) => ('issues' in judged ? told(judged.issues) : []);

describe('a patient that is handed over', () => {
  test('by a requestor is tagged as its own; by staff it is as it was sent', () => {
    expect(submittedPatient({ resourceType: 'Patient' }, portal, config)).toMatchObject({
      patient: { meta: { tag: [{ code: 'external' }, own] } },
    });
    expect(submittedPatient({ resourceType: 'Patient' }, staff, config)).toEqual({
      patient: { resourceType: 'Patient' },
    });
  });

  test('merged: by a requestor it is refused, by staff it is not', () => {
    expect(codes(submittedPatient(replaced, portal, config))).toEqual(['profile-violation Patient.link']);
    expect(submittedPatient(replaced, staff, config)).toEqual({ patient: replaced });
  });

  test('may be linked to another one that stays', () => {
    const linked: Patient = {
      resourceType: 'Patient',
      link: [{ type: 'seealso', other: { reference: 'Patient/2' } }],
    };
    expect(submittedPatient(linked, portal, config)).toMatchObject({ patient: { link: linked.link ?? [] } });
  });

  test('that is something else is refused', () => {
    expect(codes(submittedPatient({ resourceType: 'Bot' }, portal, config))).toEqual(['malformed-request Patient']);
  });
});

describe('a patient that replaces another', () => {
  const stored: Patient = { resourceType: 'Patient', id: '1', meta: { tag: [own] } };

  test('has the id of its address', () => {
    expect(replacementIssues({ resourceType: 'Patient', id: '2' }, '1').map(({ expression }) => expression)).toEqual([
      'Patient.id',
    ]);
    expect(replacementIssues(stored, '1')).toEqual([]);
  });

  test('stays whose it is, whoever sends it', () => {
    const sent = { resourceType: 'Patient', id: '1', meta: { tag: [requestorTag('portal-b', config)] } };
    expect(updatedPatient(sent, stored, staff, config)).toMatchObject({ patient: { meta: { tag: [own] } } });
  });

  test('that is something else is refused', () => {
    expect(told(replacementIssues({ resourceType: 'Bot', id: '1' }, '1'))).toEqual(['malformed-request Patient']);
    expect(codes(updatedPatient({ resourceType: 'Bot', id: '1' }, stored, portal, config))).toEqual([
      'malformed-request Patient',
    ]);
  });

  test('keeps the profiles and other tags of the request, and nothing else of its meta', () => {
    const meta = { profile: ['urn:profile'], tag: [{ system: 'urn:x', code: 'x' }], versionId: '7' };
    const judged = updatedPatient({ resourceType: 'Patient', id: '1', meta }, stored, portal, config);
    expect('patient' in judged && judged.patient.meta).toEqual({ profile: meta.profile, tag: [...meta.tag, own] });
    const bare = updatedPatient({ resourceType: 'Patient', id: '1' }, { resourceType: 'Patient' }, portal, config);
    expect('patient' in bare && bare.patient.meta).toEqual({});
  });

  test('is merged by the clinic only', () => {
    const sent = { ...replaced, id: '1' };
    expect(codes(updatedPatient(sent, stored, portal, config))).toEqual(['profile-violation Patient.link']);
    expect(codes(updatedPatient(sent, stored, staff, config))).toEqual([]);
  });
});
