import { formatInstant } from '../../fhir/instant.ts';
import type { BookingErrorCode } from '../../fhir/outcome/errors.ts';
import type { Alternative, Issue } from '../../fhir/outcome/outcome.ts';
import { type BookRequest, eachOf } from '../book/request/request.ts';
import { contains } from '../issues.ts';

/** How many alternatives a refusal proposes at most. */
export const MOST_ALTERNATIVES = 3;

/** The refusals that propose other times. */
const proposing: ReadonlySet<BookingErrorCode> = new Set<BookingErrorCode>([
  'slot-not-free',
  'too-soon',
  'too-far-ahead',
  'hold-expired',
  'schedule-inactive',
  'slot-not-found',
]);

/** Refusals that another time may solve, too, but that do not propose any. */
const aboutTime: ReadonlySet<BookingErrorCode> = new Set<BookingErrorCode>([
  'slot-mismatch',
  'period-invalid',
  'start-in-past',
]);

/** Whether another time could be booked instead: at least one issue asks for it, and no other issue rules it out. */
export function asksForAlternatives(issues: readonly Issue[]): boolean {
  return (
    issues.some(({ code }) => proposing.has(code)) &&
    issues.every(({ code }) => proposing.has(code) || aboutTime.has(code))
  );
}

/** The issues, with these alternatives added to those that propose other times. */
export function proposeIn(issues: readonly Issue[], alternatives: readonly Alternative[]): Issue[] {
  return issues.map((issue) =>
    proposing.has(issue.code) && alternatives.length > 0 ? { ...issue, alternatives } : issue,
  );
}

/** The issues, with whole visits added to the first that proposes other times. */
export function proposeWholes(issues: readonly Issue[], alternatives: readonly Alternative[]): Issue[] {
  const first = issues.find(({ code }) => proposing.has(code));
  return issues.map((issue) => (issue === first && alternatives.length > 0 ? { ...issue, alternatives } : issue));
}

/**
 * A request as one for the appointment that is refused for its time, with the others as they are: its alternatives fit them.
 *
 * @returns `undefined` if several are refused
 */
export function refusedIn(request: BookRequest, issues: readonly Issue[]): BookRequest | undefined {
  const all = eachOf(request);
  const isRefused = ({ appointment: { path } }: BookRequest): boolean =>
    issues.some(({ code, expression = '' }) => proposing.has(code) && contains(path, expression));
  const [first, second] = all.length === 1 ? all : all.filter(isRefused);
  if (!first || second) {
    return undefined;
  }
  const others = all.filter((one) => one !== first).map(({ others: _, ...one }) => one);
  return others.length > 0 ? { ...first, leads: request.leads, isDryRun: request.isDryRun, others } : first;
}

/** The same request for another time, or another whole visit: everything else stays. */
export function requestFor({ slots, start, end, steps }: Alternative, request: BookRequest): BookRequest {
  if (steps) {
    const [first = request, ...others] = eachOf(request).map((one) => {
      const at = steps.find(({ name }) => name === one.appointment.step?.step);
      return at ? requestFor(at, one) : one;
    });
    return { ...first, others };
  }
  const { value, path } = request.appointment;
  return {
    ...request,
    appointment: { ...request.appointment, value: { ...value, start: formatInstant(start), end: formatInstant(end) } },
    interval: { start, end },
    slots: slots.map((id, index) => ({ value: id, path: `${path}.slot[${index}]` })),
    schedule: undefined,
  };
}
