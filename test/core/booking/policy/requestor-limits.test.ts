import { expect, it } from '@jest/globals';
import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import {
  reachedLimits,
  requestorLimitIssues,
  requestorLimitReads,
} from '../../../../core/booking/policy/requestor-limits.ts';
import { requestorQuery } from '../../../../core/fhir/tags.ts';
import { appointment, config, issuesOf, now, plan, requestor, stateOf } from '../support.ts';

const limited = { ...config, requestors: { maxOpenAppointments: 100, maxBookingsPerMinute: 20 } };

const found = (...resources: Appointment[]): BundleEntry => ({
  resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
});

it('each limit is one search that reads one resource: the one with which the limit is reached', () => {
  const urls = requestorLimitReads(['open', 'rate', 'jobs'], requestor, now, limited).map(
    ({ request }) => new URLSearchParams(request?.url.split('?')[1]),
  );
  expect(urls.map((query) => [query.get('_offset'), query.get('_count'), query.get('_tag')])).toEqual(
    ['99', '19', '19'].map((offset) => [offset, '1', requestorQuery(requestor, config)]),
  );
  expect(urls.map((query) => query.get('date') ?? query.get('_lastUpdated') ?? query.get('status'))).toEqual([
    'ge2027-01-01T00:00:00.000Z',
    'ge2026-12-31T23:59:00.000Z',
    'requested',
  ]);
});

it('a limit is reached where something was found', () => {
  expect(reachedLimits(['open', 'rate'], [found(), found(appointment())])).toEqual(new Set(['rate']));
  expect(reachedLimits(['open', 'rate'], [found(appointment()), found()])).toEqual(new Set(['open']));
  expect(reachedLimits(['open', 'rate'], [])).toEqual(new Set());
});

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
