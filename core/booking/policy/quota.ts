import type { Appointment, BundleEntry, Patient, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { BookingErrorCode } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn, serviceIdsOfSchedule } from '../../fhir/reference.ts';
import { isResource, updateEntry } from '../../fhir/resource.ts';
import { requestorQuery } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, scheduleOf } from '../../rows/resource-set.ts';
import { newRow, rowCodes, rowSearch, valueIn } from '../../rows/row.ts';
import { chunks, type SearchQuery, search, searchByIds } from '../../rows/search.ts';
import { slotIdsOf } from '../../slots/slot.ts';
import type { Interval } from '../../time/interval.ts';
import { intervalOf, localDayOf } from '../../time/local-day.ts';
import { hasEnded, isHold, isHolding } from '../appointment/expiry.ts';
import { holdsSlots, isOpen, statusQuery } from '../appointment/status.ts';
import { isForPerson, isSamePerson, personQueries } from '../patients/identity.ts';
import type { EffectivePolicy } from './policy.ts';

/** A limit, set by a policy or the installation, on the number of a requestor's appointments. */
export interface Quota {
  readonly code: Extract<BookingErrorCode, 'patient-limit-reached' | 'portal-quota-reached' | 'too-many-holds'>;
  /** Name of the row that every transaction with this quota changes. */
  readonly row: string;
  readonly limit: number;
  readonly queries: readonly SearchQuery[];
  /** The person whose appointments count; absent if everybody's do. */
  readonly person?: Patient | undefined;
  /** The Schedule or HealthcareService whose appointments count; absent if all appointments do. */
  readonly scope?: string | undefined;
  /** The sentence that explains the limit. */
  readonly diagnostics: string;
}

/** The use of a quota, as read in one transaction. */
export interface Usage {
  /** Absent if there is none yet and none may be created, in a `dry-run`. */
  readonly row: Task | undefined;
  /** The results of `Quota.queries` and `countedReads`. */
  readonly found: ResourceSet;
}

interface QuotaContext {
  readonly requestor: string;
  readonly now: number;
  readonly config: BookingConfig;
}

/** The most appointments that are read to count them: Medplum's maximum. With that many, the quota is used up. */
const MAX_COUNTED = 1_000;

/** The most Slots in one search, which also includes their Schedules. */
const SLOTS_PER_SEARCH = 100;

/** The number of rows that a portal has for its patients. Bookings for people with the same row wait for each other. */
const PATIENT_ROWS = 1_021;

/** A number from the birth date, else from id or name: records of one person share it. It identifies nobody. */
function patientRow({ birthDate, id, identifier, name }: Patient): number {
  const text = birthDate ?? id ?? JSON.stringify([identifier, name]);
  return [...text].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % PATIENT_ROWS, 0);
}

function queryFor(more: SearchQuery, { requestor, config }: QuotaContext): SearchQuery {
  return [['_tag', requestorQuery(requestor, config)], ['_count', String(MAX_COUNTED)], ...more];
}

/** The quota of a person's open appointments from now on; none if no policy has `maxOpenPerPatient`. */
function patientQuota(
  { policy: { maxOpenPerPatient: limit }, saidBy }: EffectivePolicy,
  person: Patient,
  context: QuotaContext,
): Quota[] {
  const open: SearchQuery = [
    ['status', statusQuery(isOpen)],
    ['date', `ge${formatInstant(context.now)}`],
  ];
  return limit === undefined
    ? []
    : [
        {
          code: 'patient-limit-reached',
          row: `${context.requestor}/patients/${patientRow(person)}`,
          limit,
          queries: personQueries(person).map((own) => queryFor([...own, ...open], context)),
          person,
          scope: saidBy.maxOpenPerPatient,
          diagnostics: `A patient can have at most ${limit} open appointments here: cancel one first.`,
        },
      ];
}

