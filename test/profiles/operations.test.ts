import { expect, test } from '@jest/globals';
import { bookOperation, OPERATION_IMPLEMENTATION } from '../../profiles/operations.ts';
import { config } from './validator.ts';

const operation = bookOperation(config, 'Bot/1');

test('Medplum finds the Bot by the extension', () => {
  expect(operation.extension).toEqual([{ url: OPERATION_IMPLEMENTATION, valueReference: { reference: 'Bot/1' } }]);
  expect(operation).toMatchObject({
    code: 'book',
    resource: ['Appointment'],
    system: false,
    type: true,
    instance: false,
  });
});

test('the returned Appointment is answered as it is: one out parameter, return', () => {
  const out = operation.parameter?.filter(({ use }) => use === 'out');
  expect(out).toEqual([expect.objectContaining({ name: 'return', type: 'Appointment', max: '1' })]);
});

test('the in parameters', () => {
  const inputs = operation.parameter?.filter(({ use }) => use === 'in') ?? [];
  expect(inputs.map(({ name, type, min, max }) => `${name} ${type} ${min}..${max}`)).toEqual([
    'appt-resource Appointment 1..20',
    'patient Patient 0..1',
    'related-person RelatedPerson 0..1',
    'patientSubmittedInformation QuestionnaireResponse 0..*',
    'schedule Reference 0..1',
    'cancelled-appt-id uri 0..1',
    'dry-run boolean 0..1',
  ]);
});
