import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import {
  bookedBeside,
  collisions,
  collisionTask,
  givenWay,
  givesWay,
} from '../../../../core/booking/slots/collision.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { calendarOf } from '../../../../core/slots/slot.ts';
import { appointment, at, config, now, slot } from '../support.ts';

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
  found(...given).map((one) => `${one.appointment.id} to ${one.taking.id}`);

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

  it('is nothing where it is over', () => {
    const end = Date.parse(at('09:40'));
    expect(losses(taking(), [nine], [holder('nine')], end)).toEqual([]);
    expect(losses(taking(), [nine], [holder('nine')], end - 1)).toEqual(loss);
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
    found(taking(own), [nine], [holder('nine', { id: 'a', ...more })]);

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

  test('what gives way is cancelled with a coded reason, and keeps everything else', () => {
    const [collision] = of({ status: 'pending', comment: 'kept' });
    expect(collision && givenWay(collision, config)).toMatchObject({
      id: 'a',
      status: 'cancelled',
      comment: 'kept',
      cancelationReason: { coding: [{ system: artefactUri(config, 'LocalBookingError'), code: 'slot-not-free' }] },
    });
  });

  test('the Task names the appointment, the patient and the slot, and is made once', () => {
    const [collision] = of({ status: 'booked' });
    const entry = collision && collisionTask(collision, config);
    expect(entry).toMatchObject({
      request: { method: 'POST', url: 'Task' },
      resource: {
        status: 'requested',
        priority: 'urgent',
        focus: { reference: 'Appointment/a' },
        for: { reference: 'Patient/anna' },
        reasonReference: { reference: 'Slot/taking' },
        code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'collision' }] },
      },
    });
    expect(Object.fromEntries(new URLSearchParams(entry?.request?.ifNoneExist))).toEqual({
      code: `${artefactUri(config, 'LocalTask')}|collision`,
      focus: 'Appointment/a',
      status: 'requested',
    });
  });
});
