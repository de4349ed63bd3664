import { describe, expect, test } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { ORIGINATING, PREVIOUS, RECURRENCE_ID, requestorTag } from '../../../core/fhir/tags.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import {
  appointment,
  at,
  config,
  issuesOf,
  parameters,
  patient,
  plan,
  requestor,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  written,
} from '../booking/support.ts';
import { follows, minutes, schedules, series, step, visiting } from './fixtures.ts';

/** Blood in the calendar, then the ECG in the room, within an hour. */
const twoSteps = [
  step('Blood', ...schedules('calendar')),
  step('ECG', ...schedules('room'), follows('Blood'), minutes('gapMax', 60)),
];
const byStep: Extension = { url: 'byStep', valueBoolean: true };
const room: Schedule = { ...schedule, id: 'room' };
const inRoom = { schedule: { reference: 'Schedule/room' } };

const free = [
  slot('nine', '09:00', '09:30'),
  slot('ten', '10:00', '10:30', inRoom),
  slot('eleven', '11:00', '11:30', inRoom),
  slot('noon', '12:00', '12:30'),
  slot('one', '13:00', '13:30', inRoom),
];
const world = (...more: Resource[]) => stateOf(schedule, room, patient, ...free, ...more);

const proposal = (name: string, id: string, start: string, end: string, more: Partial<Appointment> = {}) =>
  appointment({
    start: at(start),
    end: at(end),
    slot: [{ reference: `Slot/${id}` }],
    extension: [stepExtension({ service: 'visit', step: name }, config)],
    ...more,
  });
const blood = proposal('Blood', 'nine', '09:00', '09:30');
const ecg = proposal('ECG', 'ten', '10:00', '10:30');
/** Without saying which step it is. */
const unmarked = ({ extension: _, ...rest }: Appointment): Appointment => rest;
const several = (...steps: Appointment[]) => parameters(...steps.map((one) => resourceParameter('appt-resource', one)));

const decide = (body: unknown, visit: HealthcareService, state = world(), role: 'requestor' | 'staff' = 'requestor') =>
  plan(body, state, {}, undefined, role, { visits: stateOf(visit) });

/** The visit as it is booked, at nine and ten. */
const booked = (...steps: Appointment[]): Resource[] => withSlots('booked', ...steps);
function withSlots(status: 'booked' | 'proposed', ...steps: Appointment[]): Resource[] {
  return steps.flatMap((one, index): Resource[] => {
    const id = index === 0 ? 'blood' : 'ecg';
    const [reference] = one.slot ?? [];
    const taken = free.find((other) => `Slot/${other.id}` === reference?.reference);
    const identifier = [{ system: artefactUri(config, 'LocalVisitGroup'), value: 'a' }];
    const meta = { versionId: '1', tag: [requestorTag(requestor, config)] };
    return [
      { ...one, id, status, identifier, meta },
      ...(taken
        ? [
            {
              ...taken,
              status: status === 'booked' ? ('busy' as const) : ('busy-tentative' as const),
              identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: taken.id }],
            },
          ]
        : []),
    ];
  });
}
const stored = world(...booked(blood, ecg));

/** Which of a series appointments say that they are. */
const numbersOf = (appointments: readonly Appointment[]) =>
  appointments.map(({ extension = [] }) =>
    extension.flatMap(({ url, valuePositiveInt }) => (url === RECURRENCE_ID ? [valuePositiveInt] : [])),
  );

describe('a visit is booked', () => {
  test.each([
    ['with a step missing', [blood], 'Appointment'],
    ['with an appointment that is no step', [blood, unmarked(ecg)], 'Parameters.parameter[1].resource.extension'],
  ])('not %s', (_, steps, at) => {
    const body = steps.length === 1 ? steps[0] : several(...steps);
    const found = issuesOf(decide(body, visiting(...twoSteps)));
    expect(found.join()).toContain(at);
    expect(found.every((one) => one.startsWith('visit-mismatch'))).toBe(true);
  });

  test('a series, in part too', () => {
    const weekly = series(3, { url: 'every', valueDuration: { value: 1, code: 'wk' } });
    const ofService = { ...schedule, actor: [{ reference: 'HealthcareService/visit' }] };
    const result = decide(proposal('2', 'nine', '09:00', '09:30'), visiting(weekly), world(ofService));
    expect(written(result, 'Appointment')).toHaveLength(1);
    const next = slot('next', '09:00', '09:30', { start: '2027-01-11T09:00:00Z', end: '2027-01-11T09:30:00Z' });
    const second = proposal('2', 'next', '', '', { start: next.start, end: next.end });
    const both = decide(
      several(proposal('1', 'nine', '09:00', '09:30'), second),
      visiting(weekly),
      world(ofService, next),
    );
    expect(numbersOf(written(both, 'Appointment'))).toEqual([[1], [2]]);
  });
});

