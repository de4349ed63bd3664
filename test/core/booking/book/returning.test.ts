import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { type BookingPlan, planBooking } from '../../../../core/booking/book/plan.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { formatKey } from '../../../../core/calendar/slots/published-slot.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import {
  appointment,
  at,
  config,
  issuesOf,
  now,
  parameters,
  patient,
  plan,
  requestor,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  unchanged,
  written,
} from '../support.ts';

/** A Slot of an hour that was published. */
function published(id: string, start: string, end: string, status: Slot['status']): Slot {
  const key = formatKey({ kind: 'offer', schedule: 'calendar', service: 'ct', start: Date.parse(at(start)), place: 1 });
  const identifier = [{ system: artefactUri(config, 'LocalPublishedSlot'), value: key }];
  return slot(id, start, end, { status, identifier });
}

const own = published('nine', '09:00', '10:00', 'busy');
const withdrawn = published('half', '09:30', '10:30', 'entered-in-error');
const later = published('ten', '10:00', '11:00', 'free');
const booked: Appointment = {
  ...appointment({ id: 'known', status: 'booked', end: at('10:00') }),
  meta: { versionId: 'known-1', tag: [requestorTag(requestor, config)] },
};
const state = stateOf(schedule, patient, own, withdrawn, later, booked);
const move = (more: Partial<Appointment> = {}) =>
  appointment({ id: 'known', start: at('09:30'), end: at('10:30'), slot: [{ reference: 'Slot/half' }], ...more });

const returning = [{ stored: withdrawn, resource: { ...withdrawn, status: 'free' as const }, group: 'half' }];
const known = { fragments: { slots: [], uses: new Map() }, histories: unchanged(state), role: 'requestor' as const };
const context = { now, requestor, config, newId: () => 'urn:uuid:1' };

const slots = (result: ReturnType<typeof plan>) => written(result, 'Slot').map(({ id, status }) => `${id} ${status}`);

describe('a move to a Slot that its own appointment has withdrawn', () => {
  it('takes it, and withdraws what is free beside it, its own earlier one too, each in the version that was read', () => {
    const result = plan(move(), state, {}, undefined, 'requestor', { returning });
    expect(slots(result).sort()).toEqual(['half busy', 'nine entered-in-error', 'ten entered-in-error']);
    const entries = result.kind === 'write' ? (result.transaction.entry ?? []) : [];
    const conditions = entries.flatMap(({ request }) =>
      request?.url?.startsWith('Slot/') ? `${request.url} ${request.ifMatch}` : [],
    );
    expect(conditions.sort()).toEqual(['Slot/half W/"half-1"', 'Slot/nine W/"nine-1"', 'Slot/ten W/"ten-1"']);
  });

  it('asks for what returns before it is refused, and is refused if that is nothing', () => {
    const body = parseBookRequest(move(), config);
    const asked = planBooking(body, state, context, known);
    expect(asked).toEqual({
      kind: 'read',
      wanted: {
        returning: {
          schedules: ['calendar'],
          givenBack: ['nine'],
          appointments: ['known'],
          time: { start: Date.parse(at('09:00')), end: Date.parse(at('10:30')) },
        },
      },
    });
    const refused = planBooking(body, state, context, { ...known, returning: [] });
    expect(issuesOf(refused)).toEqual(['slot-not-free Appointment.slot[0]']);
  });

  it.each<[string, Appointment]>([
    ['a new booking', { ...move(), id: 'unknown' }],
    ['a move to another week', move({ start: '2027-01-14T09:30:00.000Z', end: '2027-01-14T10:30:00.000Z' })],
    ['a move that is far too long', move({ end: '2029-01-04T10:30:00.000Z' })],
  ])('%s asks for nothing', (_, body) => {
    expect(planBooking(parseBookRequest(body, config), state, context, known)).toMatchObject({ kind: 'refuse' });
  });

  it('writes what changes together with the Slot that it takes', () => {
    const late = published('late', '10:30', '11:30', 'free');
    const more = [
      ...returning,
      { stored: late, resource: { ...late, status: 'entered-in-error' as const }, group: 'half' },
    ];
    const result = plan(move(), state, {}, undefined, 'requestor', { returning: more });
    expect(slots(result)).toEqual(expect.arrayContaining(['half busy', 'late entered-in-error']));
  });

  it.each<[string, string, BookingPlan['kind']]>([
    ['only the beginning of a published Slot', at('10:30'), 'read'],
    ['a published Slot as a whole', at('11:00'), 'write'],
  ])('by its Schedule alone into %s, until %s: the next step is to %s', (_, end, kind) => {
    const { slot: __, ...body } = move({ start: at('10:00'), end });
    const named = { name: 'schedule', valueReference: { reference: 'Schedule/calendar' } };
    const request = parseBookRequest(parameters(resourceParameter('appt-resource', body), named), config);
    const result = planBooking(request, state, context, known);
    expect(result.kind).toBe(kind);
    expect(result.kind === 'read' && result.wanted.returning !== undefined).toBe(kind === 'read');
  });

  it('leaves what returns elsewhere to the publication', () => {
    const early = published('early', '08:30', '09:30', 'entered-in-error');
    const more = [...returning, { stored: early, resource: { ...early, status: 'free' as const }, group: 'early' }];
    const result = plan(move(), state, {}, undefined, 'requestor', { returning: more });
    expect(slots(result)).not.toContain('early free');
  });
});

describe('a move of an appointment whose Slot was never on offer', () => {
  const native = slot('native', '09:00', '09:30', { status: 'busy' });
  const buffer = slot('after', '09:30', '09:40', { status: 'busy-unavailable', comment: 'buffer after appointment' });
  const staffs = { ...booked, end: at('09:30'), slot: ['native', 'after'].map((id) => ({ reference: `Slot/${id}` })) };
  const ten = slot('ten', '10:00', '10:30');
  const given = stateOf(schedule, patient, native, buffer, ten, staffs);
  const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), slot: [{ reference: 'Slot/ten' }] });

  it('puts neither it nor its buffer on offer', () => {
    const result = plan(body, given, { offered: new Set() }, undefined, 'repository');
    expect(slots(result).sort()).toEqual(['after entered-in-error', 'native entered-in-error', 'ten busy']);
  });

  it('gives back one that was on offer once, as its history shows', () => {
    const result = plan(body, given, { offered: new Set(['native']) }, undefined, 'repository');
    expect(slots(result).sort()).toEqual(['after entered-in-error', 'native free', 'ten busy']);
  });

  it('offers nothing of it when it is shortened, and keeps it when it stays', () => {
    const shorter = appointment({ id: 'known', end: at('09:20'), slot: [{ reference: 'Slot/native' }] });
    const result = plan(shorter, given, { offered: new Set() }, undefined, 'repository');
    expect(slots(result)).toContain('native busy');
    expect(slots(result).filter((one) => one.endsWith('free'))).toEqual([]);
    const same = appointment({ id: 'known', slot: [{ reference: 'Slot/native' }] });
    expect(slots(plan(same, given, { offered: new Set() }, undefined, 'repository'))).toEqual([
      'after entered-in-error',
    ]);
  });
});
