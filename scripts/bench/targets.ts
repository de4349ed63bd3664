import type { Appointment, Bundle, Parameters, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { serviceTypeOf } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { createActor, createPatient, createSchedule, createService, createSlots, freeSlot } from './create.ts';
import { type BenchResponse, resourceIn, send } from './http.ts';
import type { Installation } from './installation.ts';

/** A booking through the service: a separate slot, and its patient. */
export interface Bookable {
  readonly slot: Slot;
  readonly patient: Patient;
}

/** A booking that can be measured with every target. */
export interface BenchBooking extends Bookable {
  /** Its calendar for Medplum's own `$book`: opening hours as well as free slots. */
  readonly byRule: Schedule;
}

/** The outcome of one request. */
export type Result = 'done' | 'conflict' | 'failed';

/** The appointment of a booking. */
export function appointmentFor({ slot, patient }: Bookable, config: BookingConfig): Appointment {
  return {
    resourceType: 'Appointment',
    meta: { profile: [artefactUri(config, 'LocalTermin')] },
    status: 'proposed',
    start: slot.start,
    end: slot.end,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ actor: { reference: `Patient/${patient.id}`, display: 'Benchmark' }, status: 'accepted' }],
  };
}

/** The smallest booking: the slot becomes busy if it is unchanged since it was read, and the appointment is written. */
function minimalTransaction(place: Bookable, config: BookingConfig): Bundle {
  const { slot } = place;
  const ifMatch = `W/"${slot.meta?.versionId}"`;
  const { meta: _, ...appointment } = appointmentFor(place, config);
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { request: { method: 'PUT', url: `Slot/${slot.id}`, ifMatch }, resource: { ...slot, status: 'busy' } },
      { request: { method: 'POST', url: 'Appointment' }, resource: { ...appointment, status: 'booked' } },
    ],
  };
}

/** The input of Medplum's own `$book` (5.1 and later): the new slot is contained, the service is an extension. */
function forMedplum(place: BenchBooking, config: BookingConfig): Parameters {
  const { slot, byRule } = place;
  const contained: Slot = {
    resourceType: 'Slot',
    id: 'slot',
    schedule: { reference: `Schedule/${byRule.id}` },
    status: 'busy',
    start: slot.start,
    end: slot.end,
  };
  const { slot: _, meta: __, ...appointment } = appointmentFor(place, config);
  const resource: Appointment = { ...appointment, contained: [contained], serviceType: byRule.serviceType };
  return { resourceType: 'Parameters', parameter: [{ name: 'appointment', resource }] };
}

function resultOf({ status, body }: BenchResponse): Result {
  const isBooked = status > 0 && status < 300 && (isResource(body, 'Appointment') || isResource(body, 'Bundle'));
  return isBooked ? 'done' : status === 409 || status === 412 ? 'conflict' : 'failed';
}

/** Makes one booking. */
export type Way<T = BenchBooking> = (place: T, installation: Installation, config: BookingConfig) => Promise<Result>;

const resultOfPost = (url: string, token: string, body: unknown): Promise<Result> =>
  send('POST', url, token, body).then(resultOf, () => 'failed');

/** Staff write the smallest transaction. */
export const bookByTransaction: Way<Bookable> = (place, { medplum, tokens }, config) =>
  resultOfPost(medplum, tokens.staff, minimalTransaction(place, config));

/** Staff use Medplum's own `$book`. */
export const bookByMedplum: Way = (place, { medplum, tokens }, config) =>
  resultOfPost(`${medplum}/Appointment/$book`, tokens.staff, forMedplum(place, config));

/** A portal books through the gateway. */
export const bookThroughGateway: Way<Bookable> = (place, { base, tokens }, config) =>
  resultOfPost(`${base}/Appointment/$book`, tokens.portal, appointmentFor(place, config));

/**
 * Books an appointment through the gateway, as a portal.
 *
 * @throws Error with the response if it was refused
 */
