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
 * The result of a check. `warning`: a SHOULD or MAY rule is not followed. `skipped`: a need is not met. `replaced`: not
 * followed, but the alternative check has passed.
 */
export type CheckResult = 'passed' | 'failed' | 'warning' | 'skipped' | 'replaced';

/** The result of a check, with its requests. */
export interface Result {
  readonly check: Check;
  readonly conclusion: CheckResult;
  /** Requests in order, with the status of each response. */
  readonly exchanges: readonly { readonly sent: string; readonly status: number }[];
  /** Reason of a result other than `passed`; else empty. */
  readonly reason: string;
  /** Milliseconds. */
  readonly duration: number;
}

interface Subject {
  readonly stage: Stage;
  readonly config: BookingConfig;
  readonly requestor: Client;
  readonly staff?: Client;
  readonly nobody: Client;
  readonly listener?: Listener;
  readonly given: Given;
  readonly serviceType: { readonly system: string; readonly code: string };
  /** Unique id of the run, part of the created resources. */
  readonly run: string;
  /** Start of the first appointment, in milliseconds since 1970 UTC. */
  readonly from: number;
}

/** A running examination. Needs that checks share are created once, on demand. */
export interface Examination {
  /** Carries out a check. Checks must not run concurrently. */
  examine(check: Check): Promise<Result>;
  /**
   * Cleans up the created resources.
   *
   * @returns the resources that could not be cleaned up, and why
   * @throws Error if the service cannot be reached
   */
  end(): Promise<readonly Left[]>;
}

interface Run extends Subject {
  readonly checks: readonly Check[];
  readonly onResult: (result: Result) => void;
  /** Ends the run after the current check, followed by the clean-up. */
  readonly signal?: AbortSignal;
}

/** The specialty of all created resources, as ISiK requires. */
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
    conclusion: result,
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

/** A failed check counts as `replaced` if its alternative has passed. */
function withReplaced(results: readonly Result[]): Result[] {
  const passed = new Set(results.flatMap(({ check, conclusion }) => (conclusion === 'passed' ? [check.name] : [])));
  return results.map((result) =>
    result.check.orElse && passed.has(result.check.orElse) && result.conclusion === 'failed'
      ? { ...result, conclusion: 'replaced' }
      : result,
  );
}

/** The results of a run, and the resources that could not be cleaned up. */
export interface Findings {
  readonly results: readonly Result[];
  readonly left: readonly Left[];
}

const needsOf = (check: Check): Check => {
  const byStaff = check.steps.some((step: Step) => !isNotification(step) && step.by === 'staff');
  return byStaff ? { ...check, needs: ['staff', ...(check.needs ?? [])] } : check;
};

/** Begins an examination. The caller must call `end`. */
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

export const checksOf = (stage: Stage, checks: readonly Check[]): readonly Check[] =>
  checks.filter(({ stages }) => stages?.includes(stage) ?? true);

/** Runs the checks of a stage in sequence, then cleans up; the findings name the resources that remain. */
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
