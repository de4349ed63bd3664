import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { slotIdsOf } from '../../slots/slot-use.ts';
import { reachOf } from '../../slots/terms.ts';
import { overlaps } from '../../time/interval.ts';
import { endOf, isHold } from '../appointment/expiry.ts';
import { merged, type ScheduleTime } from '../slots/reads.ts';
import { schedulesConcerned } from './apply-policy.ts';
import { unknownServices, type Wanted } from './knowledge.ts';
import { mergedPatients } from './resubmission/heir.ts';
import { perhapsMoved } from './resubmission/idempotency.ts';
import { buffersOf, givenBackBy, rewrittenIds, type Situation, schedulesIn } from './situation.ts';
import { longestIssues } from './slots/granularity.ts';

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

const servicesWanted: Question = ({ request, earlier, state, known }) => {
  const services = unknownServices(schedulesConcerned(request, earlier, state), known);
  return services.length > 0 ? { services } : {};
};

/**
 * Buffers reach beyond the time of the appointment, and what is given back lets others return: then everything within
 * reach must be known.
 */
const aroundWanted: Question = (situation, found) => {
  const { request, earlier, state, known, stored, selected, context } = situation;
  const mayMatter = found.every(({ code }) => aboutSlots.has(code));
  const isOpen = unknownServices(schedulesConcerned(request, earlier, state), known).length > 0;
  const givenBack = givenBackBy(situation).flatMap((id) => stored.get(id) ?? []);
  const taken = request.interval && buffersOf(situation).size > 0 ? selected.slots : [];
  if (known.around || isOpen || !mayMatter || givenBack.length + taken.length === 0) {
    return {};
  }
  const reach = reachOf(schedulesIn(situation), context.config);
  const times = [...givenBack, ...(givenBack.length > 0 ? selected.slots : taken)].map((slot): ScheduleTime => {
    const { start, end } = givenBack.includes(slot) || !request.interval ? slot : request.interval;
    return { schedule: slot.schedule, start: start - reach, end: end + reach };
  });
  return { around: merged(times) };
};

/**
 * The caller's role matters where a policy or a limit applies, where an appointment that is not a hold is moved, and where
 * the appointment that is moved or replaced is not the caller's own.
 */
const roleWanted: Question = (situation) => {
  const { known, verdict, earlier, context } = situation;
  const { previous, replaced } = earlier;
  const { requestor, config } = context;
  const isMoved = previous !== undefined && !isHold(previous, config);
  const isOthers = [previous, replaced].some((one) => one && !belongsTo(one, requestor, config));
  const isBound = [verdict.issues, verdict.quotas, longestIssues(situation)].some(({ length }) => length > 0);
  const isAsked = isBound || isMoved || isOthers;
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
  const waited = [previous, replaced].filter((one) => one && endOf('request', one, config) !== undefined);
  const tasks = waited.flatMap((one) => one?.id ?? []);
  return !known.tasks && tasks.length > 0 ? { tasks } : {};
};

const questions: readonly Question[] = [
  tasksWanted,
  fragmentsWanted,
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