export const bookAs = async ({ base, tokens }: Installation, appointment: Appointment): Promise<Appointment> =>
  resourceIn('Appointment', await send('POST', `${base}/Appointment/$book`, tokens.portal, appointment));

/**
 * Cancels an appointment through the gateway, as a portal.
 *
 * @throws Error with the response if it was refused
 */
export async function cancelAs({ base, tokens }: Installation, { id, meta }: Appointment): Promise<void> {
  const patch = [
    { op: 'replace', path: '/status', value: 'cancelled' },
    { op: 'add', path: '/cancelationReason', value: reason },
  ];
  const headers = { 'content-type': 'application/json-patch+json', 'if-match': `W/"${meta?.versionId}"` };
  resourceIn('Appointment', await send('PATCH', `${base}/Appointment/${id}`, tokens.portal, patch, headers));
}

const reason = {
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason', code: 'pat' }],
};

/** Searches for the free slots of schedules, as a portal does before it books. */
export async function findThroughGateway(
  places: readonly BenchBooking[],
  { base, tokens }: Installation,
): Promise<void> {
  for (const schedule of new Set(places.flatMap(({ slot }) => slot.schedule.reference ?? []))) {
    const query = new URLSearchParams({ schedule, status: 'free', _include: 'Slot:schedule', _count: '1000' });
    await send('GET', `${base}/Slot?${query}`, tokens.portal);
  }
}

/** Searches for the free slots of a schedule, within a day from a booking's time, and expects at least one. */
export async function searchThroughGateway({ slot }: Bookable, { base, tokens }: Installation): Promise<Result> {
  const { start = '', schedule } = slot;
  const conditions = { schedule: schedule?.reference ?? '', status: 'free', start: `ge${start}`, _total: 'accurate' };
  const query = new URLSearchParams(conditions);
  query.append('start', `lt${formatInstant(Date.parse(start) + DAY)}`);
  const response = await send('GET', `${base}/Slot?${query}`, tokens.portal).catch(() => undefined);
  return isResource(response?.body, 'Bundle') && response.body.total ? 'done' : 'failed';
}

const MINUTES_10 = 600_000;

/**
 * Creates a calendar for Medplum's own `$book` that is open all day, in steps of ten minutes. Its hours are not
 * published: otherwise twelve weeks of Slots would be written during the measurement.
 */
async function makeCalendarByRule(installation: Installation, config: BookingConfig): Promise<Schedule> {
  const type = [{ coding: [{ system: 'urn:example:benchmark', code: 'visit' }] }];
  const service = await createService(installation, 10, 'Etc/UTC', { type });
  return createSchedule(installation, {
    actor: [await createActor(installation)],
    serviceType: serviceTypeOf(service),
    extension: [{ url: artefactUri(config, 'LocalPublishing'), valueBoolean: false }],
  });
}

/**
 * Creates free slots, a year from now, and a patient to book them for.
 *
 * @param given - their schedule; by default a new one without opening hours
 */
export async function makeBookable(
  installation: Installation,
  count: number,
  now: number,
  given?: Schedule,
): Promise<Bookable[]> {
  const patient = await createPatient(installation);
  const schedule = given ?? (await createSchedule(installation));
  const first = Math.ceil((now + 365 * DAY) / MINUTES_10) * MINUTES_10;
  const wanted = Array.from({ length: count }, (_, index) =>
    freeSlot(schedule, first + index * MINUTES_10, MINUTES_10),
  );
  const slots = await createSlots(installation, wanted);
  return slots.map((slot) => ({ slot, patient }));
}

/** Creates a schedule with opening hours and free slots (`makeBookable`): each can be booked in any way. */
export async function makeBenchBookings(
  installation: Installation,
  config: BookingConfig,
  count: number,
  now: number,
): Promise<BenchBooking[]> {
  const byRule = await makeCalendarByRule(installation, config);
  const bookable = await makeBookable(installation, count, now, byRule);
  return bookable.map((one) => ({ ...one, byRule }));
}
