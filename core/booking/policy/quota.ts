import type { Appointment, BundleEntry, Task } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig, type PublicConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { BookingErrorCode } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { offeredServiceIds } from '../../fhir/reference.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { requestorQuery } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, scheduleOf } from '../../rows/resource-set.ts';
import { newRow, rowSearch, valueIn } from '../../rows/row.ts';
import { portions, type SearchQuery, searchByIds } from '../../rows/search.ts';
import { slotIdsOf } from '../../slots/slot.ts';
import type { Interval } from '../../time/interval.ts';
import { intervalOf, localDayOf } from '../../time/local-day.ts';
import { hasEnded, isHold, isHolding } from '../appointment/expiry.ts';
import { holdsSlots, isOpen, statusQuery } from '../appointment/status.ts';
import type { EffectivePolicy } from './policy.ts';

/** A limit, set by a policy or the installation, on the number of a requestor's appointments. */
export interface Quota {
  readonly code: Extract<BookingErrorCode, 'patient-limit-reached' | 'portal-quota-reached' | 'too-many-holds'>;
  /** Name of the row that is changed by every transaction that counts towards the quota. */
  readonly row: string;
  readonly limit: number;
  /** The search for the appointments that may count towards the quota. */
  readonly query: SearchQuery;
  /** The Schedule or HealthcareService whose appointments count; absent: all appointments. */
  readonly scope?: string | undefined;
  /** The sentence that explains the limit. */
  readonly diagnostics: string;
}

/** The use of a quota, as read in one transaction. */
export interface Usage {
  /** Absent if there is none yet and none may be created, in a `dry-run`. */
  readonly row: Task | undefined;
  /** What `Quota.query` found, and what `countedSlotReads` asks for. */
  readonly found: ResourceSet;
}

/** What a quota is counted for. */
interface QuotaContext {
  readonly requestor: string;
  readonly now: number;
  readonly config: BookingConfig;
}

/** The most appointments that are read to count them, as many as Medplum returns: with that many, the quota is used up. */
const MOST_COUNTED = 1_000;

/** How many Slots one search asks for; it includes their Schedules, too. */
const SLOTS_PER_SEARCH = 100;

function queryFor(more: SearchQuery, { requestor, config }: QuotaContext): SearchQuery {
  return [['_tag', requestorQuery(requestor, config)], ['_count', String(MOST_COUNTED)], ...more];
}

function patientQuota(
  { policy: { maxOpenPerPatient: limit }, saidBy }: EffectivePolicy,
  patient: string,
  context: QuotaContext,
): Quota[] {
  const query: SearchQuery = [
    ['patient', patient],
    ['status', statusQuery(isOpen)],
    ['date', `ge${formatInstant(context.now)}`],
  ];
  return limit === undefined
    ? []
    : [
        {
          code: 'patient-limit-reached',
          row: `${context.requestor}/${patient}`,
          limit,
          query: queryFor(query, context),
          scope: saidBy.maxOpenPerPatient,
          diagnostics: `A patient can have at most ${limit} open appointments here: cancel one first.`,
        },
      ];
}

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
          query: queryFor(query, context),
          scope: saidBy.maxPerPortalAndDay,
          diagnostics: `You can book at most ${limit} appointments here on ${date}: choose another day.`,
        },
      ];
}

/**
 * The quotas that a booking counts towards.
 *
 * @param patients - `Patient/id` of each stored patient who takes part; a patient submitted with the request has no
 *   appointments yet
 */
export function policyQuotas(
  policies: readonly EffectivePolicy[],
  interval: Interval,
  patients: readonly string[],
  context: QuotaContext,
): Quota[] {
  const stored = [...new Set(patients)].filter((patient) => patient.startsWith('Patient/'));
  return policies.flatMap((policy) => [
    ...stored.flatMap((patient) => patientQuota(policy, patient, context)),
    ...dayQuota(policy, interval, context),
  ]);
}

/** The quota for the holds that a requestor may have at a time. */
export function holdQuota(context: QuotaContext): Quota {
  const { maxPerRequestor: limit } = context.config.holds;
  return {
    code: 'too-many-holds',
    row: `${context.requestor}/holds`,
    limit,
    query: queryFor(
      [
        ['status', 'proposed'],
        ['_sort', '-_lastUpdated'],
      ],
      context,
    ),
    diagnostics: `You can hold at most ${limit} times at once: book or cancel one of them first.`,
  };
}

