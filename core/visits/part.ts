import { stepsWith } from './check.ts';
import type { SeriesProposal } from './series.ts';
import type { Visit } from './visit.ts';

/** A visit that was found; of a series also the times for which others are proposed, by step. */
export type FoundVisit = Pick<SeriesProposal, 'proposal'> & Partial<Pick<SeriesProposal, 'insteadOf'>>;

/** The visit with exactly some of its steps; of a series from the first of them to the last. */
export function partOf(visit: Visit, names: readonly string[]): Visit {
  const numbers = names.map(Number);
  return {
    ...visit,
    steps: stepsWith(visit.steps, (name) => names.includes(name)).map((one) => ({ ...one, isOptional: false })),
    series: visit.series && { ...visit.series, count: Math.max(...numbers) - Math.min(...numbers) + 1 },
  };
}

/** What was found of a part of a visit, under the names that its steps have in the whole. */
export function inWhole(found: FoundVisit, names: readonly string[], { series }: Visit): FoundVisit {
  const before = series ? Math.min(...names.map(Number)) - 1 : 0;
  const nameOf = (step: string): string => (series ? String(Number(step) + before) : step);
  return {
    proposal: found.proposal
      .map((one) => ({ ...one, step: nameOf(one.step) }))
      .filter(({ step }) => names.includes(step)),
    ...(found.insteadOf && { insteadOf: new Map([...found.insteadOf].map(([step, time]) => [nameOf(step), time])) }),
  };
}

/** The names that are none of a step of a visit; those of the appointments of a series are `1`, `2` … */
export const unknownSteps = ({ steps, series }: Visit, names: readonly string[]): string[] =>
  names.filter((name) =>
    series ? !/^[1-9][0-9]?$/.test(name) || Number(name) > series.count : !steps.some((step) => step.name === name),
  );
