import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { withoutEmpty } from '../../../core/fhir/without-empty.ts';

it('leaves out what Medplum does not store, and nothing else', () => {
  const sent: Appointment = {
    resourceType: 'Appointment',
    status: 'booked',
    identifier: [],
    comment: '',
    meta: {},
    priority: 0,
    participant: [{ status: 'accepted', type: [], actor: { reference: 'Patient/1', display: '' } }],
  };
  expect(withoutEmpty(sent)).toEqual({
    resourceType: 'Appointment',
    status: 'booked',
    priority: 0,
    participant: [{ status: 'accepted', actor: { reference: 'Patient/1' } }],
  });
});
