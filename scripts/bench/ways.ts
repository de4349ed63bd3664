import { randomUUID } from 'node:crypto';
import type { Appointment, Bundle, Patient, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isResource } from '../../fhir/resource.ts';
import type { Installation } from './installation.ts';

/** A booking to be measured: a slot of its own, and who it is for. */
export interface Place {
  readonly slot: Slot;
  readonly patient: Patient;
}

/** What came of one request. */
export type Result = 'booked' | 'conflict' | 'failed';

async function post(url: string, token: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
}

function appointmentFor({ slot, patient }: Place, config: BookingConfig): Appointment {
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

/** The least that a booking can be: the slot is taken if it is as it was read, and the appointment is written. */
function bareTransaction(place: Place, config: BookingConfig): Bundle {
  const { slot } = place;
  const ifMatch = `W/"${slot.meta?.versionId}"`;
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { request: { method: 'PUT', url: `Slot/${slot.id}`, ifMatch }, resource: { ...slot, status: 'busy' } },
      {
        request: { method: 'POST', url: 'Appointment' },
        resource: { ...appointmentFor(place, config), status: 'booked' },
      },
    ],
  };
}

type Way = (place: Place, installation: Installation, config: BookingConfig) => ReturnType<typeof post>;

/** The ways to book that are compared; the first is what the others are measured by. */
export const ways = {
  bare: (place, { medplum, tokens }, config) => post(medplum, tokens.staff, bareTransaction(place, config)),
  bot: (place, { medplum, tokens }, config) => {
    const query = new URLSearchParams({ identifier: `${artefactUri(config, 'LocalBot')}|book` });
    return post(`${medplum}/Bot/$execute?${query}`, tokens.portal, appointmentFor(place, config));
  },
  gateway: (place, { base, tokens }, config) =>
    post(`${base}/Appointment/$book`, tokens.portal, appointmentFor(place, config)),
} as const satisfies Record<string, Way>;

/** Name of a way to book. */
export type WayName = keyof typeof ways;

/** Books one place and tells what came of it. */
export async function bookBy(
  way: WayName,
  place: Place,
  installation: Installation,
  config: BookingConfig,
): Promise<Result> {
  const { status, body } = await ways[way](place, installation, config).catch(() => ({ status: 0, body: undefined }));
  const isBooked = status < 300 && (isResource(body, 'Appointment') || isResource(body, 'Bundle'));
  return isBooked ? 'booked' : status === 409 || status === 412 ? 'conflict' : 'failed';
}

function created<T extends Resource>(answer: { status: number; body: unknown }, what: string): T {
  if (answer.status >= 300) {
    throw new Error(`${what} could not be made (${answer.status}): ${JSON.stringify(answer.body).slice(0, 300)}`);
  }
  return answer.body as T;
}

const MINUTES_10 = 600_000;

/** How many slots go into one batch. */
const BATCH = 200;

/** Makes a schedule with fresh free slots, a year from now, and a patient. */
export async function makePlaces(installation: Installation, count: number, now: number): Promise<Place[]> {
  const { base, medplum, tokens } = installation;
  const name = [{ family: 'Benchmark', given: [randomUUID()] }];
  const patient = created<Patient>(
    await post(`${base}/Patient`, tokens.portal, { resourceType: 'Patient', name }),
    'A patient',
  );
  const actor = [{ display: `Benchmark ${randomUUID()}` }];
  const schedule = created<Schedule>(
    await post(`${medplum}/Schedule`, tokens.staff, { resourceType: 'Schedule', active: true, actor }),
    'A schedule',
  );
  const first = now + 365 * 24 * 3_600_000;
  const places: Place[] = [];
  while (places.length < count) {
    const entry = Array.from({ length: Math.min(BATCH, count - places.length) }, (_, index) => {
      const start = first + (places.length + index) * MINUTES_10;
      const resource: Slot = {
        resourceType: 'Slot',
        schedule: { reference: `Schedule/${schedule.id}` },
        status: 'free',
        start: formatInstant(start),
        end: formatInstant(start + MINUTES_10),
      };
      return { request: { method: 'POST' as const, url: 'Slot' }, resource };
    });
    const batch: Bundle = { resourceType: 'Bundle', type: 'batch', entry };
    const answer = created<Bundle>(await post(medplum, tokens.staff, batch), 'Slots');
    const slots = (answer.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
    if (slots.length !== entry.length) {
      throw new Error('Not all slots could be made.');
    }
    places.push(...slots.map((slot) => ({ slot, patient })));
  }
  return places;
}
