import { describe, expect, it } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import { eventually } from '../../lib/until.ts';
import { timesIn } from '../alternatives/fixtures.ts';
import {
  aPatient,
  aSchedule,
  aSlot,
  book,
  minutes,
  proposed,
  several,
  slotsOf,
  stored,
  succeeded,
} from '../fixtures.ts';
import { type Answer, issuesOf, medplum, refusalOf, request, resourceIn } from '../http.ts';
import { config, type Role } from '../installation.ts';
import { edit } from '../status/fixtures.ts';
import { aFullClinic, join, waiting } from '../waitlist/fixtures.ts';

const step = (name: string, { id }: Schedule, ...more: Extension[]): Extension => ({
  url: 'step',
  extension: [
    { url: 'name', valueString: name },
    { url: 'schedule', valueReference: { reference: `Schedule/${id}` } },
    ...more,
  ],
});

const appointmentsIn = (response: Answer): Appointment[] =>
  (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Appointment') ? [resource] : [],
  );

/** Blood, then an ECG, each in a schedule of its own: a service that asks for both, and a proposal. */
async function aVisit(schedule: Partial<Schedule> = {}, ...more: Extension[]) {
  const [blood, ecg, patient] = await Promise.all([aSchedule(), aSchedule(schedule), aPatient()]);
  const service: HealthcareService = {
    resourceType: 'HealthcareService',
    name: 'Check-up',
    extension: [
      {
        url: artefactUri(config, 'LocalVisit'),
        extension: [step('Blood', blood), step('ECG', ecg, { url: 'after', valueString: 'Blood' }), ...more],
      },
    ],
  };
  const made = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', { body: service }),
  );
  const [first, second, third] = await Promise.all([aSlot(blood, 0, 30), aSlot(ecg, 60, 90), aSlot(ecg, 120, 150)]);
  const mark = (name: string) => ({ extension: [stepExtension({ service: made.id ?? '', step: name }, config)] });
  const steps = [
    proposed(patient, [first], mark('Blood')),
    proposed(patient, [second], { from: 60, to: 90, ...mark('ECG') }),
  ];
  const later = proposed(patient, [third], { from: 120, to: 150, ...mark('ECG') });
  return { service: made, schedules: [blood, ecg], slots: [first, second], patient, steps, later };
}

const statusesOf = async (schedules: readonly Schedule[]) => (await Promise.all(schedules.map(slotsOf))).flat();
const ends = (role: Role, appointment: Appointment | undefined, status: Appointment['status']) =>
  request(role, 'PATCH', `/Appointment/${appointment?.id}`, {
    body: [{ op: 'replace', path: '/status', value: status }],
    headers: { 'content-type': 'application/json-patch+json' },
  });
