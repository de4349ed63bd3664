import { expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { issuesOf } from '../http.ts';

it('all problems come back in one answer, under the status of the gravest: 400 before 422 before 409', async () => {
  const { slot, patient } = await aClinic({}, { status: 'busy' });
  const { start: _, ...withoutStart } = proposed(patient, [slot]);
  const conflict = await book(proposed(patient, [slot]));
  const rule = await book(proposed(patient, [slot], { status: 'booked' }));
  const malformed = await book({ ...withoutStart, status: 'booked' });
  expect([conflict.status, ...issuesOf(conflict)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  expect([rule.status, ...issuesOf(rule)]).toEqual([
    422,
    'status-not-proposed Appointment.status',
    'slot-not-free Appointment.slot[0]',
  ]);
  expect(malformed.status).toBe(400);
  expect(issuesOf(malformed)).toEqual(
    expect.arrayContaining(['element-missing Appointment.start', 'status-not-proposed Appointment.status']),
  );
});
