import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { validateChange } from '../../../../core/booking/appointment/change.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { told } from '../../../lib/told.ts';
import { config, patient, stored } from '../stored.ts';

const appointment = (value: unknown): Appointment => {
  if (!isResource(value, 'Appointment')) {
    throw new Error('The case is no Appointment.');
  }
  return value;
};

it('a change adds no code that FHIR does not have; one from before does not keep it from being cancelled', () => {
  const known = new Map([[patient.id ?? '', patient]]);
  const judged = (before: object, more: object) => {
    const one = appointment({ ...stored, ...before });
    return told(validateChange(one, appointment({ ...one, ...more }), 'requestor', known, 0, config));
  };
  const strange = { identifier: [{ use: 'strange', value: '1' }] };
  expect(judged({}, strange)).toEqual(['profile-violation Appointment.identifier[0].use']);
  expect(judged(strange, { status: 'cancelled' })).toEqual([]);
});
