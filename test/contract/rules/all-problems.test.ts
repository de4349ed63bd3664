import { expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { issuesOf, medplum, resourceIn } from '../http.ts';
import { aBooking, patch, read } from '../patch/fixtures.ts';

const wrong = {
  extension: [{ url: 'urn:x', valueText: 'x' }],
  serviceType: [{ coding: [{ code: 'ct', systm: 'urn:x' }] }],
  minutesDuration: '30',
  start: '2020-01-01T10:00:00Z',
  end: '2020-01-01T09:00:00Z',
};

it('$book tells all problems at once: what FHIR does not have, at any depth, beside the rules', async () => {
  const { slot, patient } = await aClinic();
  const answer = await book({ ...proposed(patient, [slot]), ...wrong, status: 'booked' });
  expect([answer.status, issuesOf(answer).sort()]).toEqual([
    400,
    [
      'malformed-request Appointment.extension[0].valueText',
      'malformed-request Appointment.minutesDuration',
      'malformed-request Appointment.serviceType[0].coding[0].systm',
      'period-invalid Appointment.end',
      'profile-violation Appointment.serviceType[0].coding[0]',
      'start-in-past Appointment.start',
      'status-not-proposed Appointment.status',
    ],
  ]);
  const found = resourceIn('Bundle', await medplum('front-desk', 'GET', `/Appointment?slot=Slot/${slot.id}`));
  expect(found.entry ?? []).toEqual([]);
});

it('a PATCH tells all problems at once, and changes nothing', async () => {
  const { id, booked } = await aBooking();
  const answer = await patch(id, [
    { op: 'add', path: '/participant/0/actor/invented', value: 'x' },
    { op: 'add', path: '/minutesDuration', value: '30' },
    { op: 'add', path: '/toString', value: 'x' },
    { op: 'replace', path: '/end', value: '2040-01-01T10:00:00Z' },
    { op: 'replace', path: '/status', value: 'arrived' },
    { op: 'add', path: '/serviceType', value: [{ coding: [{ code: 'ct' }] }] },
  ]);
  expect([answer.status, issuesOf(answer).sort()]).toEqual([
    400,
    [
      'immutable-element Appointment.end',
      'patch-invalid Appointment.minutesDuration',
      'patch-invalid Appointment.participant[0].actor.invented',
      'patch-invalid Appointment.toString',
      'profile-violation Appointment.serviceType[0].coding[0]',
      'transition-not-allowed Appointment.status',
    ],
  ]);
  expect(await read(id)).toEqual(booked);
});

it('of very many problems the first are told, and how many there are besides', async () => {
  const { slot, patient } = await aClinic();
  const identifier = Array.from({ length: 50 }, (_, index) => ({ value: `${index}`, invented: 1, other: 2 }));
  const answer = await book(proposed(patient, [slot], { identifier }));
  expect([answer.status, resourceIn('OperationOutcome', answer).issue.length]).toEqual([400, 50]);
  expect(answer.text).toContain('There are 51 more problems');
});
