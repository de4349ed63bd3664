import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { statuses, transitionIssues } from '../../../../core/booking/appointment/status.ts';

describe('a change of status', () => {
  it.each<[Appointment['status'], string]>([
    ['proposed', 'cancelled'],
    ['pending', 'booked, cancelled'],
    ['booked', 'arrived, checked-in, fulfilled, noshow, cancelled'],
    ['arrived', 'booked, checked-in, fulfilled, noshow'],
    ['checked-in', 'fulfilled, noshow'],
  ])('%s: the clinic may set %s, and is told so', (from, allowed) => {
    const names = allowed.split(', ');
    const refused = statuses.filter((to) => transitionIssues(from, to, 'repository').length > 0);
    expect(refused).toEqual(statuses.filter((to) => to !== from && !names.includes(to)));
    const order = statuses.filter((to) => names.includes(to)).join(', ');
    expect(transitionIssues(from, 'entered-in-error', 'repository')[0]?.diagnostics).toBe(
      `The repository cannot change an appointment from ${from} to entered-in-error. Allowed from ${from}: ${order}.`,
    );
  });

  it('the service itself books, requests, and cancels what has lost its patient', () => {
    const allowed = statuses.flatMap((from) =>
      statuses
        .filter((to) => to !== from && transitionIssues(from, to, 'service').length === 0)
        .map((to) => `${from} ${to}`),
    );
    expect(allowed).toEqual([
      'proposed pending',
      'proposed booked',
      'proposed cancelled',
      'pending booked',
      'pending cancelled',
      'booked pending',
      'booked cancelled',
      'arrived cancelled',
      'checked-in cancelled',
      'waitlist cancelled',
    ]);
  });
});
