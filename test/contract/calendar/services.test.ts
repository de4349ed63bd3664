import { describe, expect, it, test } from '@jest/globals';
import { SchedulingSlotCapacityURI } from '@medplum/core';
import type { Extension, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, book, parameters, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum, refusalOf, request } from '../http.ts';
import { config } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import {
  aCalendar,
  aService,
  aSlot,
  at,
  change,
  date,
  freeTimes,
  nativeOn,
  never,
  open,
  proposals,
  proposedAt,
  untilFree,
  wholeDay,
} from './fixtures.ts';

const morning = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00'];
const minutes = (url: string, value: number, unit = 'min'): Extension => ({ url, valueDuration: { value, unit } });

/** The service with another scheduling parameter. */
function withParameter({ extension, ...rest }: HealthcareService, parameter: Extension): HealthcareService {
  const [parameters] = extension ?? [];
  const others = (parameters?.extension ?? []).filter(({ url }) => url !== parameter.url);
  return { ...rest, extension: [{ url: parameters?.url ?? '', extension: [...others, parameter] }] };
}

const during = { start: '2027-05-02', end: '2027-05-01' };
const hours = { daysOfWeek: ['mon' as const], availableStartTime: '09:00:00', availableEndTime: '10:00:00' };

// biome-ignore format: a row a line
test.each<[string, (service: HealthcareService) => HealthcareService, string]>([
  ['an unknown time zone', (service) => withParameter(service, { url: 'timezone', valueCode: 'Europe/Atlantis' }), 'timezone'],
  ['a duration of 0', (service) => withParameter(service, minutes('duration', 0)), 'duration'],
  ['a duration of 100 years', (service) => withParameter(service, minutes('duration', 5200, 'wk')), 'duration'],
  ['an interval that does not divide a day', (service) => withParameter(service, minutes('alignmentInterval', 50)), 'Interval'],
  ['a closure that ends before it starts', (service) => ({ ...service, notAvailable: [{ description: 'x', during }] }),
   'during'],
  ['hours that are all day and have times', (service) => ({ ...service, availableTime: [{ ...hours, allDay: true }] }),
   'availableTime'],
  ['hours without an end', (service) => ({ ...service, availableTime: [{ ...hours, availableEndTime: undefined }] }),
   'availableTime'],
])('%s is refused where it is saved, and everything stays', async (_, spoilt, expression) => {
  const service = await aService();
  const schedule = await aCalendar(service);
  await untilFree(schedule, morning);
  const response = await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body: spoilt(service) });
  expect(refusalOf(response)).toEqual([422, expect.stringMatching(new RegExp(`^opening-hours-invalid HealthcareService.*${expression}`))]);
  expect(await stored('HealthcareService', `_id=${service.id}`)).toEqual([
    expect.objectContaining({ availableTime: service.availableTime, extension: service.extension }),
  ]);
  expect(await freeTimes(schedule)).toEqual(morning);
});

it('a planning horizon that ends before it starts is refused', async () => {
  const schedule = await aCalendar(await aService(never));
  const body = { ...schedule, planningHorizon: { start: '2027-05-02', end: '2027-05-01' } };
  const response = await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body });
  expect(refusalOf(response)).toEqual([422, 'opening-hours-invalid Schedule.planningHorizon']);
});

it('a deleted service leaves its Schedules as they are, a Task gives the reason, and others continue', async () => {
  const [service, other] = [await aService(), await aService()];
  const [schedule, beside] = [await aCalendar(service), await aCalendar(other)];
  await Promise.all([untilFree(schedule, morning), untilFree(beside, morning)]);
  expect((await medplum('front-desk', 'DELETE', `/HealthcareService/${service.id}`)).status).toBe(200);
  const query = `focus=Schedule/${schedule.id}&code=${artefactUri(config, 'LocalTask')}|publish&status=failed`;
  const [task] = await eventually(() => stored('Task', query), 30_000).is((found) => found.length > 0);
  expect(task?.statusReason?.text).toContain(`HealthcareService/${service.id} does not exist`);
  await change('HealthcareService', { ...other, availableTime: open('10:00', '11:00') });
  await untilFree(beside, morning.slice(2));
  expect(await freeTimes(schedule)).toEqual(morning);
  expect(schedule.planningHorizon).toEqual({ start: date, end: date });
});

const offers = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00', '11:00-11:30'];

