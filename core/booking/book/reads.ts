import type { Bundle, BundleEntry, Identifier, Resource } from '@medplum/fhirtypes';
import { formatInstant } from '../../fhir/instant.ts';
import { isId } from '../../fhir/reference.ts';
import type { TagConfig } from '../../fhir/tags.ts';
import { requestorTag } from '../../fhir/tags.ts';
import type { ResourceSet } from '../resource-set.ts';
import type { BookRequest } from './request.ts';

/** How many free slots before the end of an appointment are looked at when only its schedule is named. */
const OFFERS_COUNT = '200';

type Query = [name: string, value: string][];

/** A search as an entry of a batch. */
export function search(type: string, query: Query): BundleEntry {
  return {
    request: { method: 'GET', url: `${type}?${new URLSearchParams(query)}` },
  };
}

const withSchedule: Query = [
  ['_include', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

const withSlots: Query = [
  ['_include', 'Appointment:slot'],
  ['_include', 'Appointment:patient'],
  ['_include:iterate', 'Slot:schedule'],
];

const escapeToken = (value: string): string => value.replace(/[\\,$|]/g, '\\$&');

/** The search for what a requestor has submitted with one of these identifiers; none without identifiers. */
export function identifierQuery(identifiers: readonly Identifier[] | undefined, tag: string): Query[] {
  const tokens = (identifiers ?? []).flatMap(({ system, value }) =>
    value ? [`${escapeToken(system ?? '')}|${escapeToken(value)}`] : [],
  );
  return tokens.length > 0
    ? [
        [
          ['identifier', tokens.join(',')],
          ['_tag', tag],
        ],
      ]
    : [];
}

const unique = (ids: readonly (string | undefined)[]): string[] => [
  ...new Set(ids.filter((id): id is string => id !== undefined)),
];

function byId(type: string, ids: readonly (string | undefined)[], include: Query = []): BundleEntry[] {
  const wanted = unique(ids);
  const count = String(Math.max(wanted.length, 20));
  return wanted.length > 0 ? [search(type, [['_id', wanted.join(',')], ['_count', count], ...include])] : [];
}

/** Reads by id, which Medplum answers from its cache where a search asks the database. */
function reads(type: string, ids: readonly (string | undefined)[]): BundleEntry[] {
  return unique(ids)
    .filter(isId)
    .map((id) => ({ request: { method: 'GET', url: `${type}/${id}` } }));
}

function offers({ schedule, slots, interval }: BookRequest): BundleEntry[] {
  return schedule && interval && slots.length === 0
    ? [
        search('Slot', [
          ['schedule', `Schedule/${schedule.value}`],
          ['status', 'free'],
          ['start', `lt${formatInstant(interval.end)}`],
          ['_sort', '-start'],
          ['_count', OFFERS_COUNT],
        ]),
      ]
    : [];
}

/**
 * Everything that must be known to decide about a booking, as one batch. It is to be sent with the caller's own
 * credentials: what the caller may not see does not exist for its booking.
 *
 * @param requestor - id of the requestor's profile, whose earlier bookings and patients are looked for
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export function bookingReads(request: BookRequest, requestor: string, config: TagConfig): Bundle {
  const { appointment, patient, relatedPerson, schedule, replaced, slots, participants } = request;
  const { system, code } = requestorTag(requestor, config);
  const tag = `${system}|${code}`;
  const patientIds = participants.map(({ actor }) => (actor.kind === 'patient' ? actor.id : undefined));
  return {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      ...byId(
        'Slot',
        slots.map(({ value }) => value),
        withSchedule,
      ),
      ...byId('Schedule', [schedule?.value], [['_include', 'Schedule:actor']]),
      ...offers(request),
      ...reads('Patient', [...patientIds, patient?.value.id]),
      ...identifierQuery(patient?.value.identifier, tag).map((query) => search('Patient', query)),
      ...identifierQuery(relatedPerson?.value.identifier, tag).map((query) => search('RelatedPerson', query)),
      ...identifierQuery(appointment.value.identifier, tag).map((query) =>
        search('Appointment', [...query, ...withSlots]),
      ),
      ...byId('Appointment', [appointment.value.id, replaced?.value], withSlots),
    ],
  };
}

/** What a batch answered: the state, or that the server could not say. */
export type ReadResult = { readonly state: ResourceSet } | { readonly status: number };

function resourcesOf({ resource }: BundleEntry): Resource[] {
  if (resource?.resourceType === 'Bundle') {
    return (resource.entry ?? []).flatMap((inner) => inner.resource ?? []);
  }
  return resource && resource.resourceType !== 'OperationOutcome' ? [resource] : [];
}

/** Statuses that tell something about what there is for the caller, not about the server's condition. */
const saysNothingThere = new Set([200, 403, 404, 410]);

/**
 * Reads the answer to a batch of searches and reads.
 *
 * @returns everything found, or the status of one that failed: what could not be read must not pass for absent
 */
export function readState(response: Bundle): ReadResult {
  const entries = response.entry ?? [];
  const failed = entries
    .map(({ response: inner }) => Number.parseInt(inner?.status ?? '500', 10))
    .find((status) => !saysNothingThere.has(status));
  return failed === undefined
    ? { state: new Map(entries.flatMap(resourcesOf).map((found) => [`${found.resourceType}/${found.id}`, found])) }
    : { status: failed };
}
