import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import {
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  proposed,
  several,
  simultaneously,
  slotsOf,
} from '../fixtures.ts';
import { type Answer, refusalOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { inconsistencies } from '../races/consistent.ts';
import { bookLater, counts, RUNNERS } from '../races/support.ts';

const appointmentsIn = (response: Answer): Appointment[] =>
  (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Appointment') ? [resource] : [],
  );

const groupOf = ({ identifier = [] }: Appointment) =>
  identifier.find(({ system }) => system === artefactUri(config, 'LocalVisitGroup'))?.value;

/** Blood at the beginning, the ECG an hour later: two schedules, and a visit in both. */
async function aVisit() {
  const [blood, ecg, patient] = await Promise.all([aSchedule(), aSchedule(), aPatient()]);
  const [first, second] = await Promise.all([aSlot(blood, 0, 30), aSlot(ecg, 60, 90)]);
  const steps = (identifier?: string) =>
    [proposed(patient, [first]), proposed(patient, [second], { from: 60, to: 90 })].map((appointment, index) => ({
      ...appointment,
      ...(identifier && { identifier: [{ system: 'urn:test', value: `${identifier}-${index}` }] }),
    }));
  return { schedules: [blood, ecg], slots: [first, second], patient, steps };
}

const statusesOf = async (schedules: readonly Schedule[]) => (await Promise.all(schedules.map(slotsOf))).flat();

describe('several appointments', () => {
  it('are booked together, and answered as a Bundle of them', async () => {
    const { schedules, steps } = await aVisit();
    const response = await book(several(...steps()));
    const [first, second] = appointmentsIn(response);
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toMatch(new RegExp(`/Appointment/${first?.id}$`));
    expect([first?.status, second?.status]).toEqual(['booked', 'booked']);
    expect(first && groupOf(first)).toBe(second && groupOf(second));
    expect(
      second?.extension?.some(({ valueReference }) => valueReference?.reference === `Appointment/${first?.id}`),
    ).toBe(true);
    expect(await statusesOf(schedules)).toEqual(['busy 0-30', 'busy 60-90']);
  });

  it('are refused together', async () => {
    const { schedules, slots, steps, patient } = await aVisit();
    await book(proposed(patient, slots.slice(1), { from: 60, to: 90 }));
    const response = await book(several(...steps()));
    expect(refusalOf(response)).toEqual([409, 'slot-not-free Parameters.parameter[1].resource.slot[0]']);
    expect(await statusesOf(schedules)).toEqual(['free 0-30', 'busy 60-90']);
  });

  it('are answered again with what is booked', async () => {
    const { steps } = await aVisit();
    const [one, other] = [await book(several(...steps('again'))), await book(several(...steps('again')))];
    expect([one.status, other.status]).toEqual([201, 200]);
    expect(appointmentsIn(other).map(({ id }) => id)).toEqual(appointmentsIn(one).map(({ id }) => id));
  });

  it('are held, and booked under their ids', async () => {
    const { schedules, steps } = await aVisit();
    const held = await request('portal-a', 'POST', '/Appointment/$hold', { body: several(...steps()) });
    expect(held.status).toBe(201);
    expect(await statusesOf(schedules)).toEqual(['busy-tentative 0-30', 'busy-tentative 60-90']);
    const again = steps().map((one, index) => ({ ...one, id: appointmentsIn(held)[index]?.id }));
    const booked = await book(several(...again));
    expect(booked.status).toBe(201);
    expect(appointmentsIn(booked).map(({ id, status }) => [id, status])).toEqual(again.map(({ id }) => [id, 'booked']));
    expect(appointmentsIn(booked).map(groupOf)).toEqual(appointmentsIn(held).map(groupOf));
  });

  it('are booked later', async () => {
    const { steps } = await aVisit();
    const response = await bookLater(several(...steps()));
    expect([response.status, appointmentsIn(response).map(({ status }) => status)]).toEqual([
      200,
      ['booked', 'booked'],
    ]);
  });

  it('are only judged in a dry run', async () => {
    const { schedules, steps } = await aVisit();
    const body = several(...steps());
    const dry = { ...body, parameter: [...body.parameter, { name: 'dry-run', valueBoolean: true }] };
    expect((await book(dry)).status).toBe(200);
    expect(await statusesOf(schedules)).toEqual(['free 0-30', 'free 60-90']);
  });
});

it('50 visits that cross each other: each is booked as a whole, or refused as a whole', async () => {
  const places = 5;
  const patient = await aPatient();
  const schedules = await simultaneously(places, () => aSchedule());
  const slots = await Promise.all(
    schedules.map((schedule) => Promise.all([aSlot(schedule, 0, 30), aSlot(schedule, 60, 90)])),
  );
  const slotIn = (schedule: number, time: 0 | 1): Slot[] => slots[schedule % places]?.slice(time, time + 1) ?? [];
  const responses = await simultaneously(RUNNERS, (index) =>
    book(
      several(
        proposed(patient, slotIn(index, 0)),
        proposed(patient, slotIn(index + 1 + (index % 3), 1), { from: 60, to: 90 }),
      ),
    ),
  );
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(responses);
  expect(others).toEqual({});
  expect(booked).toBeGreaterThan(0);
  expect(booked + refused).toBe(RUNNERS);
  const stored = (await Promise.all(slots.flat().map(appointmentsOn))).flat();
  const groups = Object.values(Object.groupBy(stored, (one) => groupOf(one) ?? '')).map((one) => one?.length);
  expect(groups).toEqual(Array.from({ length: booked }, () => 2));
  expect(await inconsistencies(...schedules)).toEqual([]);
});
