import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { collisions, collisionTask, givenWay, givesWay, slotsUnder } from '../../../../core/booking/slots/collision.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { appointment, at, config, now, slot } from '../support.ts';

const origin = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }];
const nine = slot('nine', '09:00', '09:30', { status: 'busy', identifier: origin });
const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };
const taking = (more: Partial<Slot> = {}): Slot => slot('taking', '09:10', '09:40', { status: 'busy', ...more });

function under(one: Slot, other: Slot = nine, at: number = now): string[] | undefined {
  return slotsUnder(one, [one, other], at, config)?.under.map(({ id }) => id);
}

describe('the booked slots under what somebody writes', () => {
  it.each<[string, Slot, Slot, string[] | undefined]>([
    ['a busy slot', taking(), nine, ['nine']],
    ['a block', taking({ status: 'busy-unavailable' }), nine, ['nine']],
    ['over a request', taking(), { ...nine, status: 'busy-tentative' }, ['nine']],
    ['over a free slot', taking(), { ...nine, status: 'free' }, []],
    ['over a block', taking(), { ...nine, status: 'busy-unavailable' }, []],
    ['beside it', taking({ start: at('09:30') }), nine, []],
    [
      'a block for another service',
      taking({ status: 'busy-unavailable', serviceType: [{ text: 'other' }] }),
      { ...nine, serviceType: [{ text: 'one' }] },
      [],
    ],
    ['on purpose', taking(onPurpose), nine, undefined],
    ['a free slot', taking({ status: 'free' }), nine, undefined],
    ['an offer that was taken', taking({ identifier: origin }), nine, undefined],
    ['a buffer', taking({ status: 'busy-unavailable', comment: 'buffer after appointment' }), nine, undefined],
  ])('%s', (_, one, other, expected) => {
    expect(under(one, other)).toEqual(expected);
  });

  it('are none where it is over', () => {
    expect(under(taking(), nine, Date.parse(at('09:40')))).toBeUndefined();
    expect(under(taking(), nine, Date.parse(at('09:40')) - 1)).toEqual(['nine']);
    expect(slotsUnder(taking(), [nine], now, config)).toBeUndefined();
  });
});

describe('the appointments that lose their time', () => {
  const found = (more: Partial<Appointment>, own: Partial<Slot> = {}) => {
    const seen = slotsUnder(taking(own), [taking(own), nine], now, config);
    return seen ? collisions(seen.taking, [appointment({ id: 'a', ...more })], now, config) : [];
  };

  it.each<[string, Partial<Appointment>, number]>([
    ['a booked one', { status: 'booked' }, 1],
    ['a request', { status: 'pending' }, 1],
    ['a cancelled one', { status: 'cancelled' }, 0],
    ['an overbooking', { status: 'booked', ...onPurpose }, 0],
    [
      'the one that has written it',
      { status: 'booked', slot: [{ reference: 'Slot/nine' }, { reference: 'Slot/taking' }] },
      0,
    ],
    [
      'a hold that is over',
      { extension: [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: '2026-12-31T23:59:59.999Z' }] },
      0,
    ],
  ])('%s', (_, more, expected) => {
    expect(found(more)).toHaveLength(expected);
  });

  it.each<[Appointment['status'], Slot['status'], boolean]>([
    ['proposed', 'busy', true],
    ['pending', 'busy', true],
    ['booked', 'busy', false],
    ['arrived', 'busy', false],
    ['pending', 'busy-unavailable', false],
    ['pending', 'busy-tentative', false],
  ])('%s under %s: gives way by itself: %s', (status, taken, expected) => {
    expect(found({ status }, { status: taken }).map(givesWay)).toEqual([expected]);
  });

  test('what gives way is cancelled with a coded reason, and keeps everything else', () => {
    const [collision] = found({ status: 'pending', comment: 'kept' });
    expect(collision && givenWay(collision, config)).toMatchObject({
      id: 'a',
      status: 'cancelled',
      comment: 'kept',
      cancelationReason: { coding: [{ system: artefactUri(config, 'LocalBookingError'), code: 'slot-not-free' }] },
    });
  });

  test('the Task names the appointment, the patient and the slot, and is made once', () => {
    const [collision] = found({ status: 'booked' });
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
