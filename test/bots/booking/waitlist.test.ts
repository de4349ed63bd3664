import '../config.ts';
import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Appointment, Bot, Resource, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/join-waitlist.ts';
import { handler as offerReleasedTime } from '../../../bots/booking/offer-released-time.ts';
import { handler as patch } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { releaseRow } from '../../../core/waitlist/release.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  asks,
  aType,
  bookable,
  cancelling,
  eventOf,
  extension,
  inMinutes,
  meanwhile,
  parameters,
  patchOf,
  tagsOf,
} from './fixtures.ts';

const medplum = withMedplum();

const refilled = extension('LocalBookingPolicy', { extension: [{ url: 'refill', valueBoolean: true }] });

/** Lets a new patient of one portal join the waitlist of a service, with what is sent along. */
async function aWaitlist() {
  const [portal, serviceType] = [await aPortal(medplum()), [aType()]];
  await aSchedule(medplum(), { serviceType, extension: [refilled] });
  return async (sent: readonly Resource[] = [], of: Partial<Appointment> = {}) => {
    const patient = await aPatient(medplum(), portal);
    const entry: Appointment = {
      resourceType: 'Appointment',
      status: 'waitlist',
      serviceType,
      requestedPeriod: [{ start: inMinutes(60), end: inMinutes(6_000) }],
      participant: [{ actor: { reference: `Patient/${patient.id}`, display: 'Kim Muster' }, status: 'accepted' }],
      ...of,
    };
    const more = sent.map((resource) => ({ name: 'patientSubmittedInformation', resource }));
    const body = parameters({ name: 'appt-resource', resource: entry }, ...more);
    return { patient, answer: await handler(medplum().medplum, eventOf<unknown>(body, portal)) };
  };
}

it('whoever joins twice at once with one identifier has one entry', async () => {
  const join = await aWaitlist();
  const identifier = [{ system: 'urn:portal', value: randomUUID() }];
  const others: unknown[] = [];
  meanwhile(medplum(), asks(/^POST Appointment/), async () => others.push((await join([], { identifier })).answer.id));
  expect([(await join([], { identifier })).answer.id]).toEqual(others);
});

const MINUTE = 60_000;

/** A calendar with free Slots so many minutes after the first, all released at once, and somebody who waits for a time. */
async function released(minutes: readonly number[], from: number, to: number) {
  const { portal, patient, schedule, slot } = await bookable(medplum(), {
    extension: [refilled],
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
    releaseRow({ schedule: schedule.id, due: Date.now() - MINUTE, start: first, end }, config),
  );
  return {
    portal,
    time,
    slots: () => medplum().find<Slot>(`Slot?schedule=Schedule/${schedule.id}&_sort=start,_id`),
    /** So many who cannot be offered anything, ahead of everybody. */
    ahead: async (count: number, more: Partial<Appointment> = {}) => {
      const { id } = await aPatient(medplum(), portal, { active: false });
      for (let index = 0; index < count; index++) {
        await medplum().create<Appointment>({ ...entry, priority: 1, participant: [of(id)], ...more });
      }
    },
    offers: () => medplum().find<Appointment>(`Appointment?patient=Patient/${patient.id}&status=proposed`),
  };
}

/** The clock, so many minutes from now. */
const tick = (minutes: number) =>
  later(minutes * MINUTE, () => offerReleasedTime(medplum().medplum, eventOf<Bot>({ resourceType: 'Bot' })));

it('whoever declines one time is offered another that was released with it', async () => {
  const { portal, time, offers } = await released([300], 0, 310);
  await tick(0);
  const [first] = await offers();
  expect(first?.start).toBe(time(0));
  await patch(medplum().medplum, eventOf(patchOf(first?.id, [cancelling]), portal));
  await tick(16);
  expect((await offers()).map(({ start }) => start)).toEqual([time(300)]);
});

it.each([
  ['what is read for each takes', 'Schedule._has', 0, 3],
  ['what is read for all takes', 'ClientApplication?', 0, 1],
  ['what comes before takes', 'Schedule._has', 5_000, 8],
])('whoever may not have a time holds up nobody behind, however long %s', async (_, read, before, runs) => {
  const { time, ahead, offers } = await released([], 0, 30);
  await ahead(7);
  await withClock(async (skip) => {
    medplum().interfere(({ entries }) => {
      skip(entries.some((entry) => entry.includes(read)) ? 2_000 : entries[0]?.includes('Task?code') ? before : 0);
      return undefined;
    });
    for (let run = 0; run < runs; run++) {
      const began = Date.now();
      await offerReleasedTime(medplum().medplum, eventOf<Bot>({ resourceType: 'Bot' }));
      expect(Date.now() - began).toBeLessThan(10_000);
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
