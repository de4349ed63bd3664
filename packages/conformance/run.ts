import type { BookingConfig } from '../../core/config/config.ts';
import { type Actors, carryOut, type Outcome } from './carry-out.ts';
import { type Check, isNotification, levelOf, type Stage, type Step } from './check.ts';
import { cleanUp, type Ledger, type Left, noting } from './clean-up.ts';
import { type Client, retrying } from './client.ts';
import type { Listener } from './listener.ts';
import { UnmetNeed } from './preparation/needs.ts';
import { type Given, type Prepare, preparation } from './preparation/prepare.ts';
import { type Data, lookedUp } from './template.ts';

/**
 * The outcome of a check. `passed` and `failed` mean what they say; `warning`: a rule that is not binding is not followed;
 * `skipped`: something has to be prepared; `replaced`: not followed, but another check stands for it and passes.
 */
export type CheckResult = 'passed' | 'failed' | 'warning' | 'skipped' | 'replaced';

/** The result of a check. */
export interface Result {
  readonly check: Check;
  readonly verdict: CheckResult;
  /** What was sent, in order, and the status of each answer. */
  readonly exchanges: readonly { readonly sent: string; readonly status: number }[];
  /** Why it did not pass; empty if it did. */
  readonly reason: string;
  /** How long it took, in milliseconds. */
  readonly duration: number;
}

/** What is examined, and with what. */
interface Subject {
  readonly stage: Stage;
  /** The names of profiles, extensions and code systems that the service uses. */
  readonly config: BookingConfig;
  readonly requestor: Client;
  readonly staff?: Client;
  readonly nobody: Client;
  readonly listener?: Listener;
  readonly given: Given;
  readonly serviceType: { readonly system: string; readonly code: string };
  /** Unique to this run; it appears in what is created. */
  readonly run: string;
  /** When the first appointment begins, in milliseconds since 1970 UTC. */
  readonly from: number;
}

/** An examination that has begun: what checks share is created once, for the first that needs it. */
export interface Examination {
  /** Carries out a check. One check at a time. */
  examine(check: Check): Promise<Result>;
  /**
   * Cleans up what was created.
   *
   * @returns what could not be cleaned up, and why
   * @throws Error if the service cannot be reached
   */
  end(): Promise<readonly Left[]>;
}

/** Which checks a run has. */
interface Run extends Subject {
  readonly checks: readonly Check[];
  readonly onResult: (result: Result) => void;
  /** Ends the run after the check that is being carried out; what was created is cleaned up. */
  readonly signal?: AbortSignal;
}

/** The specialty of everything that is created: what the stages of ISiK demand. */
export const NEUROLOGY = { system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code: 'NEUR' };

function explain({ sent, answer, failed }: Outcome): string {
  const expected = failed.map(({ says }) => says).join('; ');
  return `${sent}: expected ${expected}, but got ${answer.status} ${answer.text.slice(0, 400)}`;
}

const unmet = (check: Check): CheckResult => (levelOf(check) === 'MUST' ? 'failed' : 'warning');

async function examine(check: Check, prepare: Prepare, actors: Actors): Promise<Result> {
  const begin = performance.now();
  const exchanges: { sent: string; status: number }[] = [];
  const result = (result: CheckResult, reason = ''): Result => ({
    check,
    verdict: result,
    exchanges,
    reason,
    duration: Math.round(performance.now() - begin),
  });
  try {
    let data: Data = await prepare(check.needs ?? []);
    for (const step of check.steps) {
      if (!isNotification(step) && step.ifKept !== undefined && lookedUp(step.ifKept, data) === undefined) {
        continue;
      }
      const outcome = await carryOut(step, data, actors);
      exchanges.push({ sent: outcome.sent, status: outcome.answer.status });
      if (outcome.failed.length > 0) {
        return result(unmet(check), explain(outcome));
      }
      data = { ...data, ...outcome.kept };
    }
    return result('passed');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return error instanceof UnmetNeed ? result('skipped', reason) : result(unmet(check), reason);
  }
}

/** A failure is replaced if the check that stands for it has passed. */
function withReplaced(results: readonly Result[]): Result[] {
  const passed = new Set(results.flatMap(({ check, verdict }) => (verdict === 'passed' ? [check.name] : [])));
  return results.map((result) =>
    result.check.orElse && passed.has(result.check.orElse) && result.verdict === 'failed'
      ? { ...result, verdict: 'replaced' }
      : result,
  );
}

/** What a run has found, and what it could not clean up. */
export interface Findings {
  readonly results: readonly Result[];
  readonly left: readonly Left[];
}

/** A check with a step by staff needs access as staff, in addition to what it says itself. */
const needsOf = (check: Check): Check => {
  const byStaff = check.steps.some((step: Step) => !isNotification(step) && step.by === 'staff');
  return byStaff ? { ...check, needs: ['staff', ...(check.needs ?? [])] } : check;
};

/** Begins to examine a service. The caller must end the examination. */
export function beginExamination(subject: Subject): Examination {
  const { config, staff, listener, given, serviceType, run, from } = subject;
  const ledger: Ledger = { made: new Map() };
  const actors: Actors = {
    requestor: noting(retrying(subject.requestor), ledger),
    nobody: retrying(subject.nobody),
    ...(staff && { staff: noting(retrying(staff), ledger) }),
    ...(listener && { listener }),
  };
  const constants = { config, uri: config.uris, serviceType, specialty: NEUROLOGY, run };
  const prepare = preparation({ actors, given, constants, from });
  return {
    examine: (check) => examine(needsOf(check), prepare, actors),
    end: () => cleanUp(subject.requestor, staff, ledger),
  };
}

/** Those of the given checks that apply to a stage. */
export const checksOf = (stage: Stage, checks: readonly Check[]): readonly Check[] =>
  checks.filter(({ stages }) => stages?.includes(stage) ?? true);

/**
 * Examines a service: each check that its stage has, one after the other; then cleans up what was created. What cannot be
 * cleaned up, even if that is because the service can no longer be reached, is named in the findings.
 */
export async function runChecks({ checks, onResult, signal, ...subject }: Run): Promise<Findings> {
  const examination = beginExamination(subject);
  const results: Result[] = [];
  for (const check of checksOf(subject.stage, checks)) {
    if (signal?.aborted) {
      break;
    }
    const result = await examination.examine(check);
    results.push(result);
    onResult(result);
  }
  return { results: withReplaced(results), left: await examination.end() };
}
