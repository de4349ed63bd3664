import { expect, test } from '@jest/globals';
import { RecurringAppointmentSeriesIdentifierSystem, SchedulingSlotCapacityURI } from '@medplum/core';
import type { Appointment, Bundle, HealthcareService, Practitioner, Schedule, Slot } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox({ scheduling: 'newest' });
const minutes = (url: string, value: number) => ({ url, valueDuration: { value, unit: 'min' } });

/** Half hours on the quarter of an hour, ten minutes after each, every day from nine to eleven. */
async function calendar(slotCapacity: number) {
  const doctor = await client().create<Practitioner>({ resourceType: 'Practitioner' });
  const coding = [{ system: 'urn:services', code: doctor.id }];
  const service = await client().create<HealthcareService>({
    resourceType: 'HealthcareService',
    type: [{ coding }],
    availableTime: [
      {
        daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
        availableStartTime: '09:00:00',
        availableEndTime: '11:00:00',
      },
    ],
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          minutes('duration', 30),
          minutes('alignmentInterval', 15),
          minutes('bufferAfter', 10),
          { url: 'slotCapacity', valuePositiveInt: slotCapacity },
          { url: 'timezone', valueCode: 'Europe/Berlin' },
        ],
      },
    ],
  });
  const valueReference = { reference: `HealthcareService/${service.id}` };
  const serviceType = [
    { coding, extension: [{ url: 'https://medplum.com/fhir/service-type-reference', valueReference }] },
  ];
  const actor = [{ reference: `Practitioner/${doctor.id}` as const }];
  const schedule = await client().create<Schedule>({ resourceType: 'Schedule', serviceType, actor });
  const reference = `Schedule/${schedule.id}`;
  const find = async (day: string, more = '') => {
    const { body } = await client().fhir<Bundle<Appointment>>(
      'GET',
      `Appointment/$find?start=${day}T00:00:00Z&end=${day}T23:00:00Z&service-type-reference=${valueReference.reference}&schedule=${reference}${more}`,
    );
    return (body.entry ?? []).flatMap(({ resource }) => resource ?? []);
  };
  return {
    reference,
    serviceType,
    find,
    timesOf: async (day: string, more = '') => (await find(day, more)).map(({ start }) => start?.slice(11, 16)),
    async book(resource: Appointment | undefined) {
      const body = { resourceType: 'Parameters', parameter: [{ name: 'appointment', resource }] };
      const response = await client().fhir<Bundle>('POST', 'Appointment/$book', body);
      const all = (response.body.entry ?? []).flatMap(({ resource: one }) => one ?? []);
      const made = all.flatMap((one) => (one.resourceType === 'Appointment' ? [one] : []));
      return {
        ...response,
        appointments: made,
        slots: all.flatMap((one) => (one.resourceType === 'Slot' ? [one] : [])),
      };
    },
    move: (id: string | undefined, start: string) =>
      client().fhir<Bundle>('POST', `Appointment/${id}/$reschedule`, {
        resourceType: 'Parameters',
        parameter: [
          { name: 'start', valueDateTime: start },
          { name: 'schedule', valueReference: { reference } },
        ],
      }),
    take: (more: Partial<Slot>) =>
      client().create<Slot>({
        resourceType: 'Slot',
        status: 'busy',
        schedule: { reference },
        start: '2031-03-04T08:00:00Z',
        end: '2031-03-04T10:00:00Z',
        ...more,
      }),
  };
}

const all = ['08:00', '08:15', '08:30', '08:45', '09:00', '09:15'];

