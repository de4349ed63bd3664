import { expect, it } from '@jest/globals';
import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { absentOutcome, historyReads, isDeletable, readDeleted } from '../../../core/booking/deleted.ts';

const last: BundleEntry = { resource: { resourceType: 'Patient', id: 'p1' } };
const historyOf = (...entry: BundleEntry[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'batch-response',
  entry: [{ resource: { resourceType: 'Bundle', type: 'history', entry } }],
});

it('the two latest versions tell whether a resource was deleted', () => {
  expect(historyReads('Patient', 'p1')).toEqual({
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ request: { method: 'GET', url: 'Patient/p1/_history?_count=2' } }],
  });
  expect(readDeleted('Patient', historyOf({}, last))).toEqual(last.resource);
});

it.each<[string, Bundle]>([
  ['is there', historyOf(last)],
  ['was restored', historyOf(last, {})],
  [
    'is of another type',
    historyOf({}, { resource: { resourceType: 'Slot', schedule: {}, status: 'free', start: '', end: '' } }),
  ],
  ['was not answered for', { resourceType: 'Bundle', type: 'batch-response', entry: [] }],
  ['was never there', { resourceType: 'Bundle', type: 'batch-response', entry: [{}] }],
])('a resource that %s is not deleted', (_, response) => {
  expect(readDeleted('Patient', response)).toBeUndefined();
});

it('only what a requestor owns is looked for', () => {
  const types = ['Appointment', 'Patient', 'QuestionnaireResponse', 'Slot', 'Task', 'toString', undefined];
  expect(types.filter(isDeletable)).toEqual(['Appointment', 'Patient', 'QuestionnaireResponse']);
});

it.each([
  ['unknown', 'not-found', 'not-found', 'There is no such appointment.'],
  ['deleted', 'gone', 'deleted', 'The appointment was deleted.'],
] as const)('of an appointment that is %s the outcome says so', (kind, outcome, code, diagnostics) => {
  expect(absentOutcome(kind)).toEqual({
    resourceType: 'OperationOutcome',
    id: outcome,
    issue: [{ severity: 'error', code, diagnostics }],
  });
});
