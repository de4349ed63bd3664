import type { Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { publishedKeyOf } from '../../fhir/scheduling/slot-marks.ts';
import { codesWhere, rowCodes } from '../../rows/row.ts';

/** Data of the service in Medplum that nothing reads or changes any more. */
export const leftovers = {
  jobs: 'completed asynchronous bookings, with their requests, and Tasks of requests and double bookings that have ended',
  quotas: 'counters of the appointments of patients and portals that have not been used for a long time',
  slots: 'past slot fragments that were joined again and belong to no appointment',
  published: 'past published slots that nobody has booked',
} as const;

export type Leftover = keyof typeof leftovers;

type Query = Readonly<Record<string, string>>;

function lastChangedBefore(cutoff: number): Query {
  return { _lastUpdated: `lt${formatInstant(cutoff)}` };
}

/**
 * The search for Tasks of asynchronous bookings, requests and double bookings that ended before a moment. It never
 * finds waiting ones.
 * @param cutoff - milliseconds since 1970 UTC, like all moments here
 */
export function endedJobsQuery(cutoff: number, config: PublicConfig): Query {
  return {
    code: rowCodes(
      codesWhere(({ isPassing }) => isPassing === true),
      config,
    ),
    status: 'completed,failed,cancelled,rejected',
    ...lastChangedBefore(cutoff),
  };
}

/**
 * The search for rows of quotas that were last used before a moment. A booking creates a missing row, and decides again
 * if its row is removed in the meantime.
 */
export function idleQuotasQuery(cutoff: number, config: PublicConfig): Query {
  return { code: rowCodes(['quota'], config), ...lastChangedBefore(cutoff) };
}

/** The search for emptied slots that were last changed before a moment. */
export function emptiedSlotsQuery(cutoff: number): Query {
  return { status: 'entered-in-error', ...lastChangedBefore(cutoff) };
}

/**
 * Whether an absorbed slot will never be used again. The service reuses absorbed slots when it splits their original
 * slot, but it does not split slots in the past. Slots that staff marked as an error stay.
 * @param referred - references to the slots of appointments of any status
 */
export function isAbsorbed(
  { id, status, identifier, end }: Slot,
  referred: ReadonlySet<string>,
  cutoff: number,
  config: PublicConfig,
): boolean {
  const origin = artefactUri(config, 'LocalSlotOrigin');
  const isFragment = identifier?.some(({ system }) => system === origin) ?? false;
  const hasPassed = (parseInstant(end) ?? Number.POSITIVE_INFINITY) < cutoff;
  return status === 'entered-in-error' && isFragment && hasPassed && !referred.has(`Slot/${id}`);
}

/** The search for past slots that may have been published and were not taken, closed days included. */
export function pastSlotsQuery(cutoff: number): Query {
  return {
    status: 'free,entered-in-error,busy-unavailable',
    _filter: `(end lt "${formatInstant(cutoff)}")`,
    ...lastChangedBefore(cutoff),
  };
}

/**
 * Whether a past slot was published and never booked. Slots created by others stay, and so do published ones that staff
 * have blocked.
 * @param referred - references to the slots of appointments of any status
 */
export function isLeftPublished(
  slot: Slot,
  referred: ReadonlySet<string>,
  cutoff: number,
  config: PublicConfig,
): boolean {
  const key = publishedKeyOf(slot, config);
  const hasPassed = (parseInstant(slot.end) ?? Number.POSITIVE_INFINITY) < cutoff;
  const isOpen = slot.status === 'free' || slot.status === 'entered-in-error';
  const isBlock = key?.kind === 'closed' && slot.status === 'busy-unavailable';
  return key !== undefined && hasPassed && (isOpen || isBlock) && !referred.has(`Slot/${slot.id}`);
}
