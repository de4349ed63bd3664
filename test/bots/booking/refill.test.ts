import '../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, Bot, Task } from '@medplum/fhirtypes';
import { handler as patch } from '../../../bots/booking/patch.ts';
import { handler } from '../../../bots/booking/refill.ts';
import { refillRow } from '../../../core/booking/waitlist/refill.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import { aPatient, bookable, cancelling, eventOf, extension, patchOf, tagsOf } from './fixtures.ts';

const medplum = withMedplum();

const MINUTE = 60_000;

/** A calendar with free Slots so many minutes after the first, all released at once, and somebody who waits for a time. */
async function released(minutes: readonly number[], from: number, to: number) {
  const { portal, patient, schedule, slot } = await bookable(medplum(), {
    extension: [extension('LocalBookingPolicy', { extension: [{ url: 'refill', valueBoolean: true }] })],
  });
  const first = Date.parse(slot.start);
  const time = (minute: number) => new Date(first + minute * MINUTE).toISOString();
  const { id: _, ...free } = slot;
  for (const minute of minutes) {
    await medplum().create({ ...free, start: time(minute), end: time(minute + 10) });
  }
  const of = (id: string | undefined) => ({ actor: { reference: `Patient/${id}` }, status: 'accepted' as const });
  const entry: Appointment = {
    resourceType: 'Appointment',
    status: 'waitlist',
    serviceType: schedule.serviceType ?? [],
    meta: tagsOf(portal),
    requestedPeriod: [{ start: time(from), end: time(to) }],
    participant: [of(patient.id)],
  };
  await medplum().create<Appointment>(entry);
  const end = first + ((minutes.at(-1) ?? 0) + 10) * MINUTE;
  await medplum().create<Task>(
    refillRow({ schedule: schedule.id, due: Date.now() - MINUTE, start: first, end }, config),
  );
  return {
    portal,
    time,
    /** So many who cannot be offered anything, ahead of everybody. */
    ahead: async (count: number) => {
      const { id } = await aPatient(medplum(), portal, { active: false });
      for (let index = 0; index < count; index++) {
        await medplum().create<Appointment>({ ...entry, priority: 1, participant: [of(id)] });
      }
    },
    offers: () => medplum().find<Appointment>(`Appointment?patient=Patient/${patient.id}&status=proposed`),
  };
}

/** The clock, so many minutes from now. */
const tick = (minutes: number) =>
  later(minutes * MINUTE, () => handler(medplum().medplum, eventOf<Bot>({ resourceType: 'Bot' })));

it('time is offered to whoever waits for it, however much is released with it', async () => {
  const many = Array.from({ length: 60 }, (_, index) => 30 + index * 10);
  const { time, offers } = await released(many, 600, 610);
  await tick(0);
  await tick(1);
  expect((await offers()).map(({ start }) => start)).toEqual([time(600)]);
});

it('whoever declines one time is offered another that was released with it', async () => {
  const { portal, time, offers } = await released([300], 0, 310);
  await tick(0);
  const [first] = await offers();
  expect(first?.start).toBe(time(0));
  await patch(medplum().medplum, eventOf(patchOf(first?.id, [cancelling]), portal));
  await tick(16);
  expect((await offers()).map(({ start }) => start)).toEqual([time(300)]);
});

it('whoever may not have a time holds up nobody behind, however many there are', async () => {
  const { time, ahead, offers } = await released([], 0, 30);
  await ahead(7);
  await withClock(async (skip) => {
    medplum().interfere(({ entries }) => {
      skip(entries.some((entry) => entry.includes('Patient?')) ? 2_000 : 0);
      return undefined;
    });
    for (let run = 0; run < 3; run++) {
      await handler(medplum().medplum, eventOf<Bot>({ resourceType: 'Bot' }));
    }
  });
  expect((await offers()).map(({ start }) => start)).toEqual([time(0)]);
});

it('staff call whoever waits by a portal that was removed: nobody else would tell them', async () => {
  const { portal, offers } = await released([], 0, 30);
  await medplum().fhir('DELETE', `ClientApplication/${portal.id}`);
  await tick(0);
  const [offer] = await offers();
  const code = `${artefactUri(config, 'LocalTask')}|undelivered`;
  const calls = await medplum().find<Task>(`Task?code=${code}&focus=Appointment/${offer?.id}`);
  expect(calls).toMatchObject([{ status: 'requested' }]);
});
