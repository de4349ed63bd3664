import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { resourcesOfType } from '../../rows/resource-set.ts';
import { slotIdsOf } from '../../slots/slot.ts';
import { reachOf } from '../../slots/terms.ts';
import { contains, overlaps } from '../../time/interval.ts';
import { stepOf } from '../../visits/visit.ts';
import { endOf, isHold } from '../appointment/expiry.ts';
import { merged, type ScheduleTime } from '../appointment/reads.ts';
import { quotaKey } from '../policy/quota.ts';
import { schedulesConcerned } from './apply-policy.ts';
import { perhapsMoved } from './idempotency.ts';
import { type Questions, unknownServices, type Wanted } from './knowledge.ts';
import { changedBy, mergedPatients } from './reschedule.ts';
import { payerKindIssues } from './service-type.ts';
import { buffersOf, givenBackBy, type Situation, schedulesIn } from './situation.ts';
import { longestIssues } from './slot-issues.ts';
import { mayBeVisit } from './visit-rules.ts';

/** What must still be read to answer a question, given what is known to be against the booking; `undefined`: nothing. */
type When<Name extends keyof Questions> = (
  situation: Situation,
  found: readonly Issue[],
) => Questions[Name]['asked'] | undefined;

/** Issues that more knowledge of the slots could resolve. */
const aboutSlots: ReadonlySet<string> = new Set([
  'slot-not-free',
  'slot-mismatch',
  'hold-expired',
  'confirmation-expired',
]);

const someOf = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** Whether more knowledge of the slots could change this decision: fragments of split slots, or slots to be joined again. */
function dependsOnFragments({ earlier, known: { fragments } }: Situation, found: readonly Issue[]): boolean {
  const isAboutSlots = found.every(({ code }) => aboutSlots.has(code));
  const hasExpired = (fragments?.expired ?? []).length > 0;
  return isAboutSlots && (found.length > 0 || changedBy(earlier).length > 0 || hasExpired);
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
  const givenBack = [...changedBy(earlier), ...(fragments?.expired ?? [])].flatMap(slotIdsOf);
  const ids = [...request.slots.map(({ value }) => value), ...givenBack];
  const origins = ids.flatMap((id) => stored.get(id)?.origin ?? (fragments ? id : []));
  return [...new Set([...origins, ...tentativeOrigins(situation)])];
}

const fragments: When<'fragments'> = (situation, found) => {
  const { fragments: known } = situation.known;
  const origins = originsOf(situation);
  // Which appointments end with one of a visit decides whose slots are free.
  const isOpen = visits(situation, found) !== undefined;
  const isFragmentary = !known || origins.some((origin) => known.origins?.includes(origin) === false);
  return !isOpen && isFragmentary && origins.length > 0 && dependsOnFragments(situation, found)
    ? { origins, rewritten: situation.rewritten }
    : undefined;
};

const services: When<'services'> = ({ request, earlier, state, known }) =>
  someOf(unknownServices(schedulesConcerned(request, earlier, state), known));

/**
 * Buffers reach beyond the time of the appointment, and what is given back lets others return: then everything within
 * reach must be known.
 */
const around: When<'around'> = (situation, found) => {
  const { request, known, stored, selected, context } = situation;
  const mayMatter = found.every(({ code }) => aboutSlots.has(code));
  const isOpen = services(situation, found) !== undefined;
  const givenBack = givenBackBy(situation).flatMap((id) => stored.get(id) ?? []);
  const taken = request.interval && buffersOf(situation).size > 0 ? selected.slots : [];
  if (isOpen || !mayMatter || givenBack.length + taken.length === 0) {
    return undefined;
  }
  const reach = reachOf(schedulesIn(situation), context.config);
  const times = [...givenBack, ...(givenBack.length > 0 ? selected.slots : taken)].map((slot): ScheduleTime => {
    const { start, end } = givenBack.includes(slot) || !request.interval ? slot : request.interval;
    return { schedule: slot.schedule, start: start - reach, end: end + reach };
  });
  return isKnown(times, known.around) ? undefined : merged(times);
};

/** Whether everything at these times was read. */
function isKnown(times: readonly ScheduleTime[], around: Questions['around']['known'] | undefined): boolean {
  const isWithin = (time: ScheduleTime): boolean =>
    around?.times?.some((one) => one.schedule === time.schedule && contains(one, time)) ?? true;
  return around !== undefined && times.every(isWithin);
}

/**
 * The caller's role matters where a policy or a limit applies, where an appointment that is not a hold is moved, and where
 * the appointment that is moved or replaced is not the caller's own.
 */