describe('a visit is moved', () => {
  test('not in part, unless its service lets it', () => {
    const alone = { ...proposal('ECG', 'one', '13:00', '13:30'), id: 'ecg' };
    expect(issuesOf(decide(alone, visiting(...twoSteps), stored))).toEqual([
      'visit-mismatch Appointment.id',
      'visit-mismatch Appointment.start',
    ]);
    const near = { ...proposal('ECG', 'one', '10:00', '10:30', { slot: [{ reference: 'Slot/ten' }] }), id: 'ecg' };
    expect(issuesOf(decide(near, visiting(...twoSteps, byStep), stored))).toEqual([]);
    expect(issuesOf(decide(alone, visiting(...twoSteps, byStep), stored))).toEqual([
      'visit-mismatch Appointment.start',
    ]);
    expect(decide(alone, visiting(...twoSteps), stored, 'staff').kind).toBe('write');
  });

  /** A series of three at nine, which is booked, and the same days at twelve, where they are free, also with somebody else. */
  function aSeries(...more: Extension[]) {
    const weekly = visiting(series(3, { url: 'every', valueDuration: { value: 1, code: 'wk' } }, ...more));
    const each = (name: string, from: string, to: string, schedule = 'calendar') =>
      [4, 11, 18].map((day, index) =>
        slot(`${name}${index}`, '', '', {
          start: `2027-01-${String(day).padStart(2, '0')}T${from}:00Z`,
          end: `2027-01-${String(day).padStart(2, '0')}T${to}:00Z`,
          schedule: { reference: `Schedule/${schedule}` },
        }),
      );
    const [at9, at12, elsewhere] = [
      each('w', '09:00', '09:30'),
      each('n', '12:00', '12:30'),
      each('r', '09:00', '09:30', 'room'),
    ];
    const on = ({ id = '', start, end }: (typeof at9)[number], index: number) =>
      proposal(String(index + 1), id, '', '', { id: `one${index + 1}`, start, end });
    const identifier = [{ system: artefactUri(config, 'LocalVisitGroup'), value: 'a' }];
    const meta = { versionId: '1', tag: [requestorTag(requestor, config)] };
    const link = (url: string, index: number) =>
      index < 0 ? [] : [{ url, valueReference: { reference: `Appointment/one${index + 1}` } }];
    const linked = (index: number) => [...link(PREVIOUS, index - 1), ...link(ORIGINATING, index > 0 ? 0 : -1)];
    const before = at9.map((one, index): Appointment => {
      const { extension = [], ...made } = on(one, index);
      const number = { url: RECURRENCE_ID, valuePositiveInt: index + 1 };
      return { ...made, extension: [...extension, ...linked(index), number], status: 'booked', identifier, meta };
    });
    const busy = at9.map((one): Resource => ({ ...one, status: 'busy' }));
    const ofService = [schedule, room].map((one) => ({ ...one, actor: [{ reference: 'HealthcareService/visit' }] }));
    const state = stateOf(...ofService, patient, ...before, ...busy, ...at12, ...elsewhere);
    return { weekly, state, linked, moved: at12.map(on), elsewhere: elsewhere.map(on) };
  }

  test('as a series: one near to the others, or so many that what stays is an exception', () => {
    const { weekly, state, linked, moved } = aSeries();
    const [first, second, third] = moved as [Appointment, Appointment, Appointment];
    expect(issuesOf(decide(third, weekly, state))).toEqual(['visit-mismatch Appointment.start']);
    const rest = written(decide(several(second, third), weekly, state), 'Appointment');
    expect(
      rest.map(({ extension = [] }) => extension.filter(({ url }) => [PREVIOUS, ORIGINATING].includes(url))),
    ).toEqual([linked(1), linked(2)].map((links) => expect.arrayContaining(links)));
    expect(issuesOf(decide(several(first, second, third), weekly, state))).toEqual([]);
    const swapped = several(first, { ...second, id: 'one3' }, { ...third, id: 'one2' });
    expect(numbersOf(written(decide(swapped, weekly, state), 'Appointment'))).toEqual([[1], [2], [3]]);
  });

  test('not away from whom its steps have in common, whichever of them moves', () => {
    const { weekly, state, elsewhere } = aSeries({ url: 'sameActor', valueBoolean: true });
    for (const one of elsewhere) {
      expect(issuesOf(decide(one, weekly, state))).toEqual(['visit-mismatch Appointment.slot']);
    }
    const anywhere = schedules('calendar', 'room');
    const same = [step('Blood', ...anywhere), step('ECG', ...anywhere, { url: 'sameAs', valueString: 'Blood' })];
    const noon = proposal('ECG', 'noon', '12:00', '12:30');
    const alone = { ...proposal('Blood', 'ten', '10:00', '10:30'), id: 'blood' };
    expect(issuesOf(decide(alone, visiting(...same, byStep), world(...booked(blood, noon))))).toEqual([
      'visit-mismatch Appointment.slot',
    ]);
  });

  test('not by half: as another step than it is, of what is only held, or in place of something else', () => {
    const asBlood = { ...proposal('Blood', 'noon', '12:00', '12:30'), id: 'ecg' };
    const long = [step('Blood', ...schedules('calendar')), step('ECG', ...schedules('room'))];
    expect(issuesOf(decide(asBlood, visiting(...long, byStep), stored))).toEqual([
      'visit-mismatch Appointment.extension',
    ]);
    const until = { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: at('08:00') };
    const held = [blood, ecg].map((one) => ({ ...one, extension: [...(one.extension ?? []), until] }));
    const half = { ...blood, id: 'blood' };
    expect(issuesOf(decide(half, visiting(...long, byStep), world(...withSlots('proposed', ...held))))).toEqual([
      'visit-mismatch Appointment',
    ]);
    const { weekly, state } = aSeries();
    const other = { ...visiting(...long), id: 'other' };
    const alone = { ...proposal('Blood', 'noon', '12:00', '12:30') };
    const body = parameters(
      resourceParameter('appt-resource', {
        ...alone,
        extension: [stepExtension({ service: 'other', step: 'Blood' }, config)],
      }),
      { name: 'cancelled-appt-id', valueUri: 'one2' },
    );
    const both = new Map([...world(), ...[...state].filter(([key]) => key !== 'Slot/n0')]);
    const result = plan(body, both, {}, undefined, 'requestor', { visits: stateOf(weekly, other) });
    expect(issuesOf(result)).toEqual(['visit-mismatch Parameters.parameter']);
  });
});