/** What is left of them when the second is booked. */
const rest = offers.slice(3);

/** A day on which each appointment needs ten minutes after it: five fit, but no two that follow each other. */
async function aDay() {
  const service = await aService(open('09:00', '12:00'), 30, { before: 0, after: 10 });
  const schedule = await aCalendar(service, wholeDay);
  await untilFree(schedule, offers);
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
  const [first, second, third, , last] = slots;
  if (!first || !second || !third || !last) {
    throw new Error('There are no five slots.');
  }
  const patient = await aPatient();
  const propose = (slot: Slot, from: string, to: string) => proposedAt(service, patient, from, to, [slot]);
  const buffers = async () => {
    const found = await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable&_sort=start`);
    return found.map(({ start, end, comment }) => `${start.slice(11, 16)}-${end.slice(11, 16)} ${comment}`);
  };
  return { service, schedule, first, second, third, last, propose, buffers };
}

const following = (from: string, to: string) => [`${from}-${to} buffer after appointment`];

describe('a booking of a service with buffers', () => {
  it('writes them as $book of Medplum does, which then respects them', async () => {
    const { service, schedule, second, propose, buffers } = await aDay();
    const booked = await book(propose(second, '09:30', '10:00'));
    expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('10:00', '10:10'));
    expect([...(await proposals(schedule, service)).keys()]).toEqual(['10:30', '11:00']);
    await untilFree(schedule, rest);
  });

  it('is refused where its own would lie on an appointment, or its time on one of another', async () => {
    const { schedule, first, second, third, propose } = await aDay();
    expect((await book(propose(second, '09:30', '10:00'))).status).toBe(201);
    await untilFree(schedule, rest);
    for (const [slot, from, to] of [
      [first, '09:00', '09:30'],
      [third, '10:00', '10:30'],
    ] as const) {
      // Staff offer it again by hand: that makes the time no freer.
      const [now] = await stored('Slot', `_id=${slot.id}`);
      await change('Slot', { ...(now ?? slot), status: 'free' });
      expect((await book(propose(slot, from, to))).status).toBe(409);
    }
  });

  it('is refused where its own would lie on a block, however many free slots are beside it', async () => {
    const { schedule, second, propose } = await aDay();
    const reference = { reference: `Schedule/${schedule.id}` };
    const slot = { resourceType: 'Slot', schedule: reference, start: at('10:00'), end: at('10:30') };
    const creation = { method: 'POST', url: 'Slot' };
    const entry = Array.from({ length: 250 }, () => ({ request: creation, resource: { ...slot, status: 'free' } }));
    const block = {
      request: creation,
      resource: { ...slot, start: at('10:05'), end: at('10:06'), status: 'busy-unavailable' },
    };
    const body = { resourceType: 'Bundle', type: 'transaction', entry: [...entry, block] };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
    expect((await book(propose(second, '09:30', '10:00'))).status).toBe(409);
  });

  it.each<[string, (id: string) => Promise<{ readonly status: number }>]>([
    ['cancelled by the portal', (id) => patch(id, cancellation)],
    ['cancelled by $cancel of Medplum', (id) => nativeOn(id, 'cancel')],
  ])('%s: it gives them back', async (_, cancel) => {
    const { schedule, second, propose, buffers } = await aDay();
    const { id = '' } = succeeded('Appointment', await book(propose(second, '09:30', '10:00')));
    await untilFree(schedule, rest);
    expect((await cancel(id)).status).toBe(200);
    await untilFree(schedule, offers);
    expect(await buffers()).toEqual([]);
  });

  it('moves with them', async () => {
    const { schedule, second, last, propose, buffers } = await aDay();
    const { id } = succeeded('Appointment', await book(propose(second, '09:30', '10:00')));
    const moved = await book({ ...propose(last, '11:00', '11:30'), id });
    expect([moved.status, moved.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('11:30', '11:40'));
    await untilFree(schedule, offers.slice(0, 3));
  });

  it('holds them with $hold, and keeps them when the hold is booked', async () => {
    const { second, propose, buffers } = await aDay();
    const body = parameters(propose(second, '09:30', '10:00'));
    const held = succeeded('Appointment', await request('portal-a', 'POST', '/Appointment/$hold', { body }));
    expect(await buffers()).toEqual(following('10:00', '10:10'));
    const booked = await book({ ...propose(second, '09:30', '10:00'), id: held.id });
    expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    expect(await buffers()).toEqual(following('10:00', '10:10'));
  });
});

it('a slot that staff made by hand is narrowed by them, and whole again afterwards', async () => {
  const service = await aService(never, 30, { before: 5, after: 10 });
  const schedule = await aCalendar(service, wholeDay);
  const slot = await aSlot(schedule, 'free', '09:00', '11:00');
  const propose = (from: string, to: string) => proposedAt(service, patient, from, to, [slot]);
  const patient = await aPatient();
  const { id = '' } = succeeded('Appointment', await book(propose('09:30', '10:00')));
  // What is left has room for an appointment with its own buffers.
  await untilFree(schedule, ['10:15-11:00']);
  expect((await book(propose('10:10', '10:40'))).status).toBe(409);
  expect((await book(propose('10:15', '10:45'))).status).toBe(201);
  expect((await patch(id, cancellation)).status).toBe(200);
  await untilFree(schedule, ['09:00-10:00']);
});

it('a Schedule of all services has those of the clinic: the rules and buffers of the one that is booked', async () => {
  const service = await aService(never, 30, { before: 0, after: 10 });
  const byHand = { url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' };
  await change('HealthcareService', { ...(await aService(never)), extension: [byHand] });
  const coding = [{ system: 'https://medplum.com/fhir/CodeSystem/scheduling-service-type', code: 'all' }];
  const extension = [{ url: artefactUri(config, 'LocalPublishing'), valueBoolean: false }];
  const schedule = await aCalendar(service, { serviceType: [{ coding }], extension });
  const slot = await aSlot(schedule, 'free', '09:00', '10:00');
  const booked = await book(proposedAt(service, await aPatient(), '09:00', '09:30', [slot]));
  expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&_sort=start`);
  expect(slots.map(({ status, start }) => `${status} ${start.slice(11, 16)}`)).toContain('busy-unavailable 09:30');
});

