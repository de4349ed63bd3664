import { describe, expect, it } from '@jest/globals';
import { until } from '../../lib/until.ts';
import { slotsOf } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { aBooking } from '../patch/fixtures.ts';
import { aPending, inMedplum } from './fixtures.ts';

/** Medplum's own operations are there from 5.1 on; where they are not, there is nothing to keep working. */
const call = (id: string, operation: string) =>
  medplum('front-desk', 'POST', `/Appointment/${id}/$${operation}`, {
    body: { resourceType: 'Parameters', parameter: [] },
  });

describe("Medplum's own operations, called by clinic staff", () => {
  it('$confirm: booked, the slot busy', async () => {
    const { schedule, id } = await aPending();
    const { status, text } = await call(id, 'confirm');
    if (status !== 404) {
      expect([status, text]).toEqual([200, expect.any(String)]);
      expect((await inMedplum(id)).status).toBe('booked');
      await until(
        () => slotsOf(schedule),
        (slots) => slots.join() === 'busy 0-30',
      );
    }
  });

  it('$cancel, which deletes the slot: cancelled, its time is offered again', async () => {
    const { schedule, id } = await aBooking();
    const { status, text } = await call(id, 'cancel');
    if (status !== 404) {
      expect([status, text]).toEqual([200, expect.any(String)]);
      expect((await inMedplum(id)).status).toBe('cancelled');
      await until(
        () => slotsOf(schedule),
        (slots) => slots.join() === 'free 0-30',
      );
    }
  });
});
