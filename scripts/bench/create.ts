import { randomUUID } from 'node:crypto';
import type { WithId } from '@medplum/core';
import type { Bundle, HealthcareService, Patient, Practitioner, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { SCHEDULING_PARAMETERS } from '../../core/fhir/scheduling/scheduling-parameters.ts';
import { resourceIn, send } from './http.ts';
import type { Installation } from './installation.ts';

/**
 * Creates a resource as staff, and returns the stored one.
 *
 * @throws Error with the response if it was refused
 */
export async function create<T extends Resource>({ medplum, tokens }: Installation, resource: T): Promise<WithId<T>> {
  const { resourceType } = resource;
  return resourceIn(
    resourceType,
    await send('POST', `${medplum}/${resourceType}`, tokens.staff, resource),
  ) as WithId<T>;
}

/** Creates a schedule, by default without opening hours. */
export const createSchedule = (installation: Installation, more: Partial<Schedule> = {}): Promise<WithId<Schedule>> =>
  create<Schedule>(installation, {
    resourceType: 'Schedule',
    active: true,
    actor: [{ display: `Benchmark ${randomUUID()}` }],
    ...more,
  });

/** Creates a service. Duration and interval of its appointments are in minutes. */
export const createService = (
  installation: Installation,
  minutes: number,
  timeZone: string,
  more: Partial<HealthcareService> = {},
): Promise<WithId<HealthcareService>> =>
  create<HealthcareService>(installation, {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Benchmark',
    extension: [
      {
        url: SCHEDULING_PARAMETERS,
        extension: [
          { url: 'duration', valueDuration: { value: minutes, unit: 'min' } },
          { url: 'alignmentInterval', valueDuration: { value: minutes, unit: 'min' } },
          { url: 'timezone', valueCode: timeZone },
        ],
      },
    ],
    ...more,
  });

/** Creates the actor of a calendar, and returns the reference. */
export async function createActor(installation: Installation): Promise<{ readonly reference: string }> {
  const name = [{ family: 'Benchmark', given: [randomUUID()] }];
  const { id } = await create<Practitioner>(installation, { resourceType: 'Practitioner', name });
  return { reference: `Practitioner/${id}` };
}

/** Creates a patient as the portal. */
export async function createPatient({ base, tokens }: Installation): Promise<Patient> {
  const patient = { resourceType: 'Patient', name: [{ family: 'Benchmark', given: [randomUUID()] }] };
  return resourceIn('Patient', await send('POST', `${base}/Patient`, tokens.portal, patient));
}

/** A free slot; start and length in milliseconds. */
export const freeSlot = ({ id }: Schedule, start: number, length: number): Slot => ({
  resourceType: 'Slot',
  schedule: { reference: `Schedule/${id}` },
  status: 'free',
  start: formatInstant(start),
  end: formatInstant(start + length),
});

const BATCH = 200;

/**
 * Creates slots as staff, and returns the stored ones in the same order.
 *
 * @throws Error if one was refused
 */
export async function createSlots({ medplum, tokens }: Installation, wanted: readonly Slot[]): Promise<Slot[]> {
  const stored: Slot[] = [];
  while (stored.length < wanted.length) {
    const part = wanted.slice(stored.length, stored.length + BATCH);
    const entry = part.map((resource) => ({ request: { method: 'POST' as const, url: 'Slot' }, resource }));
    const batch: Bundle = { resourceType: 'Bundle', type: 'batch', entry };
    const answer = resourceIn('Bundle', await send('POST', medplum, tokens.staff, batch));
    const slots = (answer.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
    if (slots.length !== part.length) {
      throw new Error('Not all slots could be created.');
    }
    stored.push(...slots);
  }
  return stored;
}
