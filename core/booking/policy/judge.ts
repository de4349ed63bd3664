import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Interval } from '../../time/interval.ts';
import { lengthText } from './duration.ts';
import type { EffectivePolicy } from './effective-policy.ts';

/** The earliest and the latest start that a policy permits, both inclusive; in milliseconds since 1970 UTC. */
export interface StartBounds {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * When an appointment that a requestor books now may start. The search for free Slots and `$book` both use this.
 *
 * @returns `undefined` if nothing may be booked because the policy is invalid
 */
export function permittedStarts({ policy, isReadable }: EffectivePolicy, now: number): StartBounds | undefined {
  const { leadTime = 0, window = Number.POSITIVE_INFINITY } = policy;
  return isReadable ? { earliest: now + leadTime, latest: now + window } : undefined;
}

/** What a requestor wants to do with the time of an appointment: take it, by `$book` or `$hold`, or release it. */
type PolicyQuestion = 'take' | 'cancel';

/** Checks one rule; `start` and `now` in milliseconds since 1970 UTC. */
type Judgement = (effective: EffectivePolicy, start: number, now: number, expression: string) => Issue[];

const judgements: Readonly<Record<PolicyQuestion, Judgement>> = {
  take: (effective, start, now, expression) => {
    const bounds = permittedStarts(effective, now);
    const { leadTime = 0, window = 0 } = effective.policy;
    if (!bounds) {
      const diagnostics = 'The booking policy of this schedule is invalid; the clinic must correct it.';
      return [{ code: 'policy-invalid', diagnostics, expression }];
    }
    if (start < bounds.earliest) {
      const diagnostics = `Book at least ${lengthText(leadTime)} in advance: the earliest start is now ${formatInstant(bounds.earliest)}.`;
      return [{ code: 'too-soon', diagnostics, expression }];
    }
    if (start > bounds.latest) {
      const diagnostics = `Book at most ${lengthText(window)} in advance: the latest start is now ${formatInstant(bounds.latest)}.`;
      return [{ code: 'too-far-ahead', diagnostics, expression }];
    }
    return [];
  },
  cancel: ({ policy: { cancelUntil = 0 }, isReadable }, start, now, expression) => {
    if (!isReadable) {
      const diagnostics = 'The booking policy of this schedule is invalid; ask the clinic to cancel.';
      return [{ code: 'cancellation-closed', diagnostics, expression }];
    }
    const until = formatInstant(start - cancelUntil);
    const diagnostics = `Portals could cancel the appointment only until ${until}, ${lengthText(cancelUntil)} before it starts; ask the clinic.`;
    return cancelUntil > 0 && now > start - cancelUntil
      ? [{ code: 'cancellation-closed', diagnostics, expression }]
      : [];
  },
};

/**
 * Checks what a requestor wants to do against the policies. Policies do not apply to clinic staff: do not call this function
 * for them.
 *
 * @param policies - of all Schedules concerned
 * @param interval - of the appointment
 * @param now - milliseconds since 1970 UTC
 * @param expression - FHIRPath of the element at fault
 * @returns `too-soon`, `too-far-ahead`, `policy-invalid` if time is to be taken, `cancellation-closed` if it is to be
 *   released; each text only once
 */
export function policyIssues(
  question: PolicyQuestion,
  policies: readonly EffectivePolicy[],
  { start }: Interval,
  now: number,
  expression: string,
): Issue[] {
  const issues = policies.flatMap((policy) => judgements[question](policy, start, now, expression));
  return [...new Map(issues.map((issue) => [issue.diagnostics, issue])).values()];
}
