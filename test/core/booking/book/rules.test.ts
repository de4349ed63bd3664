import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { lastIssues } from '../../../../core/booking/book/rules.ts';
import { quotaKey, quotaRow } from '../../../../core/booking/policy/quota.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { statusOf } from '../../../../core/fhir/outcome/outcome.ts';
import { told } from '../../../lib/told.ts';
import {
  appointment,
  at,
  config,
  ct,
  issuesOf,
  now,
  parameters,
  patient,
  plan,
  resourceParameter,
  schedule,
  situation,
  slot,
  stateOf,
  written,
} from '../support.ts';

const free = slot('nine', '09:00', '09:30');
const halfPast = slot('half', '09:30', '10:00');
const mri = { coding: [{ system: 'urn:services', code: 'mri' }] };
const named = (...ids: string[]): Partial<Appointment> => ({ slot: ids.map((id) => ({ reference: `Slot/${id}` })) });

describe('a booking that nothing speaks against', () => {
  it('is written as one transaction, the appointment first, the slot under the version that was read', () => {
    const result = plan(appointment({ id: 'own-id', comment: 'Knee', start: '2027-01-04T10:00:00+01:00' }));
    expect(result).toEqual({
      kind: 'write',
      transaction: {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [
          {
            request: { method: 'POST', url: 'Appointment' },
            resource: {
              ...appointment({ comment: 'Knee' }),
              status: 'booked',
              meta: {
                profile: [artefactUri(config, 'LocalTermin')],
                tag: [
                  { system: config.metaTagSystem, code: 'external' },
                  { system: artefactUri(config, 'LocalRequestor'), code: 'portal' },
                  { system: artefactUri(config, 'LocalChangedBy'), code: 'portal' },
                ],
              },
            },
          },
          {
            request: { method: 'PUT', url: 'Slot/nine', ifMatch: 'W/"nine-1"' },
            resource: {
              ...free,
              identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }],
              status: 'busy',
            },
          },
        ],
      },
    });
  });

  it("keeps the tags that were sent, but never another requestor's", () => {
    const meta = {
      tag: [
        { system: 'urn:colour', code: 'blue' },
        { system: artefactUri(config, 'LocalRequestor'), code: 'other-portal' },
        { system: artefactUri(config, 'LocalChangedBy'), code: 'somebody' },
      ],
    };
    const [booked] = written(plan(appointment({ meta })), 'Appointment');
    expect(booked?.meta?.tag?.map(({ code }) => code)).toEqual(['blue', 'external', 'portal', 'portal']);
  });

  it('narrows the slot to its time and offers the rest again', () => {
    const state = stateOf(schedule, patient, slot('long', '08:00', '12:00', { serviceType: [ct] }));
    const result = plan(appointment(named('long')), state);
    expect(
      written(result, 'Slot').map(({ status, start, end, serviceType }) => [status, start, end, serviceType]),
    ).toEqual([
      ['busy', at('09:00'), at('09:30'), [ct]],
      ['free', at('08:00'), at('09:00'), [ct]],
      ['free', at('09:30'), at('12:00'), [ct]],
    ]);
  });

  it('takes several slots that follow one another, in whatever order they are named', () => {
    const result = plan(
      appointment({ end: at('10:00'), ...named('half', 'nine') }),
      stateOf(schedule, patient, free, halfPast),
    );
    expect(written(result, 'Slot').map(({ id, status }) => [id, status])).toEqual([
      ['nine', 'busy'],
      ['half', 'busy'],
    ]);
    expect(written(result, 'Appointment')[0]?.slot).toEqual([{ reference: 'Slot/half' }, { reference: 'Slot/nine' }]);
  });

  it('takes slots of two schedules at the same time', () => {
    const room: Schedule = { ...schedule, id: 'room' };
    const inRoom = slot('room-nine', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
    const result = plan(appointment(named('nine', 'room-nine')), stateOf(schedule, room, patient, free, inRoom));
    expect(written(result, 'Slot').map(({ id, status }) => [id, status])).toEqual([
      ['nine', 'busy'],
      ['room-nine', 'busy'],
    ]);
  });

  it('finds the slots of a schedule itself', () => {
    const { slot: _, ...without } = appointment({ end: at('10:00') });
    const body = parameters(resourceParameter('appt-resource', without), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/calendar' },
    });
    const result = plan(body, stateOf(schedule, patient, slot('early', '08:00', '09:00'), free, halfPast));
    expect(written(result, 'Appointment')[0]?.slot).toEqual([{ reference: 'Slot/nine' }, { reference: 'Slot/half' }]);
    expect(written(result, 'Slot')).toHaveLength(2);
  });

  it('books on a piece of the slot it names, when that was split meanwhile', () => {
    const origin = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'day' }];
    const narrowed = slot('day', '08:00', '08:30', { status: 'busy' });
    const rest = slot('rest', '08:30', '12:00', { identifier: origin });
    const result = plan(appointment(named('day')), stateOf(schedule, patient, narrowed, rest));
    expect(written(result, 'Appointment')[0]?.slot).toEqual([{ reference: 'Slot/rest' }]);
  });
});

