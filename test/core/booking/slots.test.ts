import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { bookedBeside, collisions, givesWay } from '../../../core/booking/appointment/collision.ts';
import { heldSlotIssues } from '../../../core/booking/appointment/held.ts';
import { slotEntries } from '../../../core/booking/appointment/synchronize.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { calendarOf, type SlotUse } from '../../../core/slots/slot.ts';
import { told } from '../../lib/told.ts';
import { appointment, at, config, now, slot } from './support.ts';

const origin = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }];
const nine = slot('nine', '09:00', '09:30', { status: 'busy', identifier: origin });
const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };
const taking = (more: Partial<Slot> = {}): Slot => slot('taking', '09:10', '09:40', { status: 'busy', ...more });

const holder = (slotId: string, more: Partial<Appointment> = {}): Appointment =>
  appointment({ id: `of-${slotId}`, status: 'booked', slot: [{ reference: `Slot/${slotId}` }], ...more });

/** What is found once `written` was written: who loses its time to which Slot. */
function found(written: Slot, stored: readonly Slot[], appointments: readonly Appointment[], time: number = now) {
  const calendar = calendarOf([written, ...stored], config);
  const slot = calendar.get(written.id ?? '');
  return slot ? collisions(slot, bookedBeside(slot, [...calendar.values()]), appointments, time, config) : [];
}

const losses = (...given: Parameters<typeof found>): string[] =>
  found(...given).map((collision) => `${collision.appointment.id} to ${collision.externalSlot.id}`);

describe('what loses its time', () => {
  const loss = ['of-nine to taking'];
  it.each<[string, Slot, Slot, string[]]>([
    ['under a busy slot', taking(), nine, loss],
    ['under a block', taking({ status: 'busy-unavailable' }), nine, loss],
    ['a request', taking(), { ...nine, status: 'busy-tentative' }, loss],
    ['nothing on a free slot', taking(), { ...nine, status: 'free' }, []],
    ['nothing on a blocked one', taking(), { ...nine, status: 'busy-unavailable' }, []],
    ['nothing beside it', taking({ start: at('09:30') }), nine, []],
    [
      'nothing under a block for another service',
      taking({ status: 'busy-unavailable', serviceType: [{ text: 'other' }] }),
      { ...nine, serviceType: [{ text: 'one' }] },
      [],
    ],
    ['nothing on purpose', taking(onPurpose), nine, []],
    ['nothing to a free slot', taking({ status: 'free' }), nine, []],
    ['at one place, to an offer that was taken by hand', taking({ identifier: origin }), nine, loss],
    ['nothing to a buffer', taking({ status: 'busy-unavailable', comment: 'buffer after appointment' }), nine, []],
  ])('%s', (_, one, other, expected) => {
    expect(losses(one, [other], [holder('nine')])).toEqual(expected);
  });

  it('is found whichever of two Slots was written last: an offer taken by hand, and one that never was on offer', () => {
    const medplums = holder('taking', { status: 'proposed' });
    expect(losses(nine, [taking()], [medplums])).toEqual(['of-taking to nine']);
    expect(losses(taking(), [nine], [medplums])).toEqual(['of-taking to nine']);
    expect(losses(nine, [taking()], [medplums, holder('nine')])).toEqual([]);
  });

  it.each<[string, Partial<Appointment>, string[]]>([
    ['a cancelled one', { status: 'cancelled' }, []],
    ['an overbooking', { status: 'booked', ...onPurpose }, []],
    ['the one that has written it', { slot: [{ reference: 'Slot/nine' }, { reference: 'Slot/taking' }] }, []],
    [
      'a hold that is over',
      {
        status: 'proposed',
        extension: [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: '2026-12-31T23:59:59.999Z' }],
      },
      [],
    ],
  ])('is not %s', (_, more, expected) => {
    expect(losses(taking(), [nine], [holder('nine', more)])).toEqual(expected);
  });
});

describe('an appointment that loses its time', () => {
  const of = (more: Partial<Appointment>, own: Partial<Slot> = {}) =>
    found(taking(own), [nine], [holder('nine', { id: 'a', ...more }), holder('taking', { id: 'staff' })]);

  it.each<[Appointment['status'], Slot['status'], boolean]>([
    ['proposed', 'busy', true],
    ['pending', 'busy', true],
    ['booked', 'busy', false],
    ['arrived', 'busy', false],
    ['pending', 'busy-unavailable', false],
    ['pending', 'busy-tentative', false],
  ])('%s under %s: gives way by itself: %s', (status, taken, expected) => {
    expect(of({ status }, { status: taken }).map(givesWay)).toEqual([expected]);
  });
});

const booked = appointment({ id: 'a', status: 'booked' });
const stored = slot('nine', '09:00', '09:30', { status: 'busy' });

const issuesOf = (changed: Partial<Slot>, before: Slot | undefined, ...holders: readonly Appointment[]): string[] =>
  told(heldSlotIssues({ ...stored, ...changed }, before, holders, now, config));

const freed = 'transition-not-allowed Slot.status';

describe('a slot that an appointment holds', () => {
  it.each<[string, Partial<Slot>, string[]]>([
    ['may be written as it is', {}, []],
    ['may be written with its time in another spelling', { start: '2027-01-04T10:00:00+01:00' }, []],
    ['may be blocked', { status: 'busy-unavailable' }, []],
    ['may not become free', { status: 'free' }, [freed]],
    ['may be moved: its appointment follows', { start: at('08:45') }, []],
    ['may not be moved into the past', { start: '2026-12-31T09:00:00Z' }, ['start-in-past Slot.start']],
    ['may not go to another schedule', { schedule: { reference: 'Schedule/other' } }, ['slot-mismatch Slot']],
    ['may not become free elsewhere', { status: 'free', end: at('09:45') }, [freed]],
  ])('%s', (_, changed, expected) => {
    expect(issuesOf(changed, stored, booked)).toEqual(expected);
  });
});

