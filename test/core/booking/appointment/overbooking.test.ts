import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource, Slot } from '@medplum/fhirtypes';
import { overbookingIssues } from '../../../../core/booking/appointment/overbooking.ts';
import { holdExtensions } from '../../../../core/booking/hold/hold.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { appointment, at, config, now, schedule, slot, stateOf } from '../support.ts';

const made = (more: Partial<Appointment> = {}): Appointment => appointment({ status: 'booked', ...more });
const url = artefactUri(config, 'LocalOverbooking');
const onPurpose = (valueBoolean: boolean) => ({ extension: [{ url: 'urn:x' }, { url, valueBoolean }] });
const nine = slot('nine', '09:00', '09:30');
const other = (more: Partial<Appointment> = {}): Appointment => ({ ...made(more), id: 'other' });

function issues(created: Appointment, resources: readonly Resource[], offered: readonly string[] = []): string[] {
  const found = overbookingIssues(created, stateOf(schedule, ...resources), new Set(offered), now, config);
  return found.map(({ code, diagnostics, expression }) => `${code} ${expression}: ${diagnostics.split('. ')[0]}`);
}

describe('a new appointment of staff', () => {
  it('on free slots is no overbooking', () => {
    expect(issues(made(), [nine])).toEqual([]);
  });

  it.each(['booked', 'pending', 'proposed', 'arrived', 'noshow'] as const)(
    'on a slot that one that is %s holds is an overbooking, and is told how to mean it',
    (status) => {
      const told = issues(made(), [nine, other({ status })]);
      expect(told).toEqual(['schedule-overbooked Appointment.slot[0]: Slot/nine is held by Appointment/other']);
      const [issue] = overbookingIssues(made(), stateOf(nine, other({ status })), new Set(), now, config);
      expect(issue?.diagnostics).toContain(`add the extension ${url} with valueBoolean true`);
    },
  );

  it('on a slot that nobody holds any more is none', () => {
    const ended = [
      other({ status: 'cancelled' }),
      other({ status: 'proposed', extension: holdExtensions(now, false, config) }),
    ];
    for (const one of ended) {
      expect(issues(made(), [nine, one])).toEqual([]);
      expect(issues(made(), [{ ...nine, status: 'busy-tentative' }, one])).toEqual([]);
    }
    const holding = other({ status: 'proposed', extension: holdExtensions(now + 1, false, config) });
    expect(issues(made(), [nine, holding])).toHaveLength(1);
  });

  it('is not in its own way', () => {
    expect(issues({ ...made(), id: 'other' }, [nine, other()])).toEqual([]);
  });

  it.each<[string, Partial<Appointment>]>([
    ['on purpose', onPurpose(true)],
    ['that took place', { status: 'fulfilled' }],
  ])('%s may stand where another one stands', (_, more) => {
    expect(issues(made(more), [nine, other()])).toEqual([]);
  });

  it('that only mentions overbooking does not mean it', () => {
    expect(issues(made(onPurpose(false)), [nine, other()])).toHaveLength(1);
  });

  const block = (id: string, from: string, to: string, more: Partial<Slot> = {}) =>
    slot(id, from, to, { status: 'busy', ...more });

  it('on time that something else takes is an overbooking, unless that was once on offer', () => {
    const told = [
      `schedule-overbooked Appointment.slot[0]: Slot/x takes the time from ${at('09:15')} to ${at('10:00')}`,
    ];
    expect(issues(made(), [nine, block('x', '09:15', '10:00')])).toEqual(told);
    expect(issues(made(), [nine, block('x', '09:15', '10:00')], ['x'])).toEqual([]);
    expect(issues(made(), [nine, block('x', '09:30', '10:00')])).toEqual([]);
    expect(issues(made({ end: 'x' }), [nine, block('x', '09:15', '10:00')])).toEqual([]);
  });

  it('on time that only one takes whose own is over is none', () => {
    const over = other({
      status: 'proposed',
      extension: holdExtensions(now, false, config),
      slot: [{ reference: 'Slot/x' }],
    });
    const holding = { ...over, extension: holdExtensions(now + 1, false, config) };
    const slots = [nine, block('x', '09:15', '10:00')];
    expect([issues(made(), [...slots, over]), issues(made(), [...slots, holding])]).toEqual([[], [expect.any(String)]]);
  });

  it('names each slot at fault once, whatever is in its way', () => {
    const room = slot('room', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
    const both = { slot: [{ reference: 'Slot/nine' }, { reference: 'Slot/room' }] };
    const inRoom = block('x', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
    expect(issues(made(both), [nine, room, inRoom, block('y', '09:00', '09:30'), other()])).toEqual([
      'schedule-overbooked Appointment.slot[0]: Slot/nine is held by Appointment/other',
      `schedule-overbooked Appointment.slot[1]: Slot/x takes the time from ${at('09:00')} to ${at('09:30')}`,
    ]);
  });
});
