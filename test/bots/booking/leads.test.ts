import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { handler as book } from '../../../bots/booking/book.ts';
import { LEADS_HEADER } from '../../../core/booking/book/answer.ts';
import { createMemory } from '../../../gateway/medplum/memory.ts';
import { configured } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import { aSchedule, aService, aSlot, at, bookable, eventOf, policy, problems, proposed, typeOf } from './fixtures.ts';

const medplum = withMedplum();

const taken = ['slot-not-free Appointment.slot[0]'];

/** Notes what is asked from now on. */
function listen(): Asked[] {
  const heard: Asked[] = [];
  medplum().interfere((asked) => void heard.push(asked));
  return heard;
}

describe('what a booking leads to', () => {
  it('is read at once: a booking under a policy is one read and one write', async () => {
    const service = await aService(medplum(), { extension: [policy({ leadTime: 1 })] });
    const { portal, patient, schedule, slot } = await bookable(medplum(), { serviceType: [typeOf(service)] });
    const leads = { [LEADS_HEADER]: `Schedule/${schedule.id},HealthcareService/${service.id}` };
    const heard = listen();
    expect(problems(await book(medplum().medplum, eventOf(proposed(patient, [slot]), portal, leads)))).toEqual([]);
    expect(heard.map(({ type }) => type)).toEqual(['batch', 'transaction']);
  });

  it('is not believed: a slot that is in another calendar meanwhile is judged there', async () => {
    const { portal, patient, schedule, slot } = await bookable(medplum());
    const other = await aSchedule(medplum());
    await aSlot(medplum(), other, '09:00', '09:30', { status: 'busy' });
    await medplum().change<Slot>(slot, { schedule: { reference: `Schedule/${other.id}` } });
    const leads = { [LEADS_HEADER]: `Schedule/${schedule.id}` };
    const answer = await book(medplum().medplum, eventOf(proposed(patient, [slot]), portal, leads));
    expect(problems(answer)).toEqual(taken);
  });
});

describe('the limits of a requestor', () => {
  /** Books six times; whether each was booked, and whether limits were asked for. */
  async function six(maxOpenAppointments: number): Promise<string[]> {
    const { portal, patient, schedule } = await bookable(medplum());
    const leeways = createMemory<{ left: number }>(9, 10_000, Date.now);
    Object.assign(medplum().medplum.connections, { leeways });
    const found: string[] = [];
    await configured({ requestors: { maxOpenAppointments, maxBookingsPerMinute: 100 } }, async () => {
      for (const hour of ['10', '11', '12', '13', '14', '15']) {
        const slot = await aSlot(medplum(), schedule, `${hour}:00`, `${hour}:30`);
        const heard = listen();
        const asked = proposed(patient, [slot], { start: at(`${hour}:00`), end: at(`${hour}:30`) });
        const answer = await book(medplum().medplum, eventOf(asked, portal));
        const counts = heard.flatMap(({ entries }) => entries.filter((entry) => entry.includes('_offset=')));
        found.push(`${problems(answer).join() || 'booked'}, ${counts.length} counted`);
      }
    });
    return found;
  }

  it('are not read again while they are far', async () => {
    const often = 'booked, 2 counted';
    const seldom = 'booked, 0 counted';
    expect(await six(12)).toEqual([often, seldom, seldom, seldom, often, often]);
  });

  it('hold exactly where few are allowed', async () => {
    const found = await six(4);
    expect(found.map((one) => one.split(/[ ,]/)[0])).toEqual([
      ...Array(4).fill('booked'),
      ...Array(2).fill('portal-limit-reached'),
    ]);
  });
});
