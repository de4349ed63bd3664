import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { requestorLimitIssues } from '../../../../core/booking/policy/requestor-limits.ts';
import { appointment, config, issuesOf, plan, stateOf } from '../support.ts';

const limited = { ...config, requestors: { maxOpenAppointments: 100, maxBookingsPerMinute: 20 } };

it('who moves or replaces an open appointment gets no further one; who books anew after a cancellation does', () => {
  const codes = (status: Appointment['status'] | undefined) =>
    requestorLimitIssues(new Set(['open']), [status && appointment({ status }), undefined], 'Appointment', limited);
  expect(codes('booked')).toEqual([]);
  expect([codes('cancelled'), codes(undefined)].flat().map(({ code }) => code)).toEqual(
    Array(2).fill('portal-limit-reached'),
  );
});

it('a requestor is refused, staff are not', () => {
  const reached = new Set(['open', 'rate'] as const);
  expect(issuesOf(plan(appointment(), stateOf(), { reached }))).toEqual([
    'portal-limit-reached Appointment',
    'too-many-bookings Appointment',
  ]);
  expect(plan(appointment(), stateOf(), { reached }, undefined, 'repository').kind).toBe('write');
});
