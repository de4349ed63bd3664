import { expect, it } from '@jest/globals';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { bookingRejectionIssues } from '../../../../core/booking/book/server-rejection.ts';
import { told } from '../../../lib/told.ts';
import { appointment, config, parameters, patient, resourceParameter } from '../support.ts';

const { request } = parseBookRequest(
  parameters(resourceParameter('appt-resource', appointment()), resourceParameter('patient', patient)),
  config,
);

it.each([
  ['Appointment.participant[0].status', 'Parameters.parameter[0].resource.participant[0].status'],
  ['Patient.birthDate', 'Parameters.parameter[1].resource.birthDate'],
  ['Slot.start', 'Slot.start'],
])('what the server rejects at %s is reported at %s', (expression, path) => {
  const issue = [{ severity: 'error' as const, code: 'structure' as const, expression: [expression] }];
  const issues = request ? bookingRejectionIssues({ resourceType: 'OperationOutcome', issue }, request) : [];
  expect(told(issues)).toEqual([`malformed-request ${path}`]);
});
