import type { Schedule } from '@medplum/fhirtypes';
import { lengthText } from '../booking/policy/policy.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import type { Buffers } from '../slots/terms.ts';
import type { Interval } from '../time/interval.ts';
import { DAY, localTimeOf } from '../time/time-zone.ts';
import { isInPool, type Pool, type Series, stepBefore, type Visit, type VisitStep } from './visit.ts';

export interface StepTaken extends Interval {
  /** The name of the step; in a series `1`, `2` … */
  readonly step: string;
  /** The Schedules whose time the appointment takes, without duplicates. */
  readonly schedules: readonly Schedule[];
  /** FHIRPath of the appointment; `STAYS` if it is not moved. */
  readonly path: string;
}

/** The path of appointments that are not moved, in issues. */
export const STAYS = 'stays';

const mismatch = (diagnostics: string, expression: string): Issue => ({
  code: 'visit-mismatch',
  diagnostics,
  expression,
});

/** Whether each pool gets exactly one of the Schedules. */
function canFill(pools: readonly Pool[], schedules: readonly Schedule[]): boolean {
  const [pool, ...others] = pools;
  return pool === undefined
    ? schedules.length === 0
    : pools.length === schedules.length &&
        schedules.some(
          (schedule) =>
            isInPool(pool, schedule) &&
            canFill(
              others,
              schedules.filter((one) => one !== schedule),
            ),
        );
}

/** The names of the steps before a step. A step that is left out is replaced by the steps before it. */
function needed(step: VisitStep, steps: readonly VisitStep[], isThere: (name: string) => boolean): string[] {
  return step.after.flatMap((name) => {
    const visitStep = steps.find((one) => one.name === name);
    return isThere(name) || !visitStep ? name : needed(visitStep, steps, isThere);
  });
}

/** The steps that take place (`isThere`, by name). A step after one that is left out comes after its predecessors. */
export function stepsWith<T extends VisitStep>(steps: readonly T[], isThere: (name: string) => boolean): T[] {
  return steps
    .filter(({ name }) => isThere(name))
    .map((step) => ({ ...step, after: [...new Set(needed(step, steps, isThere))] }));
}

/** The visit with exactly these steps; of a series from the first of them to the last. */
export function partOf(visit: Visit, names: readonly string[]): Visit {
  const numbers = names.map(Number);
  return {
    ...visit,
    steps: stepsWith(visit.steps, (name) => names.includes(name)).map((visitStep) => ({
      ...visitStep,
      isOptional: false,
    })),
    series: visit.series && { ...visit.series, count: Math.max(...numbers) - Math.min(...numbers) + 1 },
  };
}

/** The names that are no steps of a visit. The steps of a series are `1`, `2` … */
export const unknownSteps = ({ steps, series }: Visit, names: readonly string[]): string[] =>
  names.filter((name) =>
    series ? !/^[1-9][0-9]?$/.test(name) || Number(name) > series.count : !steps.some((step) => step.name === name),
  );

/** Checks one step against those `before` it: their order, overlaps and gaps. */
function gapIssues(step: VisitStep, taken: StepTaken, before: readonly (VisitStep & { at: StepTaken })[]): Issue[] {
  const { name, after, gapMin, gapMax } = step;
  const missing = after.filter((required) => !before.some((earlier) => earlier.name === required));
  const [latest, previous] = [before.at(-1), stepBefore(step, before)];
  const gap = previous ? taken.start - previous.at.end : gapMin;
  const expression = `${taken.path}.start`;
  return [
    ...missing.map((required) => mismatch(`The step ${name} must come after the step ${required}.`, expression)),
    ...(latest && taken.start < latest.at.end
      ? [mismatch(`The steps ${latest.name} and ${name} overlap.`, expression)]
      : []),
    ...(gap < gapMin && previous
      ? [mismatch(`The step ${name} must start at least ${lengthText(gapMin)} after ${previous.name}.`, expression)]
      : []),
    ...(gap > gapMax && previous
      ? [mismatch(`The step ${name} must start at most ${lengthText(gapMax)} after ${previous.name}.`, expression)]
      : []),
  ];
}

/**
 * The one of two steps with the same Schedule (`sameAs`) that is at fault. An appointment that is not moved never is.
 */
function apartFromSame(
  { sameAs, at }: VisitStep & { at: StepTaken },
  all: readonly (VisitStep & { at: StepTaken })[],
): StepTaken[] {
  const others = all.filter(({ name }) => name === sameAs).map((other) => other.at);
  const ids = others.flatMap(({ schedules }) => schedules.map(({ id }) => id));
  const isSame = others.length === 0 || at.schedules.some(({ id }) => ids.includes(id));
  return isSame ? [] : [at, ...others].filter(({ path }) => path !== STAYS).slice(0, 1);
}