/** The quota of the portal's appointments on the local day of the booking; none without `maxPerPortalAndDay`. */
function dayQuota(
  { policy: { maxPerPortalAndDay: limit }, saidBy }: EffectivePolicy,
  { start }: Interval,
  context: QuotaContext,
): Quota[] {
  const { timeZone } = context.config;
  const date = localDayOf(start, timeZone);
  const day = intervalOf(date, timeZone);
  const query: SearchQuery = [
    ['status', statusQuery(holdsSlots)],
    ['date', `ge${formatInstant(day.start)}`],
    ['date', `lt${formatInstant(day.end)}`],
  ];
  return limit === undefined
    ? []
    : [
        {
          code: 'portal-quota-reached',
          row: `${context.requestor}/${date}`,
          limit,
          queries: [queryFor(query, context)],
          scope: saidBy.maxPerPortalAndDay,
          diagnostics: `You can book at most ${limit} appointments here on ${date}: choose another day.`,
        },
      ];
}

/**
 * The quotas of a booking.
 * @param patients - of the booking, stored or submitted with the request
 */
export function policyQuotas(
  policies: readonly EffectivePolicy[],
  interval: Interval,
  patients: readonly Patient[],
  context: QuotaContext,
): Quota[] {
  return policies.flatMap((policy) => [
    ...patients.flatMap((patient) => patientQuota(policy, patient, context)),
    ...dayQuota(policy, interval, context),
  ]);
}

export function holdQuota(context: QuotaContext): Quota {
  const { maxPerRequestor: limit } = context.config.holds;
  return {
    code: 'too-many-holds',
    row: `${context.requestor}/holds`,
    limit,
    queries: [
      queryFor(
        [
          ['status', 'proposed'],
          ['_sort', '-_lastUpdated'],
        ],
        context,
      ),
    ],
    diagnostics: `You can hold at most ${limit} times at once: book or cancel one of them first.`,
  };
}

/** A key that is unique among the quotas of one booking. */
export const quotaKey = ({ code, row, scope = '', person }: Quota): string =>
  [code, row, scope, ...(person ? [JSON.stringify(personQueries(person))] : [])].join(' ');

/** Whether two quotas of one booking count the same appointments. */
export const isSameQuota = (quota: Quota, other: Quota, config: PublicConfig): boolean =>
  quota.person && other.person
    ? quota.scope === other.scope && isSamePerson(quota.person, other.person, config)
    : quotaKey(quota) === quotaKey(other);

/** Whether one of an appointment's Slots is in the Schedule, or in a Schedule of the service, that sets the limit. */
function isInScope(appointment: Appointment, scope: string | undefined, found: ResourceSet): boolean {
  if (scope === undefined) {
    return true;
  }
  return slotIdsOf(appointment).some((id) => {
    const slot = findResource(found, 'Slot', id);
    const schedule = slot && scheduleOf(found, slot);
    const services = schedule ? serviceIdsOfSchedule(schedule) : [];
    return slot?.schedule.reference === scope || services.some((service) => `HealthcareService/${service}` === scope);
  });
}

function countsAnywhere(appointment: Appointment, { code }: Quota, { now, config }: QuotaContext): boolean {
  return code === 'too-many-holds'
    ? isHolding(appointment, now, config)
    : !isHold(appointment, config) && !hasEnded(appointment, now, config);
}

/**
 * The searches for the Slots, Schedules and patients of the appointments found, which decide whether each counts. They
 * are separate searches, because Medplum refuses one that finds and includes more than 1000 resources.
 */
export function countedReads({ scope, person }: Quota, appointments: readonly Appointment[]): BundleEntry[] {
  const ids = [...new Set(scope === undefined ? [] : appointments.flatMap(slotIdsOf))];
  const patients = appointments.flatMap(({ participant }) =>
    participant.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []),
  );
  return [
    ...chunks(ids, SLOTS_PER_SEARCH).flatMap((part) => searchByIds('Slot', part, [['_include', 'Slot:schedule']])),
    ...chunks([...new Set(person ? patients : [])]).flatMap((part) => searchByIds('Patient', part)),
  ];
}

