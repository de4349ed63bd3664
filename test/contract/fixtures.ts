import { randomUUID } from 'node:crypto';
import type {
  Appointment,
  Patient,
  QuestionnaireResponse,
  Resource,
  ResourceType,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { type Answer, medplum, request, resourceIn } from './http.ts';
import { config, type Role } from './installation.ts';

/** A Monday morning far ahead; each fixture gets a time of its own after it, so that tests do not meet. */
const morning = Date.parse('2031-01-06T08:00:00Z');

/** An instant so many minutes after the morning that the fixtures play on. */
export const minutes = (count: number): string => new Date(morning + count * 60_000).toISOString();

export const ct = { coding: [{ system: artefactUri(config, 'LocalServiceType'), code: 'ct' }] };

/** The resource in an answer that must have succeeded. */
export function succeeded<T extends ResourceType>(type: T, response: Answer) {
  if (response.status >= 300) {
    throw new Error(`Expected success, but got ${response.status}: ${response.text.slice(0, 600)}`);
  }
  return resourceIn(type, response);
}

async function create<T extends ResourceType>(type: T, body: Resource & { resourceType: T }) {
  return succeeded(type, await medplum('front-desk', 'POST', `/${type}`, { body }));
}

/** A schedule of a practitioner, made by the clinic's staff. */
export function aSchedule(more: Partial<Schedule> = {}) {
  return create('Schedule', {
    resourceType: 'Schedule',
    active: true,
    serviceType: [ct],
    actor: [{ display: `Calendar ${randomUUID()}` }],
    ...more,
  });
}

/** A free slot, from and to so many minutes after the morning of the tests. */
export function aSlot(schedule: Schedule, from: number, to: number, more: Partial<Slot> = {}) {
  return create('Slot', {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'free',
    start: minutes(from),
    end: minutes(to),
    ...more,
  });
}

/** A patient of a requestor, made through the service. */
export async function aPatient(role: Role = 'portal-a', more: Partial<Patient> = {}) {
  const body: Patient = {
    resourceType: 'Patient',
    identifier: [{ system: 'https://example.org/patients', value: randomUUID() }],
    name: [{ family: 'Muster', given: ['Kim'] }],
    ...more,
  };
  return succeeded('Patient', await request(role, 'POST', '/Patient', { body }));
}

/** A schedule, a free slot of half an hour on it, and a patient of portal A. */
export async function aClinic(schedule: Partial<Schedule> = {}, slot: Partial<Slot> = {}) {
  const [made, patient] = await Promise.all([aSchedule(schedule), aPatient()]);
  return { schedule: made, slot: await aSlot(made, 0, 30, slot), patient };
}

/** An appointment as a portal proposes it, by default for the first half hour of the morning. */
export function proposed(
  patient: Patient,
  slots: readonly Slot[],
  { from = 0, to = 30, ...more }: Partial<Appointment> & { from?: number; to?: number } = {},
): Appointment {
  return {
    resourceType: 'Appointment',
    meta: { profile: [artefactUri(config, 'LocalTermin')] },
    status: 'proposed',
    start: minutes(from),
    end: minutes(to),
    serviceType: [ct],
    slot: slots.map(({ id }) => ({ reference: `Slot/${id}` })),
    participant: [{ actor: { reference: `Patient/${patient.id}`, display: 'Kim Muster' }, status: 'accepted' }],
    ...more,
  };
}

/** Parameters of `$book`: the appointment, then resources by parameter name. */
export function parameters(appointment: unknown, ...more: readonly (readonly [name: string, resource: unknown])[]) {
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: appointment },
      ...more.map(([name, resource]) => ({ name, resource })),
    ],
  };
}

/** Parameters of `$book` with several appointments. */
export const several = (...appointments: readonly unknown[]) => ({
  resourceType: 'Parameters',
  parameter: appointments.map((resource) => ({ name: 'appt-resource', resource })),
});

/** Parameters of `$book` that name a schedule. */
export const onSchedule = (id: string | undefined, resource: unknown) => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'appt-resource', resource },
    { name: 'schedule', valueReference: { reference: `Schedule/${id}` } },
  ],
});

/** What a patient has answered before a visit. */
export const answers: QuestionnaireResponse = {
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  questionnaire: 'https://example.org/Questionnaire/anamnesis',
  text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
  item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
};

/** `$book` as a requestor. */
export function book(body: unknown, role: Role = 'portal-a', headers: Readonly<Record<string, string>> = {}) {
  return request(role, 'POST', '/Appointment/$book', { body, headers });
}

/** What Medplum has stored of a type, as the clinic's staff see it. */
export async function stored<T extends ResourceType>(type: T, query: string) {
  const bundle = resourceIn('Bundle', await medplum('front-desk', 'GET', `/${type}?${query}&_count=1000`));
  return (bundle.entry ?? []).flatMap(({ resource }) => (isResource(resource, type) ? [resource] : []));
}

/** All slots of a schedule as stored, in order of time: `status start-end`, in minutes after the morning. */
export async function slotsOf({ id }: Schedule): Promise<string[]> {
  const slots = await stored('Slot', `schedule=Schedule/${id}&_sort=start`);
  const inMinutes = (instant: string | undefined) => (Date.parse(instant ?? '') - morning) / 60_000;
  return slots
    .filter(({ status }) => status !== 'entered-in-error')
    .map(({ status, start, end }) => `${status} ${inMinutes(start)}-${inMinutes(end)}`);
}

/** The appointments stored on a slot. */
export const appointmentsOn = ({ id }: Slot) => stored('Appointment', `slot=Slot/${id}`);

/** Makes something when a test asks for it first: tests that leave it as it is share it. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Runs an action so many times at once. */
export const simultaneously = <T>(count: number, action: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => action(index)));
