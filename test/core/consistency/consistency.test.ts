import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource, Slot, Task } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { type ConsistencyContext, checkConsistency } from '../../../core/consistency/check.ts';
import { issuesOfTakenTime } from '../../../core/consistency/taken-time.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { told } from '../../lib/told.ts';
import { appointment, at, config, now, patient, requestor, schedule, slot, stateOf } from '../booking/support.ts';

const originSystem = artefactUri(config, 'LocalSlotOrigin');

describe('consistency', () => {
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
      [
        "one that names its buffers, as Medplum's $book writes it",
        [
          booked({ slot: [{ reference: 'Slot/nine' }, { reference: 'Slot/buffer' }], meta: {} }),
          busy,
          slot('buffer', '09:30', '09:40', { status: 'busy-unavailable', comment: 'buffer after appointment' }),
        ],
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

    it('a Bot of the clinic may block slots, a Bot of the service may not', () => {
      const bots = new Set(['Bot/ours']);
      expect(found([written(busy, 'Bot/theirs')], { bots })).toEqual([]);
      expect(found([written(busy, 'Bot/ours')], { bots })).toEqual(['slot-without-appointment Slot/nine']);
    });
  });
});

describe('taken time', () => {
  const config = resolveConfig({ baseUrl: 'http://localhost/fhir/R4' });
  const now = Date.parse('2031-01-06T07:00:00Z');
  const at = (time: string): string => `2031-01-06T${time}:00.000Z`;

  const slot = (id: string, status: Slot['status'], from: string, to: string, more: Partial<Slot> = {}): Slot => ({
    resourceType: 'Slot',
    id,
    schedule: { reference: 'Schedule/1' },
    status,
    start: at(from),
    end: at(to),
    ...more,
  });

  /** A Slot that was once on offer. */
  const offer = (id: string, status: Slot['status'], from: string, to: string) =>
    slot(id, status, from, to, { identifier: [{ system: originSystem, value: id }] });

  const stateOf = (resources: readonly Resource[]) =>
    new Map(resources.map((resource) => [`${resource.resourceType}/${resource.id}`, resource]));

  const find = (...resources: readonly Resource[]) =>
    told(
      issuesOfTakenTime(stateOf(resources), { now, config }).map(({ rule, resource, diagnostics }) => ({
        code: rule,
        diagnostics,
        expression: resource,
      })),
    );

  /** A Slot that was published for a place. */
  const published = (id: string, status: Slot['status'], from: string, to: string, lane = 1) =>
    slot(id, status, from, to, {
      identifier: [
        { system: artefactUri(config, 'LocalPublishedSlot'), value: `bookable/1/service/${at(from)}/${lane}` },
      ],
    });

  const external = slot('taking', 'busy', '09:00', '09:30');

  describe('the booked slots that were published for one place', () => {
    const first = published('a', 'busy', '09:00', '09:30');

    it.each<[string, Slot, string[]]>([
      ['overlap', published('b', 'busy-tentative', '09:15', '09:45'), ['time-taken-twice Slot/b']],
      ['touch', published('b', 'busy', '09:30', '10:00'), []],
      ['overlap on another place', published('b', 'busy', '09:15', '09:45', 2), []],
      ['and a free one', published('b', 'free', '09:15', '09:45'), []],
      ['overlap in the past', published('b', 'busy', '06:00', '06:30'), []],
    ])('%s', (_, other, expected) => {
      expect(find(first, other)).toEqual(expected);
    });
  });

  describe('what takes the time of a Schedule', () => {
    it.each<[string, Slot, string[]]>([
      ['a booking', offer('b', 'busy', '09:00', '10:00'), ['time-taken-twice Slot/taking']],
      ['a request', offer('b', 'busy-tentative', '09:15', '10:00'), ['time-taken-twice Slot/taking']],
      [
        'an offer that staff blocked',
        offer('b', 'busy-unavailable', '09:00', '10:00'),
        ['booking-blocked Slot/taking'],
      ],
      ['a free slot', offer('b', 'free', '09:00', '10:00'), ['free-over-taken Slot/b']],
      ['what touches it', offer('b', 'busy', '09:30', '10:00'), []],
      ['what is void', offer('b', 'entered-in-error', '09:00', '10:00'), []],
      [
        'the same time of another Schedule',
        { ...offer('b', 'busy', '09:00', '10:00'), schedule: { reference: 'Schedule/2' } },
        [],
      ],
    ])('compared with %s', (_, other, expected) => {
      expect(find(external, other)).toEqual(expected);
    });
  });
});