const role: When<'role'> = (situation) => {
  const { known, verdict, earlier, context } = situation;
  const { previous } = earlier;
  const { requestor, config } = context;
  const isMoved = previous !== undefined && !isHold(previous, config);
  const others = changedBy(earlier).flatMap((one) => (one.id && !belongsTo(one, requestor, config) ? [one.id] : []));
  const limits = [verdict.issues, verdict.quotas, longestIssues(situation), payerKindIssues(situation)];
  const isBound = limits.some(({ length }) => length > 0);
  const isAsked = isBound || isMoved || others.length > 0 || mayBeVisit(situation);
  return known.role === undefined && isAsked ? others : undefined;
};

/** Quotas are counted if there is nothing else against the booking. */
const usage: When<'usage'> = ({ known, verdict: { quotas } }, found) =>
  known.role === 'repository' || found.length > 0 || quotas.every((one) => known.usage?.has(quotaKey(one)))
    ? undefined
    : quotas;

const isMalformed = (found: readonly Issue[]): boolean => found.some(({ code }) => bookingErrors[code].status === 400);

/** The histories of those appointments that the request may have made before. */
const histories: When<'histories'> = (situation, found) => {
  const ids = perhapsMoved(situation);
  const isKnown = ids.every((id) => situation.known.histories?.versions.has(id));
  return isKnown || isMalformed(found) ? undefined : ids;
};

/** The patients into which those of the moved or replaced appointment were merged. */
const patients: When<'patients'> = ({ resolved, earlier, state, known, context }, found) => {
  const named = resolved.participants.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);
  return known.patients || isMalformed(found)
    ? undefined
    : someOf(mergedPatients(named, earlier, state, context.config.baseUrl));
};

/** The Tasks of appointments that are moved or replaced and that waited for the clinic, and of offers. */
const tasks: When<'tasks'> = ({ known, earlier, context: { config } }) => {
  const waited = changedBy(earlier).filter((one) => endOf('request', one, config) ?? endOf('offer', one, config));
  return known.tasks ? undefined : someOf(waited.flatMap(({ id }) => id ?? []));
};

/** The authors of patients matter where several may be meant. */
const authored: When<'authored'> = ({ state, known }, found) =>
  known.authored || !found.some(({ code }) => code === 'patient-ambiguous')
    ? undefined
    : resourcesOfType(state, 'Patient').flatMap(({ id }) => id ?? []);

/** The services that say what the visits need to which the appointment, or one that it moves or replaces, belongs. */
const visits: When<'visits'> = ({ known, mark, earlier, context: { config } }) => {
  const marks = [mark, ...changedBy(earlier).map((one) => stepOf(one, config))];
  return known.visits ? undefined : someOf([...new Set(marks.flatMap((one) => one?.service ?? []))]);
};

const questions: { readonly [Name in keyof Questions]: When<Name> } = {
  tasks,
  fragments,
  services,
  visits,
  around,
  role,
  usage,
  histories,
  patients,
  authored,
};

const unique = <T>(lists: readonly (readonly T[])[]): T[] => [...new Set(lists.flat())];

/** One question for what several appointments ask. */
const united: {
  readonly [Name in keyof Questions]: (all: readonly Questions[Name]['asked'][]) => Questions[Name]['asked'];
} = {
  tasks: unique,
  fragments: (all) => ({
    origins: unique(all.map(({ origins }) => origins)),
    rewritten: unique(all.map(({ rewritten }) => rewritten)),
  }),
  services: unique,
  visits: unique,
  around: (all) => merged(all.flat()),
  role: unique,
  usage: (all) => [...new Map(all.flat().map((quota) => [quotaKey(quota), quota])).values()],
  histories: unique,
  patients: unique,
  authored: unique,
};

/** What several appointments ask with one question: all of them, even if only one has to know more. */
function askedBy<Name extends keyof Questions>(name: Name, situations: readonly Situation[], found: readonly Issue[]) {
  const asked = situations.flatMap((situation) => {
    const one: Questions[Name]['asked'] | undefined = questions[name](situation, found);
    return one === undefined ? [] : [one];
  });
  return asked.length > 0 ? { [name]: united[name](asked) } : {};
}

const names = Object.keys(questions) as (keyof Questions)[];

/**
 * What must be read before a decision can be made, besides what has already been read.
 *
 * @param situations - of all appointments of the request
 * @param found - what is known to be against the booking so far
 * @returns `undefined` if nothing is left to be read
 */
export function wantedFor(situations: readonly Situation[], found: readonly Issue[]): Wanted | undefined {
  const wanted: Wanted = Object.assign({}, ...names.map((name) => askedBy(name, situations, found)));
  return Object.keys(wanted).length > 0 ? wanted : undefined;
}
