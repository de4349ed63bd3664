import { describe, expect, it } from '@jest/globals';
import { aClinic, aSlot, book, minutes, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { aBooking, cancellation, patch, read } from './fixtures.ts';

describe('PATCH that cancels', () => {
  it.each<[string, unknown]>([
    ['FHIRPath Patch', cancellation],
    ['JSON Patch', [{ op: 'replace', path: '/status', value: 'cancelled' }]],
  ])('%s: 200, a new version, the slot is free in the same moment', async (_, body) => {
    const { schedule, slot, patient, booked, id } = await aBooking();
    const answer = await patch(id, body);
    const cancelled = resourceIn('Appointment', answer);
    expect(answer.status).toBe(200);
    expect(cancelled).toMatchObject({ id, status: 'cancelled', start: booked.start, slot: booked.slot });
    expect(cancelled.meta?.versionId).not.toBe(booked.meta?.versionId);
    expect(answer.headers.get('etag')).toBe(`W/"${cancelled.meta?.versionId}"`);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await read(id)).toEqual(cancelled);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('a part of a slot is whole free time again', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(240) });
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { from: 60, to: 90 })));
    expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['free 0-240']);
  });

  it('frees all slots of several schedules', async () => {
    const [{ schedule, slot, patient }, room] = [await aClinic(), await aClinic()];
    const booked = succeeded('Appointment', await book(proposed(patient, [slot, room.slot])));
    expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
    expect([await slotsOf(schedule), await slotsOf(room.schedule)]).toEqual([['free 0-30'], ['free 0-30']]);
  });

  it('leaves the neighbour of a split slot alone', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(60) });
    const first = succeeded('Appointment', await book(proposed(patient, [slot], { from: 0, to: 30 })));
    const other = await aSlot(schedule, 100, 130);
    const second = succeeded('Appointment', await book(proposed(patient, [slot], { from: 30, to: 60 })));
    expect((await patch(first.id ?? '', cancellation)).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 30-60', 'free 100-130']);
    expect((await read(second.id ?? '')).status).toBe('booked');
    expect(other.status).toBe('free');
  });

  it('twice: the second one changes nothing', async () => {
    const { id } = await aBooking();
    const first = resourceIn('Appointment', await patch(id, cancellation));
    const again = await patch(id, cancellation);
    expect([again.status, again.body]).toEqual([200, first]);
  });
});
