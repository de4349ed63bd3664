import type { BookableService } from '../clinic/services.ts';
import { readTimes } from '../clinic/times.ts';
import { has, isRefusal, type Refusal } from '../fhir/client.ts';
import type { Visit } from '../http/visit.ts';
import type { Portal } from '../portal.ts';
import type { RefusalReason } from '../texts/texts.ts';
import type { ChosenTime } from '../visit/chosen-time.ts';
import { otherVisits } from './visits.ts';

const VISITOR_LIMIT = 'visitor-limit';

/** The refusal if the visitor's quota is exhausted. */
export const visitorLimit: Refusal = {
  refused: true,
  status: 429,
  problems: [{ code: VISITOR_LIMIT, alternatives: [] }],
};

/** The service's error codes (docs/errors.md) by reason for the patient. */
const reasons: readonly (readonly [RefusalReason, readonly string[]])[] = [
  ['taken', ['slot-not-free', 'slot-not-found', 'slot-mismatch', 'schedule-inactive', 'schedule-overbooked']],
  ['heldOver', ['hold-expired']],
  ['tooSoon', ['too-soon', 'start-in-past']],
  ['tooFar', ['too-far-ahead']],
  ['cancelTooLate', ['cancellation-closed']],
  ['closed', ['appointment-closed', 'transition-not-allowed']],
  ['tooManyHolds', ['too-many-holds']],
  ['patientLimit', ['patient-limit-reached']],
  ['visitorLimit', [VISITOR_LIMIT]],
  ['busy', ['portal-quota-reached', 'portal-limit-reached', 'too-many-bookings', 'booking-conflict']],
  ['changed', ['version-conflict']],
  ['apart', ['visit-mismatch']],
];

const aboutTime: readonly RefusalReason[] = ['taken', 'heldOver', 'tooSoon', 'tooFar'];

/** Maps a refusal to the reason that patients read. */
export function reasonOf(refusal: Refusal): RefusalReason {
  const found = reasons.find(([, codes]) => has(refusal, ...codes));
  if (found) {
    return found[0];
  }
  const byStatus: Readonly<Record<number, RefusalReason>> = { 0: 'unknown', 412: 'changed', 429: 'busy' };
  return byStatus[refusal.status] ?? (refusal.status >= 500 ? 'unknown' : 'other');
}

const OFFERED = 3;

/** Search range before and after the lost time, in milliseconds. */
const AROUND = 14 * 86_400_000;

/** Adds the Schedules of their Slots to times, because the next page depends on the Schedule. */
async function inCalendars({ service }: Portal, times: readonly Omit<ChosenTime, 'schedule'>[]): Promise<ChosenTime[]> {
  const slots = await Promise.all(
    times.map(({ slot, steps }) => (steps ? undefined : service.read('Slot', slot.slice('Slot/'.length)))),
  );
  return times.flatMap((time, index) => {
    const slot = slots[index];
    return slot && isRefusal(slot) ? [] : [{ ...time, schedule: slot?.schedule?.reference ?? '' }];
  });
}

/** The same time in another calendar of the service. */
async function withColleague(
  client: Portal['service'],
  service: BookableService,
  { schedule, start, steps }: ChosenTime,
): Promise<readonly ChosenTime[]> {
  const others = steps ? [] : service.schedules.filter(({ reference }) => reference !== schedule);
  const found = others.length > 0 ? await readTimes(client, service, others, [start, start + 1], 1) : undefined;
  const [first] = found && !isRefusal(found) ? found.times : [];
  return first ? [{ ...first, schedule: first.schedule.reference }] : [];
}

/**
 * Alternatives to a refused time or visit: from the refusal, else the nearest free ones.
 *
 * @returns `undefined` if another time would not help
 */
export async function alternativesTo(
  visit: Pick<Visit, 'portal' | 'clock'>,
  refusal: Refusal,
  service: BookableService | undefined,
  time: ChosenTime,
): Promise<readonly ChosenTime[] | undefined> {
  if (!service || !aboutTime.includes(reasonOf(refusal))) {
    return undefined;
  }
  const { service: client, now } = visit.portal;
  const all = refusal.problems.flatMap(({ alternatives }) => alternatives);
  const fitting = all.filter(({ steps }) => (steps === undefined) === (time.steps === undefined));
  const named = await inCalendars(visit.portal, fitting.slice(0, OFFERED));
  if (named.length > 0) {
    const same = await withColleague(client, service, time);
    return [...same, ...named.filter(({ slot }) => slot !== same[0]?.slot)].slice(0, OFFERED);
  }
  if (time.steps) {
    return otherVisits(visit, service, time, OFFERED);
  }
  const span = [Math.max(now(), time.start - AROUND), time.start + AROUND] as const;
  const found = await readTimes(client, service, service.schedules, span);
  if (isRefusal(found)) {
    return [];
  }
  const distance = (one: { readonly start: number; readonly schedule: { readonly reference: string } }): number =>
    Math.abs(one.start - time.start) + (one.schedule.reference === time.schedule ? 0 : 3_600_000);
  return found.times
    .filter(({ start, slot }) => start !== time.start || slot !== time.slot)
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, OFFERED)
    .toSorted((a, b) => a.start - b.start)
    .map(({ slot, start, end, schedule }) => ({ slot, start, end, schedule: schedule.reference }));
}
