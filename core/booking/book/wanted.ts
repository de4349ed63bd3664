import { publishedKeyOf } from '../../calendar/slots/slot-role.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { type Interval, overlaps } from '../../time/interval.ts';
import { slotIdsOf } from '../appointment/slot-use.ts';
import { deadlineOf } from '../confirmation/deadline.ts';
import { isHold } from '../hold/hold.ts';
import type { CalendarSlot } from '../slots/calendar.ts';
import { schedulesConcerned } from './apply-policy.ts';
import { unknownServices, type Wanted } from './knowledge.ts';
import { mergedPatients } from './resubmission/heir.ts';
import { perhapsMoved } from './resubmission/idempotency.ts';
import { returningFor } from './resubmission/returning.ts';
import { buffersOf, rewrittenIds, type Situation, timesAround } from './situation.ts';

/** Tells what must still be read of one kind of knowledge for a decision. */
type Question = (situation: Situation, found: readonly Issue[]) => Wanted;

/** Issues that more knowledge of the slots could resolve. */
const aboutSlots: ReadonlySet<string> = new Set([
  'slot-not-free',
  'slot-mismatch',
  'hold-expired',
  'confirmation-expired',
]);

/** Whether more knowledge of the slots could change this decision: fragments of split slots, or slots to be joined again. */
function dependsOnFragments({ earlier, known: { fragments } }: Situation, found: readonly Issue[]): boolean {
  const { previous, replaced } = earlier;
  const isAboutSlots = found.every(({ code }) => aboutSlots.has(code));
  const hasExpired = (fragments?.expired ?? []).length > 0;
  return isAboutSlots && (found.length > 0 || previous !== undefined || replaced !== undefined || hasExpired);
}

/** Origins of the slots of the named schedule at that time that are held or requested. */
function tentativeOrigins({ request: { schedule, interval }, stored }: Situation): string[] {
  return [...stored.values()].flatMap((slot) => {
    const isOfSchedule = idIn(slot.resource.schedule, 'Schedule') === schedule?.value;
    const isThen = interval !== undefined && overlaps(slot, interval);
    return slot.status === 'busy-tentative' && isOfSchedule && isThen ? slot.origin : [];
  });
}

/**
 * The slots whose fragments a decision depends on: those named, those given back, and those of expired holds and requests.
 */
function originsOf(situation: Situation): string[] {
  const { request, earlier, stored, known } = situation;
  const { fragments } = known;
  const givenBack = [earlier.previous, earlier.replaced, ...(fragments?.expired ?? [])].flatMap(slotIdsOf);
  const ids = [...request.slots.map(({ value }) => value), ...givenBack];
  const origins = ids.flatMap((id) => stored.get(id)?.origin ?? (fragments ? id : []));
  return [...new Set([...origins, ...tentativeOrigins(situation)])];
}

const fragmentsWanted: Question = (situation, found) => {
  const { fragments } = situation.known;
  const origins = originsOf(situation);
  const isFragmentary = !fragments || origins.some((origin) => fragments.origins?.includes(origin) === false);
  return isFragmentary && origins.length > 0 && dependsOnFragments(situation, found)
    ? { fragments: { origins, rewritten: rewrittenIds(situation) } }
    : {};
};

/** Whether only a Schedule is named and the time was found in parts of published Slots, each made for one appointment. */
function isPatchwork({ request: { slots, interval }, selected, context }: Situation): boolean {
  const isPart = ({ start, end }: Interval): boolean =>
    interval !== undefined && (start < interval.start || end > interval.end);
  const isPublished = ({ resource }: CalendarSlot): boolean => publishedKeyOf(resource, context.config) !== undefined;
  return slots.length === 0 && selected.slots.some((slot) => isPart(slot) && isPublished(slot));
}

/**
 * What the appointments to be moved or replaced keep from being offered, if only a free slot is missing or only parts of
 * slots were found.
 */
