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

it('an element that is unknown or of the wrong type hides no other problem', async () => {
  const { slot, patient } = await aClinic({}, { status: 'busy' });
  const sent = { ...proposed(patient, [slot], { status: 'booked' }), comment: 7, mood: 'good' };
  const answer = await book(sent);
  expect([answer.status, ...issuesOf(answer)]).toEqual([
    400,
    'malformed-request Appointment.comment',
    'malformed-request Appointment.mood',
    'status-not-proposed Appointment.status',
    'slot-not-free Appointment.slot[0]',
  ]);
});

it('a reversed time is past, too', async () => {
  const { slot, patient } = await aClinic();
  const times = { start: '2020-01-01T10:00:00Z', end: '2020-01-01T09:00:00Z' };
  const answer = await book(proposed(patient, [slot], times));
  expect([answer.status, ...issuesOf(answer)]).toEqual([
    422,
    'period-invalid Appointment.end',
    'start-in-past Appointment.start',
  ]);
});

it('what is no resource at all is an error of the body', async () => {
  for (const body of ['{"resourceType":', '[]', '"Appointment"', '']) {
    const answer = await book(body);
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.body']);
  }
});