describe('what a booking is confirmed by', () => {
  const extension = (code: string) => [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }];
  const service = { resourceType: 'HealthcareService', id: 'ct' } as const;
  it.each<[string, object, object, 'automatic' | 'manual', string, string]>([
    ['the schedule, by hand', { extension: extension('manual') }, {}, 'automatic', 'pending', 'busy-tentative'],
    [
      'the schedule, at once',
      { extension: extension('automatic') },
      { extension: extension('manual') },
      'manual',
      'booked',
      'busy',
    ],
    ['its service, by hand', {}, { extension: extension('manual') }, 'automatic', 'pending', 'busy-tentative'],
    ['the installation, by hand', {}, {}, 'manual', 'pending', 'busy-tentative'],
    ['the installation, at once', {}, {}, 'automatic', 'booked', 'busy'],
  ])('is said by %s', (_, onSchedule, onService, confirmation, status, slotStatus) => {
    const state = stateOf({ ...schedule, ...onSchedule }, { ...service, ...onService }, patient, free);
    const result = plan(appointment(), state, { config: { ...config, confirmation } });
    expect(written(result, 'Appointment')[0]?.status).toBe(status);
    expect(written(result, 'Slot')[0]?.status).toBe(slotStatus);
  });
});

it('is confirmed by hand where one of two schedules is', () => {
  const byHand = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
  const room: Schedule = { ...schedule, id: 'room', extension: byHand };
  const inRoom = slot('room-nine', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
  const result = plan(appointment(named('nine', 'room-nine')), stateOf(schedule, room, patient, free, inRoom));
  expect(written(result, 'Appointment')[0]?.status).toBe('pending');
});

it('does not replace what it only claims to replace', () => {
  const url = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';
  const kept = { url: 'urn:own', valueString: 'kept' };
  const forged = { url, valueReference: { reference: 'Appointment/other' } };
  const [booked] = written(plan(appointment({ extension: [forged, kept] })), 'Appointment');
  expect(booked?.extension).toEqual([kept]);
});

it('on a schedule takes no slots of another one', () => {
  const { slot: _, ...body } = appointment();
  const elsewhere = slot('elsewhere', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
  const request = parameters(resourceParameter('appt-resource', body), {
    name: 'schedule',
    valueReference: { reference: 'Schedule/calendar' },
  });
  expect(issuesOf(plan(request, stateOf(schedule, patient, elsewhere)))).toEqual([
    'slot-not-free Parameters.parameter[1].valueReference',
  ]);
});

it('names slots of the schedule that it names', () => {
  const room: Schedule = { ...schedule, id: 'room' };
  const request = parameters(resourceParameter('appt-resource', appointment()), {
    name: 'schedule',
    valueReference: { reference: 'Schedule/room' },
  });
  expect(issuesOf(plan(request, stateOf(schedule, room, patient, free)))).toEqual([
    'slot-mismatch Parameters.parameter[0].resource.slot[0]',
  ]);
});

describe('a booking that breaks a rule', () => {
  it.each<[string, Partial<Appointment>, Parameters<typeof stateOf>, string[]]>([
    ['is not proposed', { status: 'booked' }, [], ['status-not-proposed Appointment.status']],
    ['ends when it starts', { end: at('09:00') }, [], ['period-invalid Appointment.end']],
    ['ends before it starts', { end: at('08:00') }, [], ['period-invalid Appointment.end']],
    ['names an unknown slot', named('nine', 'gone'), [], ['slot-not-found Appointment.slot[1]']],
    ['is on an unknown schedule', {}, [patient, free], ['schedule-not-found Appointment.slot[0]']],
    [
      'is on an inactive schedule',
      {},
      [{ ...schedule, active: false }, patient, free],
      ['schedule-inactive Appointment.slot[0]'],
    ],
    [
      'leaves a gap',
      { end: at('10:30'), ...named('nine', 'ten') },
      [schedule, patient, free, slot('ten', '10:00', '10:30')],
      ['slot-mismatch Appointment.slot'],
    ],
    [
      'names a slot without readable times',
      {},
      [schedule, patient, { ...free, end: 'noon' }],
      ['slot-mismatch Appointment.slot[0]'],
    ],
    ['is longer than its slot', { end: at('09:31') }, [], ['slot-mismatch Appointment.slot']],
    [
      'names a slot at another time',
      named('nine', 'half'),
      [schedule, patient, free, halfPast],
      ['slot-mismatch Appointment.slot[1]'],
    ],
    [
      'names overlapping slots',
      named('nine', 'too'),
      [schedule, patient, free, slot('too', '09:15', '09:45')],
      ['slot-mismatch Appointment.slot[1]'],
    ],
    [
      'asks for a service not offered',
      { serviceType: [ct, mri] },
      [],
      ['service-type-not-offered Appointment.serviceType[1]'],
    ],
    [
      'asks a slot for what only the schedule offers',
      {},
      [schedule, patient, { ...free, serviceType: [mri] }],
      ['service-type-not-offered Appointment.serviceType[0]'],
    ],
    ['is for an unknown patient', {}, [schedule, free], ['patient-not-found Appointment.participant[0].actor']],
    [
      'is for an inactive patient',
      {},
      [schedule, { ...patient, active: false }, free],
      ['patient-inactive Appointment.participant[0].actor'],
    ],
    [
      'is for a merged patient',
      {},
      [schedule, { ...patient, link: [{ type: 'replaced-by', other: { reference: 'Patient/b' } }] }, free],
      ['patient-inactive Appointment.participant[0].actor'],
    ],
    [
      'codes its service without a system',
      { serviceType: [{ coding: [ct.coding[0] ?? {}, { code: 'x' }] }] },
      [],
      ['profile-violation Appointment.serviceType[0].coding[1]'],
    ],
    [
      'codes its specialty in words only',
      { specialty: [{ text: 'Radiology' }] },
      [],
      ['profile-violation Appointment.specialty[0].coding'],
    ],
    [
      'has a participant without an actor',
      { participant: [{ actor: { reference: 'Patient/anna' }, status: 'accepted' }, { status: 'accepted' }] },
      [],
      ['profile-violation Appointment.participant[1].actor'],
    ],
  ])('because it %s is refused with 422', (_, more, resources, issues) => {
    const result = plan(appointment(more), stateOf(...resources));
    expect(issuesOf(result)).toEqual(issues);
    expect(result.kind === 'refuse' && statusOf(result.issues)).toBe(422);
  });

  it.each<[string, object, string[]]>([
    ['no extension', {}, ['profile-violation Appointment.priority.extension']],
    ['another extension', { extension: [{ url: 'urn:other' }] }, ['profile-violation Appointment.priority.extension']],
    [
      'no value',
      { extension: [{ url: artefactUri(config, 'LocalTerminPriorityExtension') }] },
      ['profile-violation Appointment.priority.extension[0].value'],
    ],
    [
      'two values',
      {
        extension: [1, 2].map((code) => ({
          url: artefactUri(config, 'LocalTerminPriorityExtension'),
          valueCodeableConcept: { coding: [{ system: 'urn:s', code: `${code}` }] },
        })),
      },
      ['profile-violation Appointment.priority.extension'],
    ],
    [
      'a value without system',
      {
        extension: [
          {
            url: artefactUri(config, 'LocalTerminPriorityExtension'),
            valueCodeableConcept: { coding: [{ code: '1' }] },
          },
        ],
      },
      ['profile-violation Appointment.priority.extension[0].value.coding[0]'],
    ],
    [
      'all it needs',
      {
        extension: [
          {
            url: artefactUri(config, 'LocalTerminPriorityExtension'),
            valueCodeableConcept: { coding: [{ system: 'urn:s', code: '1' }] },
          },
        ],
      },
      [],
    ],
  ])('has a priority with %s', (_, priority, issues) => {
    expect(issuesOf(plan({ ...appointment(), _priority: priority }))).toEqual(issues);
  });

  it.each([
    ['now', at('09:00'), ['start-in-past Appointment.start']],
    ['a moment later', at('08:59'), []],
  ])('starts %s', (_, moment, issues) => {
    expect(issuesOf(plan(appointment(), stateOf(), { now: Date.parse(moment) }))).toEqual(issues);
  });

  it('gets all problems at once, with the status of the most serious one', () => {
    const taken = stateOf(schedule, { ...patient, active: false }, { ...free, status: 'busy' });
    const result = plan(appointment({ status: 'booked', specialty: [{}] }), taken, { now: now + 1e10 });
    expect(issuesOf(result)).toEqual([
      'status-not-proposed Appointment.status',
      'start-in-past Appointment.start',
      'profile-violation Appointment.specialty[0].coding',
      'slot-not-free Appointment.slot[0]',
      'patient-inactive Appointment.participant[0].actor',
    ]);
    expect(result.kind === 'refuse' && statusOf(result.issues)).toBe(422);
  });
});

describe('a slot that is taken', () => {
  it.each(['busy', 'busy-tentative', 'busy-unavailable', 'entered-in-error'] as const)(
    '(%s) is refused with 409',
    (status) => {
      const result = plan(appointment(), stateOf(schedule, patient, { ...free, status }));
      expect(issuesOf(result)).toEqual(['slot-not-free Appointment.slot[0]']);
      expect(result.kind === 'refuse' && statusOf(result.issues)).toBe(409);
    },
  );

  it('of a schedule that has no other is refused with 409', () => {
    const { slot: _, ...without } = appointment();
    const body = parameters(resourceParameter('appt-resource', without), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/calendar' },
    });
    expect(issuesOf(plan(body, stateOf(schedule, patient, { ...free, status: 'busy' })))).toEqual([
      'slot-not-free Parameters.parameter[1].valueReference',
    ]);
  });
});

it('a quota that is used up is told of at the start of the appointment, where that stands in the request', () => {
  const limit = { url: 'maxOpenPerPatient', valuePositiveInt: 1 };
  const limited: Schedule = {
    ...schedule,
    extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: [limit] }],
  };
  const state = stateOf(limited, patient, free);
  const open = stateOf(limited, free, appointment({ id: 'open', status: 'booked' }));
  const refused = (body: unknown) => {
    const judged = situation(body, state, { role: 'requestor' });
    const usage = new Map(
      judged.verdict.quotas.map((quota) => [
        quotaKey(quota),
        { row: { ...quotaRow(quota, config), id: 'r' }, found: open },
      ]),
    );
    return told(lastIssues({ ...judged, known: { ...judged.known, usage } }));
  };
  expect(refused(appointment())).toEqual(['patient-limit-reached Appointment.start']);
  expect(refused(parameters(resourceParameter('appt-resource', appointment())))).toEqual([
    'patient-limit-reached Parameters.parameter[0].resource.start',
  ]);
});
