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

/** A booking through the service: a slot of its own, and who it is for. */
export interface Bookable {
  readonly slot: Slot;
  readonly patient: Patient;
}

/** A booking that can be measured with every target. */
export interface BenchBooking extends Bookable {
  /** Its calendar as Medplum's own `$book` wants it: open by rule, beside the free slots. */
  readonly byRule: Schedule;
}

/** The outcome of one request. */
export type Result = 'done' | 'conflict' | 'failed';

/** The appointment with which a place is booked. */
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

/** The minimum of a booking: the slot is taken if it has not changed since it was read, and the appointment is written. */
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

/** What Medplum's own `$book` (5.1 and later) takes: the slot to create is contained, the service is an extension. */
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

/** Books one place, and returns the result. */
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
 * @throws Error with the answer if it was refused
 */
export const bookAs = async ({ base, tokens }: Installation, appointment: Appointment): Promise<Appointment> =>
  resourceIn('Appointment', await send('POST', `${base}/Appointment/$book`, tokens.portal, appointment));

/**
 * Cancels an appointment through the gateway, as a portal.
 *
 * @throws Error with the answer if it was refused
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

/** Finds places as a portal does before it books: the free slots of their schedules. */
export async function findThroughGateway(
  places: readonly BenchBooking[],
  { base, tokens }: Installation,
): Promise<void> {
  for (const schedule of new Set(places.flatMap(({ slot }) => slot.schedule.reference ?? []))) {
    const query = new URLSearchParams({ schedule, status: 'free', _include: 'Slot:schedule', _count: '1000' });
    await send('GET', `${base}/Slot?${query}`, tokens.portal);
  }
}

/** Searches for the free slots in the schedule of a place, within a day from it, and counts them: there is one at least. */
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
 * Makes a calendar that is open all day, in steps of ten minutes, as Medplum's own `$book` wants it. Nothing is published in
 * it: otherwise twelve weeks of Slots would be written during the measurement.
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
 * Makes fresh free slots, a year from now, and a patient to book them for.
 *
 * @param given - their schedule; without it, a new one without opening hours
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

/** Makes a schedule that is open by rule, with fresh free slots (`makeBookable`): each place can be taken in any way. */
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
