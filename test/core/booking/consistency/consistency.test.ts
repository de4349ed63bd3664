import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource, Slot, Task } from '@medplum/fhirtypes';
import { type ConsistencyContext, checkConsistency } from '../../../../core/booking/consistency/check.ts';
import { rules } from '../../../../core/booking/consistency/finding.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { told } from '../../../lib/told.ts';
import { appointment, at, config, now, patient, requestor, schedule, slot, stateOf } from '../support.ts';

const originSystem = artefactUri(config, 'LocalSlotOrigin');
const context: ConsistencyContext = { now, config };
const tag = [requestorTag(requestor, config)];

const written = (resource: Slot, author: string): Slot => ({ ...resource, meta: { author: { reference: author } } });
const piece = (id: string, start: string, end: string, more: Partial<Slot> = {}): Slot =>
  slot(id, start, end, { identifier: [{ system: originSystem, value: 'nine' }], ...more });
const busy = slot('nine', '09:00', '09:30', { status: 'busy' });
const booked = (more: Partial<Appointment> = {}): Appointment =>
  appointment({ id: 'a', status: 'booked', meta: { tag }, ...more });
const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };
const job = (more: Partial<Task>): Task => ({
  resourceType: 'Task',
  id: 't',
  status: 'requested',
  intent: 'order',
  code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
  ...more,
});

/** The findings as `rule Type/id`. */
function found(resources: readonly Resource[], more: Partial<ConsistencyContext> = {}): string[] {
  const state = stateOf(schedule, patient, ...resources);
  const findings = checkConsistency(state, { ...context, ...more });
  return told(findings.map(({ rule, resource, diagnostics }) => ({ code: rule, diagnostics, expression: resource })));
}

describe('what agrees', () => {
  it.each<[string, Resource[]]>([
    ['a booked appointment and its busy slot', [booked(), busy]],
    [
      'a pending one and its tentatively busy slot',
      [booked({ status: 'pending' }), { ...busy, status: 'busy-tentative' }],
    ],
    [
      'a cancelled one, its slot free, or held by another',
      [booked({ status: 'cancelled' }), booked({ id: 'b' }), busy],
    ],
    ['a fulfilled one, whatever its slot', [booked({ status: 'fulfilled' }), busy]],
    ['a slot that the clinic has blocked', [busy]],
    [
      'a piece that the clinic has blocked',
      [written(piece('p', '09:30', '10:00', { status: 'busy' }), 'Practitioner/x')],
    ],
    ['an overbooking on the slot of another', [booked(), booked({ id: 'b', meta: {}, ...onPurpose }), busy]],
    [
      'an overbooking on the slot of a request',
      [booked({ status: 'pending' }), booked({ id: 'b', ...onPurpose }), busy],
    ],
    ['an appointment of the clinic without a slot', [booked({ meta: {}, slot: [] })]],
    ['pieces that follow one another', [slot('nine', '09:00', '09:20'), piece('p', '09:20', '09:40')]],
    [
      'pieces around what takes the time between them',
      [
        slot('nine', '09:00', '09:20'),
        slot('taking', '09:20', '09:40', { status: 'busy-unavailable' }),
        piece('p', '09:40', '10:00'),
      ],
    ],
    [
      'an emptied piece',
      [slot('nine', '09:00', '10:00'), piece('p', '09:20', '09:40', { status: 'entered-in-error' })],
    ],
    ['a job that has just been handed in', [job({ meta: { lastUpdated: new Date(now - 1000).toISOString() } })]],
  ])('%s', (_, resources) => {
    expect(found(resources)).toEqual([]);
  });
});