const returningWanted: Question = (situation, found) => {
  const { request, earlier, state, known } = situation;
  const isMissing = found.length > 0 && found.every(({ code }) => aboutSlots.has(code));
  const isOpen = known.fragments && !known.returning && (isMissing || isPatchwork(situation));
  const returning = isOpen ? returningFor(request, earlier, state) : undefined;
  return returning ? { returning } : {};
};

const servicesWanted: Question = ({ request, earlier, state, known }) => {
  const services = unknownServices(schedulesConcerned(request, earlier, state), known);
  return services.length > 0 ? { services } : {};
};

/** Buffers reach beyond the time of the appointment. */
const aroundWanted: Question = (situation, found) => {
  const { request, known } = situation;
  const times = request.interval ? timesAround(request.interval, buffersOf(situation)) : new Map<string, Interval>();
  if (known.around || times.size === 0 || found.length > 0) {
    return {};
  }
  const all = [...times.values()];
  const interval = { start: Math.min(...all.map(({ start }) => start)), end: Math.max(...all.map(({ end }) => end)) };
  return { around: { schedules: [...times.keys()], interval } };
};

/**
 * The caller's role matters where a policy or a limit applies, where an appointment that is not a hold is moved, and where
 * the appointment that is moved or replaced is not the caller's own.
 */
const roleWanted: Question = ({ known, verdict: { issues, quotas }, earlier: { previous, replaced }, context }) => {
  const { requestor, config } = context;
  const isMoved = previous !== undefined && !isHold(previous, config);
  const isOthers = [previous, replaced].some((one) => one && !belongsTo(one, requestor, config));
  const isAsked = issues.length > 0 || quotas.length > 0 || isMoved || isOthers;
  return known.role === undefined && isAsked ? { role: true } : {};
};

/** Quotas are counted if there is nothing else against the booking. */
const quotasWanted: Question = ({ known, verdict: { quotas } }, found) =>
  !known.usage && known.role !== 'repository' && found.length === 0 && quotas.length > 0 ? { quotas } : {};

const isMalformed = (found: readonly Issue[]): boolean => found.some(({ code }) => bookingErrors[code].status === 400);

/** The histories of the appointment that is sent again, and of those that the request may have made before. */
const historiesWanted: Question = (situation, found) => {
  const { earlier, known, context } = situation;
  const { previous } = earlier;
  const moved = previous?.id && !isHold(previous, context.config) ? [previous.id] : [];
  const ids = [...new Set([...moved, ...perhapsMoved(situation)])];
  const isKnown = ids.every((id) => known.histories?.versions.has(id));
  return isKnown || isMalformed(found) ? {} : { histories: ids };
};

/** The patients into which those of the moved or replaced appointment were merged. */
const patientsWanted: Question = ({ resolved, earlier, state, known, context }, found) => {
  const named = resolved.participants.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);
  const ids = mergedPatients(named, earlier, state, context.config.baseUrl);
  return known.patients || ids.length === 0 || isMalformed(found) ? {} : { patients: ids };
};

/** The Tasks of appointments that are moved or replaced and that waited for the clinic. */
const tasksWanted: Question = ({ known, earlier: { previous, replaced }, context: { config } }) => {
  const waited = [previous, replaced].filter((one) => one && deadlineOf(one, config) !== undefined);
  const tasks = waited.flatMap((one) => one?.id ?? []);
  return !known.tasks && tasks.length > 0 ? { tasks } : {};
};

const questions: readonly Question[] = [
  tasksWanted,
  fragmentsWanted,
  returningWanted,
  servicesWanted,
  aroundWanted,
  roleWanted,
  quotasWanted,
  historiesWanted,
  patientsWanted,
];

/**
 * What must be read before a decision can be made, besides what has already been read.
 *
 * @param found - what is known to be against the booking so far
 * @returns `undefined` if nothing is left to be read
 */
export function wantedFor(situation: Situation, found: readonly Issue[]): Wanted | undefined {
  const wanted: Wanted = Object.assign({}, ...questions.map((question) => question(situation, found)));
  return Object.keys(wanted).length > 0 ? wanted : undefined;
}