it.each<[string, Slot | undefined, Appointment[]]>([
  ['no appointment holds', stored, []],
  ['only a cancelled appointment names', stored, [appointment({ id: 'a', status: 'cancelled' })]],
  ['is not stored yet', undefined, [booked]],
])('a slot that %s may be given any status, time and schedule', (_, before, holders) => {
  const changed: Partial<Slot> = { status: 'free', end: at('10:00'), schedule: { reference: 'Schedule/other' } };
  expect(issuesOf(changed, before, ...holders)).toEqual([]);
});

const originSystem = artefactUri(config, 'LocalSlotOrigin');
const piece = (origin: string): Partial<Slot> => ({ identifier: [{ system: originSystem, value: origin }] });
const with_ = (status: Appointment['status']): Appointment => appointment({ id: 'a', status });

/** What is written of the slots: `status start-end`. */
function written(
  given: Appointment,
  slots: readonly Slot[],
  lost: readonly Slot[] = [],
  uses: [string, SlotUse][] = [],
) {
  let count = 0;
  const entries = slotEntries(
    given,
    { slots, uses: new Map(uses), schedules: [], lost },
    config,
    () => `urn:uuid:${count++}`,
    now,
  );
  return entries.map(({ request, resource }) => {
    const found = isResource(resource, 'Slot') ? resource : undefined;
    return `${request?.method} ${found?.status} ${found?.start.slice(11, 16)}-${found?.end.slice(11, 16)}`;
  });
}

describe('slots that follow their appointment', () => {
  it.each<[Appointment['status'], Slot['status'], string[]]>([
    ['pending', 'free', ['PUT busy-tentative 09:00-09:30']],
    ['booked', 'busy-tentative', ['PUT busy 09:00-09:30']],
    ['booked', 'free', ['PUT busy 09:00-09:30']],
    ['booked', 'busy', []],
    ['arrived', 'busy-tentative', ['PUT busy 09:00-09:30']],
    ['fulfilled', 'busy', []],
    ['noshow', 'busy', []],
    ['proposed', 'free', []],
    ['cancelled', 'busy', ['PUT free 09:00-09:30']],
    ['cancelled', 'busy-tentative', ['PUT free 09:00-09:30']],
    ['cancelled', 'free', []],
    ['cancelled', 'busy-unavailable', []],
    ['entered-in-error', 'busy', ['PUT free 09:00-09:30']],
  ])('%s, the slot is %s', (status, slotStatus, expected) => {
    expect(written(with_(status), [slot('nine', '09:00', '09:30', { status: slotStatus, ...piece('nine') })])).toEqual(
      expected,
    );
  });

  it.each<[Appointment['status'], Slot['status'], SlotUse, string[]]>([
    ['cancelled', 'busy', 'held', []],
    ['cancelled', 'busy', 'confirmed', []],
    ['cancelled', 'busy', 'requested', ['PUT busy-tentative 09:00-09:30']],
    ['cancelled', 'busy-tentative', 'confirmed', ['PUT busy 09:00-09:30']],
    ['cancelled', 'busy', 'given-back', ['PUT free 09:00-09:30']],
    ['booked', 'busy-tentative', 'requested', ['PUT busy 09:00-09:30']],
    ['pending', 'busy-tentative', 'confirmed', ['PUT busy 09:00-09:30']],
    ['pending', 'busy', 'requested', []],
    ['proposed', 'busy-tentative', 'confirmed', []],
  ])('%s, the slot is %s, and for another appointment %s', (status, slotStatus, use, expected) => {
    const shared = slot('nine', '09:00', '09:30', { status: slotStatus, ...piece('nine') });
    expect(written(with_(status), [shared], [], [['nine', use]])).toEqual(expected);
  });

  it('are joined to whole time when they become free', () => {
    const slots = [
      slot('nine', '09:00', '09:30', { status: 'busy', ...piece('nine') }),
      slot('rest', '09:30', '12:00', piece('nine')),
    ];
    expect(written(with_('cancelled'), slots)).toEqual(['PUT free 09:00-12:00', 'PUT entered-in-error 09:30-12:00']);
  });

  it('never lose or double a minute', () => {
    const status = fc.constantFrom<Slot['status']>('free', 'busy', 'busy-tentative');
    const given = fc.constantFrom<Appointment['status']>('pending', 'booked', 'cancelled', 'fulfilled');
    fc.assert(
      fc.property(fc.array(status, { minLength: 1, maxLength: 5 }), given, (states, appointmentStatus) => {
        const clock = (half: number): string => new Date((16 + half) * 1_800_000).toISOString().slice(11, 16);
        const slots = states.map((one, index) =>
          slot(index === 0 ? 'nine' : `p${index}`, clock(index), clock(index + 1), {
            status: one,
            ...piece('nine'),
          }),
        );
        const entries = slotEntries(
          { ...with_(appointmentStatus), start: slots[0]?.start, end: slots[0]?.end },
          { slots, uses: new Map(), schedules: [], lost: [] },
          config,
          () => 'urn:uuid:x',
          now,
        );
        const after = new Map(slots.map((one) => [one.id, one]));
        for (const { resource } of entries) {
          if (isResource(resource, 'Slot')) {
            after.set(resource.id, resource);
          }
        }
        const minutes = (all: Iterable<Slot>) =>
          [...all]
            .filter((one) => one.status !== 'entered-in-error')
            .reduce((sum, { start, end }) => sum + Date.parse(end) - Date.parse(start), 0);
        expect(minutes(after.values())).toBe(minutes(slots));
      }),
    );
  });
});