const statusOf = async (appointment: Appointment | undefined) =>
  resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${appointment?.id}`)).status;

describe('a visit', () => {
  it('is not booked by half', async () => {
    const { steps } = await aVisit();
    expect(refusalOf(await book(steps[0]))).toEqual([422, 'visit-mismatch Appointment']);
  });

  it('is refused with other times of the step that is taken, which fit the other steps', async () => {
    const { schedules, steps, patient, slots } = await aVisit();
    await Promise.all(schedules.slice(0, 1).flatMap((blood) => [aSlot(blood, 30, 60), aSlot(blood, 60, 90)]));
    expect((await book(proposed(patient, slots.slice(0, 1)))).status).toBe(201);
    const response = await book(several(...steps));
    expect(refusalOf(response)).toEqual([409, 'slot-not-free Parameters.parameter[0].resource.slot[0]']);
    // At 60 there is blood, too, but then the ECG is under way.
    expect(timesIn(response)).toEqual(['30-60']);
  });

  it('is cancelled as a whole by a portal', async () => {
    const { steps, schedules } = await aVisit();
    const [first, second] = appointmentsIn(await book(several(...steps)));
    expect((await ends('portal-a', second, 'cancelled')).status).toBe(200);
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['cancelled', 'cancelled']);
    expect(await statusesOf(schedules)).toEqual(['free 0-30', 'free 60-90', 'free 120-150']);
  });

  it('is cancelled by step where the clinic lets it, and by its staff', async () => {
    const { steps } = await aVisit({}, { url: 'byStep', valueBoolean: true });
    const [first, second] = appointmentsIn(await book(several(...steps)));
    await ends('portal-a', second, 'cancelled');
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['booked', 'cancelled']);
    const whole = await aVisit();
    const [one, other] = appointmentsIn(await book(several(...whole.steps)));
    await ends('front-desk', one, 'cancelled');
    expect(await Promise.all([one, other].map(statusOf))).toEqual(['cancelled', 'booked']);
  });

  it('is moved as a whole, under its ids', async () => {
    const { steps, later, schedules } = await aVisit();
    const [first, second] = appointmentsIn(await book(several(...steps)));
    expect(refusalOf(await book({ ...later, id: second?.id }))).toEqual([422, 'visit-mismatch Appointment.id']);
    const moved = await book(several({ ...steps[0], id: first?.id }, { ...later, id: second?.id }));
    expect(moved.status).toBe(201);
    expect(appointmentsIn(moved).map(({ id, start }) => [id, start])).toEqual([
      [first?.id, minutes(0)],
      [second?.id, minutes(120)],
    ]);
    expect(await statusesOf(schedules)).toEqual(['busy 0-30', 'free 60-90', 'busy 120-150']);
  });

  it('keeps its other steps when staff move one, and staff are asked about those that no longer fit', async () => {
    const { steps, later, schedules } = await aVisit();
    const [first, second] = appointmentsIn(await book(several(...steps)));
    const { start, end } = later;
    const asked = () => stored('Task', `focus=Appointment/${first?.id},Appointment/${second?.id}&status=requested`);
    expect((await edit(second?.id ?? '', { start, end })).status).toBe(200);
    await eventually(() => statusesOf(schedules)).is((found) => found.join() === 'busy 0-30,free 60-90,busy 120-150');
    expect(await asked()).toEqual([]);
    expect((await edit(first?.id ?? '', { start: minutes(200), end: minutes(230) })).status).toBe(200);
    const [task] = await eventually(asked).is((found) => found.length > 0);
    expect([task?.description, task?.focus?.reference]).toEqual([
      expect.stringContaining('visit'),
      `Appointment/${first?.id}`,
    ]);
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['booked', 'booked']);
  });

  it('has no step in whose place freed time of something else would come', async () => {
    const { steps } = await aVisit();
    const [first] = appointmentsIn(await book(several(...steps)));
    const other = await aFullClinic();
    const current = { name: 'standing-appt-id', valueUri: `Appointment/${first?.id}` };
    const resource = waiting({ resourceType: 'Patient' }, other.service, { participant: first?.participant ?? [] });
    const instead = await join({
      resourceType: 'Parameters',
      parameter: [{ name: 'appt-resource', resource }, current],
    });
    expect(refusalOf(instead)).toEqual([422, 'visit-mismatch Parameters.parameter[1].valueUri']);
  });

  it('is booked once or not at all where fifty visits cross', async () => {
    const [one, other] = await Promise.all([aSchedule(), aSchedule()]);
    const places = Array.from({ length: 10 }, (_, index) => index * 30);
    const slotsIn = (schedule: Schedule) => Promise.all(places.map((from) => aSlot(schedule, from, from + 30)));
    const [first, second] = await Promise.all([slotsIn(one), slotsIn(other)]);
    const patients = await Promise.all(Array.from({ length: 50 }, () => aPatient()));
    // Half of them take the one schedule first, half the other; each time of both is wanted by several.
    const responses = await Promise.all(
      patients.map((patient, index) => {
        const at = index % 9;
        const [before, after] = index % 2 === 0 ? [first, second] : [second, first];
        const stepAt = (slots: readonly Slot[], place: number) =>
          proposed(
            patient,
            [slots[place]].flatMap((slot) => slot ?? []),
            { from: place * 30, to: place * 30 + 30 },
          );
        return book(several(stepAt(before, at), stepAt(after, at + 1)));
      }),
    );
    const whole = responses.filter(({ status }) => status === 201).map(appointmentsIn);
    const others = responses.filter(({ status }) => status !== 201);
    expect(whole.every((appointments) => appointments.length === 2)).toBe(true);
    expect(whole.length).toBeGreaterThan(0);
    expect(new Set(others.flatMap(issuesOf).map((issue) => issue.split(' ')[0]))).toEqual(new Set(['slot-not-free']));
    const taken = (await statusesOf([one, other])).filter((slot) => !slot.startsWith('free'));
    expect(taken).toHaveLength(2 * whole.length);
  });

  it('is replaced as a whole', async () => {
    const { steps, later } = await aVisit();
    const [first, second] = appointmentsIn(await book(several(...steps)));
    const body = several(steps[0], later);
    const response = await book({
      ...body,
      parameter: [...body.parameter, { name: 'cancelled-appt-id', valueUri: second?.id }],
    });
    expect(response.status).toBe(201);
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['cancelled', 'cancelled']);
  });

  it('is confirmed as a whole, at whatever door', async () => {
    const manual = { extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }] };
    const { steps, schedules } = await aVisit(manual);
    const response = await book(several(...steps));
    const [first, second] = appointmentsIn(response);
    expect([response.status, first?.status]).toEqual([202, 'pending']);
    expect((await ends('front-desk', first, 'booked')).status).toBe(200);
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['booked', 'booked']);
    expect(await statusesOf(schedules)).toEqual(['busy 0-30', 'busy 60-90', 'free 120-150']);
    const other = await aVisit(manual);
    const [one, two] = appointmentsIn(await book(several(...other.steps)));
    await medplum('front-desk', 'PUT', `/Appointment/${one?.id}`, { body: { ...one, status: 'booked' } });
    await eventually(() => statusOf(two)).is((status) => status === 'booked');
  });
});