describe('what does not', () => {
  it.each<[string, Resource[], string[]]>([
    ['booked, slot gone', [booked()], ['slot-missing Appointment/a']],
    ['booked, without a slot', [booked({ slot: [] })], ['slot-missing Appointment/a']],
    ['booked, slot free', [booked(), slot('nine', '09:00', '09:30')], ['slot-status Slot/nine']],
    ['pending, slot busy', [booked({ status: 'pending' }), busy], ['slot-status Slot/nine']],
    ['booked, slot tentative', [booked(), { ...busy, status: 'busy-tentative' }], ['slot-status Slot/nine']],
    ['slot longer than the appointment', [booked({ end: at('09:20') }), busy], ['slot-time Appointment/a']],
    ['slot shorter', [booked({ end: at('09:40') }), busy], ['slot-time Appointment/a']],
    ['two on one slot', [booked(), booked({ id: 'b' }), busy], ['slot-held-twice Slot/nine']],
    [
      'two on one slot, and an overbooking',
      [booked(), booked({ id: 'b' }), booked({ id: 'c', ...onPurpose }), busy],
      ['slot-held-twice Slot/nine'],
    ],
    ['taken by a Bot, held by nobody', [written(busy, 'Bot/x')], ['slot-without-appointment Slot/nine']],
    [
      'a piece, taken by nobody knows whom',
      [piece('p', '09:30', '10:00', { status: 'busy' })],
      ['slot-without-appointment Slot/p'],
    ],
    [
      'cancelled, slot still taken',
      [booked({ status: 'cancelled' }), written(busy, 'Bot/x')],
      ['slot-without-appointment Slot/nine'],
    ],
    ['pieces overlap', [slot('nine', '09:00', '09:30'), piece('p', '09:20', '10:00')], ['fragments-overlap Slot/p']],
    [
      'schedule gone',
      [slot('x', '09:00', '09:30', { schedule: { reference: 'Schedule/no' } })],
      ['reference-missing Slot/x'],
    ],
    [
      'answers gone',
      [booked({ supportingInformation: [{ reference: 'QuestionnaireResponse/q' }] }), busy],
      ['reference-missing Appointment/a'],
    ],
    [
      'patient gone',
      [booked({ participant: [{ actor: { reference: 'Patient/no' }, status: 'accepted' }] }), busy],
      ['reference-missing Appointment/a'],
    ],
    [
      'a job from yesterday',
      [job({ meta: { lastUpdated: new Date(now - 86_400_000).toISOString() } })],
      ['job-left-over Task/t'],
    ],
    [
      'a job whose appointment is gone',
      [job({ status: 'completed', output: [{ type: {}, valueReference: { reference: 'Appointment/no' } }] })],
      ['reference-missing Task/t'],
    ],
    [
      'answers without an appointment',
      [{ resourceType: 'QuestionnaireResponse', id: 'q', status: 'completed', meta: { tag } }],
      ['answers-left-over QuestionnaireResponse/q'],
    ],
    [
      'a patient of a booking without one',
      [{ ...patient, id: 'b', meta: { tag, author: { reference: 'Bot/x' } } }],
      ['patient-left-over Patient/b'],
    ],
  ])('%s', (_, resources, expected) => {
    expect(found(resources)).toEqual(expected);
  });

  it('a finding says what holds what, and names five', () => {
    const said = (...resources: Resource[]) =>
      checkConsistency(stateOf(schedule, patient, ...resources), context).map(({ diagnostics }) => diagnostics);
    const holders = [...'abcdefg'].map((id) => booked({ id }));
    expect(said(...holders, busy)).toEqual([
      'It is held by Appointment/a and Appointment/b and Appointment/c and Appointment/d and Appointment/e and 2 more.',
    ]);
    expect(said(...holders.slice(0, 5), busy)[0]).toMatch(/Appointment\/e\.$/);
    expect(said(booked({ end: at('09:20') }), busy)).toEqual([
      `Its time is ${at('09:00')} – ${at('09:20')}, on Schedule/calendar it holds Slot/nine ${at('09:00')} – ${at('09:30')}.`,
    ]);
  });

  it('a job has booked what is there, and leads to appointments only', () => {
    const leadingTo = (reference: string) =>
      job({ status: 'completed', output: [{ type: {}, valueReference: { reference } }] });
    expect(found([leadingTo('Appointment/gone')])).toEqual(['reference-missing Task/t']);
    expect(found([leadingTo('Appointment/a'), booked(), busy])).toEqual([]);
    expect(found([leadingTo('Patient/gone')])).toEqual([]);
  });

  it('a Bot of the clinic may block slots, a Bot of the service may not', () => {
    const bots = new Set(['Bot/ours']);
    expect(found([written(busy, 'Bot/theirs')], { bots })).toEqual([]);
    expect(found([written(busy, 'Bot/ours')], { bots })).toEqual(['slot-without-appointment Slot/nine']);
  });
});

it('leftovers are warnings, everything else is an error', () => {
  const warnings = Object.entries(rules).flatMap(([name, { severity }]) => (severity === 'warning' ? [name] : []));
  expect(warnings).toEqual([
    'booking-blocked',
    'free-over-taken',
    'published-differs',
    'answers-left-over',
    'patient-left-over',
  ]);
});