/** A name for a quota among those of one booking. */
export const quotaKey = ({ code, row, scope = '' }: Quota): string => [code, row, scope].join(' ');

function isInScope(appointment: Appointment, scope: string | undefined, found: ResourceSet): boolean {
  if (scope === undefined) {
    return true;
  }
  return slotIdsOf(appointment).some((id) => {
    const slot = findResource(found, 'Slot', id);
    const schedule = slot && scheduleOf(found, slot);
    const services = schedule ? offeredServiceIds(schedule) : [];
    return slot?.schedule.reference === scope || services.some((service) => `HealthcareService/${service}` === scope);
  });
}

function countsAnywhere(appointment: Appointment, { code }: Quota, { now, config }: QuotaContext): boolean {
  return code === 'too-many-holds'
    ? isHolding(appointment, now, config)
    : !isHold(appointment, config) && !hasEnded(appointment, now, config);
}

/**
 * The searches for the Slots and Schedules of the appointments found, which tell those in the quota's scope from others.
 * They are separate searches, because Medplum refuses one that finds and includes more than 1000 resources.
 */
export function countedSlotReads(quota: Quota, appointments: readonly Appointment[]): BundleEntry[] {
  const ids = [...new Set(quota.scope === undefined ? [] : appointments.flatMap(slotIdsOf))];
  return portions(ids, SLOTS_PER_SEARCH).flatMap((part) => searchByIds('Slot', part, [['_include', 'Slot:schedule']]));
}

/**
 * Compares quotas with what was counted.
 *
 * @param rewritten - ids of appointments that this booking moves or replaces: they do not count
 * @param ahead - how many appointments of the same request count towards a quota, too
 * @returns an issue for each quota that is used up; only one if several patients have used up the same one
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
    const appointments = [...found.values()].filter((one) => one.resourceType === 'Appointment');
    const counted = appointments.filter(
      (one) => countsAnywhere(one, quota, context) && isInScope(one, quota.scope, found),
    );
    const others = counted.filter(({ id = '' }) => !rewritten.includes(id));
    // Where the limit was lowered below what there is, what there is can still be moved.
    const limit = Math.max(quota.limit, counted.length);
    const isUsedUp = others.length + ahead(quota) >= limit || appointments.length >= MOST_COUNTED;
    const { code, diagnostics } = quota;
    return isUsedUp ? [{ code, diagnostics, expression }] : [];
  });
  return [...new Map(issues.map((issue) => [`${issue.code} ${issue.diagnostics}`, issue])).values()];
}

const USES = 'uses';

/**
 * The row of a quota: a Task that is changed, with `ifMatch`, by every transaction that counts towards the quota, so that
 * two bookings cannot both take the last place. Each booking counts the appointments again: the row contains no number that
 * could become wrong.
 *
 * @param stored - the Task as it was read, if there is one; the new one differs from it
 */
export function quotaRow({ row }: Pick<Quota, 'row'>, config: PublicConfig, stored?: Task): Task {
  const before = valueIn(stored?.output, USES)?.valueInteger ?? -1;
  const more = {
    description: 'Keeps the appointments of one portal within a limit',
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: row },
    output: [{ type: { text: USES }, valueInteger: (before + 1) % 1_000_000_000 }],
  };
  return newRow('quota', { status: 'completed', ...more }, config, stored);
}

/** The search for the row of a quota. */
export const quotaRowSearch = ({ row }: Quota, config: PublicConfig): string =>
  rowSearch(['quota'], { 'group-identifier': `${artefactUri(config, 'LocalRequestor')}|${row}` }, config);

/** The transaction entries that change the rows of quotas: each row once, if it still has the version that was read. */
export function quotaEntries(
  usage: ReadonlyMap<string, Usage>,
  quotas: readonly Quota[],
  config: PublicConfig,
): BundleEntry[] {
  const rows = new Map(
    quotas.flatMap((quota) => {
      const row = usage.get(quotaKey(quota))?.row;
      return row ? [[quota.row, updateEntry(row, quotaRow(quota, config, row))] as const] : [];
    }),
  );
  return [...rows.values()];
}