it('a service without buffers writes none, and its appointments follow each other', async () => {
  const service = await aService(open('09:00', '10:00'));
  const schedule = await aCalendar(service, wholeDay);
  await untilFree(schedule, ['09:00-09:30', '09:30-10:00']);
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
  const patient = await aPatient();
  for (const slot of slots) {
    const { start, end } = slot;
    expect((await book(proposedAt(service, patient, start.slice(11, 16), end.slice(11, 16), [slot]))).status).toBe(201);
  }
  expect(slots.map(({ start }) => start)).toEqual([at('09:00'), at('09:30')]);
  expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable`)).toEqual([]);
});

const free = async ({ id }: Schedule, start: string) =>
  (await stored('Slot', `schedule=Schedule/${id}&status=free&start=${at(start)}`))[0]?.id ?? '';

/** A portal books the time of a Slot. */
async function bookAt(slot: string, from: string, to: string, { type }: HealthcareService) {
  const patient = await aPatient();
  return book({
    ...proposed(patient, []),
    serviceType: type,
    start: at(from),
    end: at(to),
    slot: [{ reference: `Slot/${slot}` }],
  });
}

describe('Slots that share a place', () => {
  it('exclude each other: the one that is booked takes the others off the market, until it is cancelled', async () => {
    const service = await aService(open('09:00', '10:00'), 15);
    const schedule = await aCalendar(service);
    const all = ['09:00-09:30', '09:15-09:45', '09:30-10:00'];
    await untilFree(schedule, all);
    const [first, second] = [await free(schedule, '09:00'), await free(schedule, '09:15')];
    const booked = succeeded('Appointment', await bookAt(first, '09:00', '09:30', service));
    expect(await freeTimes(schedule)).toEqual(['09:30-10:00']);
    const refused = await bookAt(second, '09:15', '09:45', service);
    expect(refused.status).toBe(409);
    const cancelled = await request('portal-a', 'PATCH', `/Appointment/${booked.id}`, {
      body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect([cancelled.status, cancelled.text]).toEqual([200, expect.any(String)]);
    await untilFree(schedule, all);
  });

  it('are booked once, however many requests arrive at the same moment', async () => {
    const service = await aService(open('09:00', '10:00'), 15);
    const schedule = await aCalendar(service);
    await untilFree(schedule, ['09:00-09:30', '09:15-09:45', '09:30-10:00']);
    const [first, second] = [await free(schedule, '09:00'), await free(schedule, '09:15')];
    const answers = await Promise.all([
      bookAt(first, '09:00', '09:30', service),
      bookAt(second, '09:15', '09:45', service),
      bookAt(first, '09:00', '09:30', service),
      bookAt(second, '09:15', '09:45', service),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const busy = await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy`);
    expect(busy).toHaveLength(1);
  });
});

