import { readFileSync } from 'node:fs';
import type { Appointment, Patient, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import type { Fragments } from '../../../core/booking/appointment/reads.ts';
import type { BookingContext, Histories, Knowledge } from '../../../core/booking/booking/apply-policy.ts';
import { type BookingDecision, calendarFor, prepare } from '../../../core/booking/booking/booking-calendar.ts';
import { decide } from '../../../core/booking/booking/decide.ts';
import type { Role } from '../../../core/booking/policy/caller-rights.ts';
import { parseBookRequest } from '../../../core/booking/request/request.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { type ResourceSet, resourcesOfType } from '../../../core/rows/resource-set.ts';
import { type BookingPlan, planBooking } from '../../../core/visits/plan.ts';
import { told } from '../../lib/told.ts';

export const config = resolveConfig(JSON.parse(readFileSync('booking.config.json', 'utf8')));
export const requestor = 'portal';
export const now = Date.parse('2027-01-01T00:00:00Z');

/** An instant on the day that the tests play on. */
export const at = (time: string): string => `2027-01-04T${time}:00.000Z`;

export const ct = { coding: [{ system: 'urn:services', code: 'ct' }] };

export const schedule: Schedule = {
  resourceType: 'Schedule',
  id: 'calendar',
  serviceType: [ct],
  actor: [{ reference: 'HealthcareService/ct' }],
};

export const patient: Patient = {
  resourceType: 'Patient',
  id: 'anna',
  meta: { tag: [requestorTag(requestor, config)] },
  identifier: [{ system: 'urn:kvnr', value: 'A123' }],
};

export function slot(id: string, start: string, end: string, more: Partial<Slot> = {}): Slot {
  return {
    resourceType: 'Slot',
    id,
    meta: { versionId: `${id}-1` },
    schedule: { reference: 'Schedule/calendar' },
    status: 'free',
    start: at(start),
    end: at(end),
    ...more,
  };
}

export function appointment(more: Partial<Appointment> = {}): Appointment {
  return {
    resourceType: 'Appointment',
    status: 'proposed',
    start: at('09:00'),
    end: at('09:30'),
    slot: [{ reference: 'Slot/nine' }],
    serviceType: [ct],
    participant: [{ actor: { reference: 'Patient/anna' }, status: 'accepted' }],
    ...more,
  };
}

/** What the caller can see: by default one schedule, one patient and a free slot from 9:00 to 9:30. */
export function stateOf(...resources: Resource[]): ResourceSet {
  const found = resources.length > 0 ? resources : [schedule, patient, slot('nine', '09:00', '09:30')];
  return new Map(found.map((resource) => [`${resource.resourceType}/${resource.id}`, resource]));
}

const noPieces: Fragments = { slots: [], uses: new Map() };

/** The histories of appointments that were never changed. */
export const unchanged = (state: ResourceSet): Histories => ({
  versions: new Map(resourcesOfType(state, 'Appointment').map((one) => [one.id ?? '', [one]])),
  slots: [],
});

/** The plan for a request, once everything that it depends on was read. */
export function plan(
  body: unknown,
  state: ResourceSet = stateOf(),
  more: Partial<BookingContext> = {},
  pieces: Fragments = noPieces,
  role: Role = 'requestor',
  { visits, ...known }: Knowledge & { readonly visits?: ResourceSet } = {},
): BookingPlan {
  const slots = [...resourcesOfType(state, 'Slot'), ...pieces.slots];
  const nearby = { expired: [], rows: [], ...pieces, slots };
  let count = 0;
  const newId = () => `urn:uuid:00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`;
  return planBooking(
    parseBookRequest(body, config),
    { state, visits, known: { nearby, role, histories: unchanged(state), ...known } },
    { now, requestor, config, newId, ...more },
  );
}

/** What one appointment is judged by, with nothing known besides what the caller can see, unless it is given. */
export function decisionFor(body: unknown, state: ResourceSet = stateOf(), known: Knowledge = {}): BookingDecision {
  const [one] = parseBookRequest(body, config).request?.appointments ?? [];
  if (!one) {
    throw new Error('The request cannot be read.');
  }
  const newId = () => 'urn:uuid:1';
  const given = { state, known, context: { now, requestor, config, newId, idFor: newId } };
  const prepared = prepare(one, given);
  return decide(prepared, calendarFor([prepared], given));
}

/** The issues of a refusal as `code expression`, in the order found. */
export function issuesOf(result: BookingPlan): string[] {
  return result.kind === 'refuse' ? told(result.issues) : [];
}

/** The resources that a plan writes, of one type. */
export function written<T extends Resource['resourceType']>(result: BookingPlan, type: T) {
  const entries = result.kind === 'write' ? (result.transaction.entry ?? []) : [];
  return entries.flatMap(({ resource }) =>
    resource?.resourceType === type ? [resource as Extract<Resource, { resourceType: T }>] : [],
  );
}

export const parameters = (...parameter: unknown[]): unknown => ({ resourceType: 'Parameters', parameter });
export const resourceParameter = (name: string, resource: unknown): unknown => ({ name, resource });