/**
 * Compares quotas with the counted appointments.
 * @param rewritten - ids of appointments that this booking moves or replaces: they do not count
 * @param ahead - the number of appointments of the same request that count towards a quota, too
 * @returns an issue for each quota that is used up, without duplicates
 */
export function quotaIssues(
  quotas: readonly Quota[],
  usage: ReadonlyMap<string, Usage>,
  rewritten: readonly string[],
  expression: string,
  context: QuotaContext,
  ahead: (quota: Quota) => number = () => 0,
): Issue[] {
  const issues = quotas.flatMap((quota): Issue[] => {
    const found: ResourceSet = usage.get(quotaKey(quota))?.found ?? new Map();
    const appointments = [...found.values()].filter((resource) => resource.resourceType === 'Appointment');
    const counted = appointments.filter(
      (appointment) =>
        countsAnywhere(appointment, quota, context) &&
        (!quota.person || isForPerson(appointment, quota.person, found, context.config)) &&
        isInScope(appointment, quota.scope, found),
    );
    const others = counted.filter(({ id = '' }) => !rewritten.includes(id));
    // If the limit was lowered below the current number, existing appointments can still be moved.
    const limit = Math.max(quota.limit, counted.length);
    const isUsedUp = others.length + ahead(quota) >= limit || appointments.length >= MAX_COUNTED;
    const { code, diagnostics } = quota;
    return isUsedUp ? [{ code, diagnostics, expression }] : [];
  });
  return [...new Map(issues.map((issue) => [`${issue.code} ${issue.diagnostics}`, issue])).values()];
}

const USES = 'uses';

const usesOf = (row: Task | undefined): number => valueIn(row?.output, USES)?.valueInteger ?? -1;

/**
 * The row of a quota: a Task that every transaction with this quota changes, with `ifMatch`, so that two bookings
 * cannot both use the last appointment of the quota. Each booking counts the appointments again: the row contains no
 * number that could become wrong.
 * @param stored - the Task as it was read, if there is one; the new one differs from it
 */
export function quotaRow({ row }: Pick<Quota, 'row'>, config: PublicConfig, stored?: Task): Task {
  const more = {
    description: 'Keeps the appointments of one portal within a limit',
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: row },
    output: [{ type: { text: USES }, valueInteger: (usesOf(stored) + 1) % 1_000_000_000 }],
  };
  return newRow('quota', { status: 'completed', ...more }, config, stored);
}

export const quotaRowSearch = ({ row }: Quota, config: PublicConfig): string =>
  rowSearch(['quota'], { 'group-identifier': `${artefactUri(config, 'LocalRequestor')}|${row}` }, config);

/**
 * The transaction entries that change the rows of quotas: each row once, if it still has the version that was read. Of
 * several quotas with one row, the one that was read first counts: a booking in between overtakes it.
 */
export function quotaEntries(
  usage: ReadonlyMap<string, Usage>,
  quotas: readonly Quota[],
  config: PublicConfig,
): BundleEntry[] {
  const read = quotas.flatMap((quota) => {
    const row = usage.get(quotaKey(quota))?.row;
    return row ? [{ quota, row }] : [];
  });
  const latestFirst = read.toSorted((one, other) => usesOf(other.row) - usesOf(one.row));
  const rows = new Map(
    latestFirst.map(({ quota, row }) => [quota.row, updateEntry(row, quotaRow(quota, config, row))] as const),
  );
  return [...rows.values()];
}

export type RequestorLimit = 'open' | 'rate' | 'jobs' | 'waiting';

const MINUTE = 60_000;

/** The resources of a requestor that count towards a limit, and their maximum number. */
interface Counted {
  readonly type: 'Appointment' | 'Task';
  readonly most: keyof BookingConfig['requestors'];
  readonly query: (now: number, config: BookingConfig) => SearchQuery;
}