describe('what is booked is what Medplum books', () => {
  const REFERENCE = 'https://medplum.com/fhir/service-type-reference';
  const link = ({ id }: HealthcareService) => [
    { url: REFERENCE, valueReference: { reference: `HealthcareService/${id}` } },
  ];
  const freeAt = async ({ id }: Schedule, time: string) =>
    (await stored('Slot', `schedule=Schedule/${id}&status=free&start=${at(time)}`)).slice(0, 1);

  it('an appointment names its service, whatever the portal names, and a repetition is known as one', async () => {
    const [service, other] = [await aService(), await aService()];
    const [schedule, beside] = [await aCalendar(service), await aCalendar(other)];
    await Promise.all([untilFree(schedule, morning), untilFree(beside, morning)]);
    const patient = await aPatient();
    const sent = proposedAt(service, patient, '09:00', '09:30', await freeAt(schedule, '09:00'));
    const { serviceType: type = [], ...plain } = sent;
    const booked = succeeded('Appointment', await book(sent));
    expect(booked.serviceType).toEqual([{ ...type[0], extension: link(service) }]);
    const again = { ...booked, status: 'proposed', serviceType: type };
    expect((await book(again)).status).toBe(200);

    const unnamed = succeeded(
      'Appointment',
      await book({
        ...plain,
        start: at('09:30'),
        end: at('10:00'),
        slot: [{ reference: `Slot/${(await freeAt(schedule, '09:30'))[0]?.id}` }],
      }),
    );
    const coding = type[0]?.coding?.map((one) => ({ ...one, userSelected: false }));
    expect(unnamed.serviceType).toEqual([{ coding, extension: link(service) }]);
    // It was not asked for: moved to another calendar, the appointment is for what that offers.
    const [slot] = await freeAt(beside, '09:30');
    const moved = {
      ...plain,
      id: unnamed.id,
      start: at('09:30'),
      end: at('10:00'),
      slot: [{ reference: `Slot/${slot?.id}` }],
    };
    const there = succeeded('Appointment', await book(moved));
    expect(there.serviceType?.map(({ extension }) => extension)).toEqual([link(other)]);
    // Nor is it asked for by who sends back what was read.
    const [former] = await freeAt(schedule, '09:30');
    const back = { ...there, status: 'proposed', slot: [{ reference: `Slot/${former?.id}` }] };
    expect(succeeded('Appointment', await book(back)).serviceType).toEqual(unnamed.serviceType);

    const forged = {
      ...sent,
      start: at('10:00'),
      end: at('10:30'),
      slot: [{ reference: `Slot/${(await freeAt(schedule, '10:00'))[0]?.id}` }],
    };
    const refused = await book({ ...forged, serviceType: [{ ...type[0], extension: link(other) }] });
    expect(succeeded('Appointment', refused).serviceType).toEqual(booked.serviceType);
  });

  it('a Slot says as how many it was booked until it is free', async () => {
    const { id: _, ...service } = withParameter(await aService(), { url: 'slotCapacity', valuePositiveInt: 2 });
    const two = succeeded(
      'HealthcareService',
      await medplum('front-desk', 'POST', '/HealthcareService', { body: service }),
    );
    const schedule = await aCalendar(two);
    await untilFree(
      schedule,
      morning.flatMap((time) => [time, time]),
    );
    const [slot] = await freeAt(schedule, '09:00');
    const booked = succeeded(
      'Appointment',
      await book(proposedAt(two, await aPatient(), '09:00', '09:30', slot ? [slot] : [])),
    );
    const stamps = async () =>
      (await stored('Slot', `_id=${slot?.id}`)).map(({ status, extension = [] }) => [
        status,
        extension.find(({ url }) => url === SchedulingSlotCapacityURI)?.valuePositiveInt,
      ]);
    expect(await stamps()).toEqual([['busy', 2]]);
    expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
    expect(await stamps()).toEqual([['free', undefined]]);
  });
});