/** Checks the steps of a visit; `path` is that of the request, for missing steps. */
function stepIssues(steps: readonly VisitStep[], taken: readonly StepTaken[], path: string): Issue[] {
  const known = taken.filter((step) => steps.some(({ name }) => name === step.step));
  const isThere = (name: string): boolean => known.some(({ step }) => step === name);
  const inOrder = known
    .toSorted((step, other) => step.start - other.start || step.end - other.end)
    .flatMap((at) => {
      const step = stepsWith(steps, isThere).find(({ name }) => name === at.step);
      return step ? [{ ...step, at }] : [];
    });
  return [
    ...taken
      .filter((step) => !known.includes(step))
      .map((step) => mismatch(`The visit has no step ${step.step}.`, `${step.path}.extension`)),
    ...steps
      .filter(({ name, isOptional }) => !isOptional && !isThere(name))
      .map(({ name }) => mismatch(`The step ${name} is missing.`, path)),
    ...inOrder.flatMap((step, index): Issue[] => [
      ...gapIssues(step, step.at, inOrder.slice(0, index)),
      ...(step.duration !== undefined && step.at.end - step.at.start !== step.duration
        ? [mismatch(`The step ${step.name} must take ${lengthText(step.duration)}.`, `${step.at.path}.end`)]
        : []),
      ...apartFromSame(step, inOrder).map(({ path: at }) =>
        mismatch(`${step.name} and ${step.sameAs} must be in the same schedule.`, `${at}.slot`),
      ),
      ...(canFill(step.pools, step.at.schedules)
        ? []
        : [mismatch(`These slots cannot be booked for the step ${step.name}.`, `${step.at.path}.slot`)]),
    ]),
  ];
}

/** The part of a local start, in milliseconds, that is equal for all appointments of a regular series. */
function deviation({ step, start }: StepTaken, { every }: Series, timeZone: string): number {
  return localTimeOf(timeZone, start) - Number(step) * every * DAY;
}

/** Checks the appointments of a series: numbers, distances, pool and, if required, one common Schedule. */
function seriesIssues(series: Series, visit: Visit, taken: readonly StepTaken[], timeZone: string): Issue[] {
  const { count, tolerance, isSameActor } = series;
  const isKnown = ({ step }: StepTaken): boolean => /^[1-9][0-9]?$/.test(step) && Number(step) <= count;
  const known = taken.filter(isKnown).toSorted((step, other) => Number(step.step) - Number(other.step));
  const deviations = known.map((step) => deviation(step, series, timeZone));
  const spread = Math.max(...deviations) - Math.min(...deviations);
  const [first] = known;
  const staying = known.filter(({ path }) => path === STAYS);
  const allowedSchedules = (staying.length > 0 ? staying : known.slice(0, 1)).map(({ schedules }) => schedules[0]?.id);
  const pool: Pool = { kind: 'service', service: visit.service };
  return [
    ...taken
      .filter((step) => !isKnown(step))
      .map((step) =>
        mismatch(`The series has the steps 1 to ${count}, and no ${step.step}.`, `${step.path}.extension`),
      ),
    ...(known.length > 0 && spread > 2 * tolerance && first
      ? [
          mismatch(
            `The appointments of the series must be ${lengthText(series.every * DAY)} apart, each at most ${lengthText(tolerance)} earlier or later.`,
            `${first.path}.start`,
          ),
        ]
      : []),
    ...known
      .filter(({ schedules }) => !canFill([pool], schedules))
      .map(({ step, path }) => mismatch(`These slots cannot be booked for the step ${step}.`, `${path}.slot`)),
    ...known
      .filter(({ schedules, path }) => isSameActor && path !== STAYS && !allowedSchedules.includes(schedules[0]?.id))
      .map(({ step, path }) =>
        mismatch(`The step ${step} must be in the same schedule as the others.`, `${path}.slot`),
      ),
  ];
}

/**
 * Checks the appointments of one visit: steps that are missing, unknown or named twice, their order, gaps, lengths and
 * pools; in a series, the distance of its appointments. Any number of appointments of a series may be booked.
 * @param taken - the requested appointments, and on a move also those that stay
 * @param timeZone - a series keeps its time of the day in it
 * @param path - FHIRPath of the request, for issues that concern several appointments
 * @returns `visit-mismatch` for each problem
 */
export function visitIssues(visit: Visit, taken: readonly StepTaken[], timeZone: string, path: string): Issue[] {
  const { steps, series } = visit;
  const twice = taken.filter(({ step }, index) => taken.findIndex((one) => one.step === step) < index);
  const once = taken.filter((step) => !twice.includes(step));
  return [
    ...twice.map((step) => mismatch(`The step ${step.step} is booked twice.`, `${step.path}.extension`)),
    ...(series ? seriesIssues(series, visit, once, timeZone) : stepIssues(steps, once, path)),
  ];
}

/** Whether a step of a visit can move to another time or other Schedules while the rest stays. */
export function stepFits(visit: Visit, moved: StepTaken, staying: readonly StepTaken[], timeZone: string): boolean {
  const all = [moved, ...staying];
  const steps = stepsWith(visit.steps, (name) => all.some(({ step }) => step === name));
  const issues = visitIssues({ ...visit, steps }, all, timeZone, moved.path);
  return issues.every(({ expression = '' }) => expression.startsWith(STAYS) && expression !== `${STAYS}.start`);
}

/** The minimum free time between two steps in one lane, in milliseconds. Buffers of both count once. */
export function bufferBetween(buffers: Buffers, next: Buffers): number {
  return Math.max(buffers.after, next.before);
}
