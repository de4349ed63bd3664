import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, appointmentsOn, aSlot, book, minutes, proposed, slotsOf } from '../fixtures.ts';
import { isActionable, issuesOf } from '../http.ts';
import { config } from '../installation.ts';

type Change = Partial<Appointment>;

describe('a rule is broken: 422 and nothing written', () => {
  it.each<[string, Change, string[]]>([
    ['status is not proposed', { status: 'booked' }, ['status-not-proposed Appointment.status']],
    ['start equals end', { end: minutes(0) }, ['period-invalid Appointment.end']],
    ['end before start', { end: minutes(-30) }, ['period-invalid Appointment.end']],
    [
      'start in the past',
      { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' },
      ['start-in-past Appointment.start', 'slot-mismatch Appointment.slot[0]', 'slot-mismatch Appointment.slot'],
    ],
    [
      'the slot does not exist',
      { slot: [{ reference: `Slot/${randomUUID()}` }] },
      ['slot-not-found Appointment.slot[0]'],
    ],
    ['the slot is too short', { end: minutes(31) }, ['slot-mismatch Appointment.slot']],
    [
      'the service is not offered',
      { serviceType: [{ coding: [{ system: 'urn:other', code: 'haircut' }] }] },
      ['service-type-not-offered Appointment.serviceType[0]'],
    ],
    [
      'the patient does not exist',
      { participant: [{ actor: { reference: `Patient/${randomUUID()}` }, status: 'accepted' }] },
      ['patient-not-found Appointment.participant[0].actor'],
    ],
    [
      'it does not conform to LocalTermin',
      { specialty: [{ coding: [{ code: 'no-system' }] }] },
      ['profile-violation Appointment.specialty[0].coding[0]'],
    ],
    [
      'several things at once',
      { status: 'booked', end: minutes(31), specialty: [{ text: 'Radiology' }] },
      [
        'status-not-proposed Appointment.status',
        'profile-violation Appointment.specialty[0].coding',
        'slot-mismatch Appointment.slot',
      ],
    ],
  ])('%s', async (_, change, issues) => {
    const { schedule, slot, patient } = await aClinic();
    const answer = await book({ ...proposed(patient, [slot]), ...change });
    expect(answer.status).toBe(422);
    expect(issuesOf(answer)).toEqual(issues);
    expect(isActionable(answer)).toBe(true);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('the schedule is not active', async () => {
    const { slot, patient } = await aClinic({ active: false });
    const answer = await book(proposed(patient, [slot]));
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'schedule-inactive Appointment.slot[0]']);
  });

  it.each([
    ['leave a gap', 60, 90, 'slot-mismatch Appointment.slot'],
    ['overlap', 15, 45, 'slot-mismatch Appointment.slot[1]'],
    ['only touch its time', 30, 60, 'slot-mismatch Appointment.slot[1]'],
  ])('the slots %s', async (_, from, to, issue) => {
    const { schedule, slot, patient } = await aClinic();
    const other = await aSlot(schedule, from, to);
    const answer = await book(proposed(patient, [slot, other], { to: issue.endsWith('[1]') ? 30 : to }));
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, issue]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', `free ${from}-${to}`]);
  });

  it('the slot is of another schedule than the one that is named', async () => {
    const { slot, patient } = await aClinic();
    const { schedule: other } = await aClinic();
    const parameter = [
      { name: 'appt-resource', resource: proposed(patient, [slot]) },
      { name: 'schedule', valueReference: { reference: `Schedule/${other.id}` } },
    ];
    const answer = await book({ resourceType: 'Parameters', parameter });
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      422,
      'slot-mismatch Parameters.parameter[0].resource.slot[0]',
    ]);
  });

  it('a participant has no actor', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot]);
    const participant = [...body.participant, { status: 'accepted' as const }];
    const answer = await book({ ...body, participant });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Appointment.participant[1].actor']);
  });

  it('the priority extension is empty', async () => {
    const { slot, patient } = await aClinic();
    const priority = { extension: [{ url: artefactUri(config, 'LocalTerminPriorityExtension') }] };
    const answer = await book({ ...proposed(patient, [slot]), _priority: priority });
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      422,
      'profile-violation Appointment.priority.extension[0].value',
    ]);
  });
});
