import type { Appointment } from '@medplum/fhirtypes';
import { aClinic, book, proposed, succeeded } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';

/** A clinic with an appointment of portal A in its slot. */
export async function aBooking(more: Partial<Appointment> = {}) {
  const clinic = await aClinic();
  const booked = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot], more)));
  return { ...clinic, booked, id: booked.id ?? '' };
}

/** One operation of a FHIRPath Patch: its parts by name, each a value with its property (`{ valueCode: 'replace' }`). */
export const operation = (parts: Readonly<Record<string, object>>) => ({
  name: 'operation',
  part: Object.entries(parts).map(([name, value]) => ({ name, ...value })),
});

/** A FHIRPath Patch. */
export const fhirPathPatch = (...operations: readonly Readonly<Record<string, object>>[]) => ({
  resourceType: 'Parameters',
  parameter: operations.map(operation),
});

/** The operation that replaces one element. */
export const replacing = (path: string, value: object) => ({
  type: { valueCode: 'replace' },
  path: { valueString: path },
  value,
});

/** The patch that cancels, as the specification shows it. */
export const cancellation = fhirPathPatch(replacing('Appointment.status', { valueCode: 'cancelled' }));

/** PATCH with Parameters or, given a list, with a JSON Patch. */
export function patch(
  id: string,
  body: unknown,
  role: Role = 'portal-a',
  headers: Readonly<Record<string, string>> = {},
) {
  const type = Array.isArray(body) ? 'application/json-patch+json' : 'application/fhir+json';
  return request(role, 'PATCH', `/Appointment/${id}`, { body, headers: { 'content-type': type, ...headers } });
}

/** The appointment as its requestor reads it. */
export const read = async (id: string, role: Role = 'portal-a') =>
  resourceIn('Appointment', await request(role, 'GET', `/Appointment/${id}`));