const counted: Readonly<Record<RequestorLimit, Counted>> = {
  open: {
    type: 'Appointment',
    most: 'maxOpenAppointments',
    query: (now) => [
      ['status', statusQuery(isOpen)],
      ['date', `ge${formatInstant(now)}`],
    ],
  },
  rate: {
    type: 'Appointment',
    most: 'maxBookingsPerMinute',
    query: (now) => [['_lastUpdated', `ge${formatInstant(now - MINUTE)}`]],
  },
  waiting: { type: 'Appointment', most: 'maxOpenAppointments', query: () => [['status', 'waitlist']] },
  /** Asynchronous bookings that are not carried out yet. */
  jobs: {
    type: 'Task',
    most: 'maxBookingsPerMinute',
    query: (_, config) => [
      ['code', rowCodes(['book'], config)],
      ['status', 'requested'],
    ],
  },
};

/**
 * The searches for reached limits, for the batch that a booking reads: each finds one resource if the limit is reached.
 * They use no lock, so that bookings need not wait. Simultaneous bookings do not count each other and can exceed a
 * limit by their number.
 * @param requestor - id of its profile
 * @param count - the number of appointments to be made
 */
export function requestorLimitReads(
  limits: readonly RequestorLimit[],
  requestor: string,
  now: number,
  config: BookingConfig,
  count = 1,
): BundleEntry[] {
  return limits.map((limit) => {
    const { type, most, query } = counted[limit];
    return search(type, [
      ['_tag', requestorQuery(requestor, config)],
      ...query(now, config),
      ['_offset', String(Math.max(0, config.requestors[most] - count))],
      ['_count', '1'],
      ['_fields', 'id'],
    ]);
  });
}

/**
 * The limits that are reached.
 * @param answers - the responses to `requestorLimitReads`; Medplum responds with 403 to a search without access
 * @returns `undefined` if a search failed
 */
export function limitsReached(
  limits: readonly RequestorLimit[],
  answers: readonly BundleEntry[],
): ReadonlySet<RequestorLimit> | undefined {
  const isAnswered = ({ response }: BundleEntry): boolean => response?.status === '200' || response?.status === '403';
  const isFound = ({ resource }: BundleEntry = {}): boolean =>
    isResource(resource, 'Bundle') && resource.entry?.[0]?.resource !== undefined;
  return answers.length === limits.length && answers.every(isAnswered)
    ? new Set(limits.filter((_, index) => isFound(answers[index])))
    : undefined;
}

/**
 * Checks a booking, a hold or a waitlist entry against the limits of the installation.
 * @param earlier - the appointments that it moves or replaces: if one is open, the number of open ones stays the same
 */
export function requestorLimitIssues(
  reached: ReadonlySet<RequestorLimit>,
  earlier: readonly (Appointment | undefined)[],
  expression: string,
  { requestors: { maxOpenAppointments, maxBookingsPerMinute } }: BookingConfig,
): Issue[] {
  const isFurther = !earlier.some((appointment) => appointment && isOpen(appointment));
  const open = `You can have at most ${maxOpenAppointments} open appointments here: cancel some, or ask the clinic.`;
  const rate = `You can book, hold or change at most ${maxBookingsPerMinute} appointments a minute: wait and try again.`;
  const waiting = `You can have at most ${maxOpenAppointments} entries on the waitlist: leave some, or ask the clinic.`;
  return [
    ...(reached.has('waiting') ? [{ code: 'portal-limit-reached', diagnostics: waiting, expression } as const] : []),
    ...(reached.has('open') && isFurther
      ? [{ code: 'portal-limit-reached', diagnostics: open, expression } as const]
      : []),
    ...(reached.has('rate') || reached.has('jobs')
      ? [{ code: 'too-many-bookings', diagnostics: rate, expression } as const]
      : []),
  ];
}