test('$reschedule moves an appointment over its own time, with other Slots and the same service', async () => {
  const { find, book, move, timesOf } = await calendar(1);
  const {
    appointments: [booked],
  } = await book((await find('2031-03-04')).at(1));
  expect(await timesOf('2031-03-04')).toEqual(['09:00', '09:15']);
  expect(await timesOf('2031-03-04', `&ignore-appointment=Appointment/${booked?.id}`)).toEqual(all);
  expect((await move(booked?.id, '2031-03-04T08:20:00Z')).status).toBe(400);
  const { status, body } = await move(booked?.id, '2031-03-04T08:30:00Z');
  const [moved] = (body.entry ?? []).map(({ resource }) => resource as Appointment);
  expect([status, moved?.start, moved?.serviceType, moved?.status]).toEqual([
    200,
    '2031-03-04T08:30:00.000Z',
    booked?.serviceType,
    'booked',
  ]);
  for (const { reference } of booked?.slot ?? []) {
    expect((await client().fhir('GET', reference ?? '')).status).toBe(410);
  }
  expect(await timesOf('2031-03-04')).toEqual(['09:15']);
  await client().fhir('POST', `Appointment/${booked?.id}/$cancel`, {});
  expect((await move(booked?.id, '2031-03-04T09:00:00Z')).status).toBe(400);
});

test('$reschedule needs the service of the appointment', async () => {
  const { take, move } = await calendar(1);
  const slot = await take({});
  const appointment = await client().create<Appointment>({
    resourceType: 'Appointment',
    status: 'booked',
    start: slot.start,
    end: slot.end,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ status: 'accepted', actor: { display: 'Kim' } }],
  });
  const { status, body } = await move(appointment.id, '2031-03-04T08:00:00Z');
  expect([status, JSON.stringify(body)]).toEqual([
    400,
    expect.stringContaining('Appointment has no service reference'),
  ]);
});

test('a weekly series is booked as a whole, at one local time, or not at all', async () => {
  const { find, book, timesOf } = await calendar(1);
  const [first] = await find('2031-03-18', '&occurrence-count=3');
  const { status, appointments } = await book(first);
  expect([status, appointments.map(({ start }) => start)]).toEqual([
    201,
    ['2031-03-18T08:00:00.000Z', '2031-03-25T08:00:00.000Z', '2031-04-01T07:00:00.000Z'],
  ]);
  const series = appointments.map(({ identifier = [] }) => identifier[0]);
  expect(new Set(series.map((identifier) => identifier?.value)).size).toBe(1);
  expect(series[0]?.system).toBe(RecurringAppointmentSeriesIdentifierSystem);
  const [again] = await find('2031-03-11', '&occurrence-count=2');
  expect(again?.start).toBe('2031-03-11T08:45:00.000Z');
  const early = JSON.parse(
    JSON.stringify(again)
      .replaceAll('T08:45', 'T08:00')
      .replaceAll('T09:', 'T08:')
      .replaceAll('T08:15:00.000Z', 'T08:30:00.000Z')
      .replaceAll('T08:25:00.000Z', 'T08:40:00.000Z'),
  );
  expect((await book(early)).status).toBe(400);
  expect(await timesOf('2031-03-11')).toEqual(all);
});

test('as many appointments lie at one time as slotCapacity says, each with its own time after it', async () => {
  const { find, book, timesOf } = await calendar(2);
  const { slots } = await book((await find('2031-03-04'))[0]);
  const stamp = { url: SchedulingSlotCapacityURI, valuePositiveInt: 2 };
  expect(slots.map(({ status, extension }) => [status, extension])).toEqual([
    ['busy', [stamp]],
    ['busy-unavailable', undefined],
  ]);
  expect(await timesOf('2031-03-04')).toEqual(['08:45', '09:00', '09:15']);
});

test('a Slot without a stamp takes all of its time; one that names services takes it from these', async () => {
  const [one, other] = [await calendar(2), await calendar(1)];
  await one.take({ end: '2031-03-04T09:00:00Z' });
  expect(await one.timesOf('2031-03-04')).toEqual(['09:00', '09:15']);
  await other.take({ serviceType: one.serviceType });
  expect(await other.timesOf('2031-03-04')).toEqual(all);
  await other.take({ serviceType: other.serviceType });
  expect(await other.timesOf('2031-03-04')).toEqual([]);
});
