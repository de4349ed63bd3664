import { describe, expect, test } from '@jest/globals';
import { type Filler, type Opening, type OpenStep, type Proposal, searchVisits } from '../../../core/visits/search.ts';

/*
 * Public instances of CSPLib (https://www.csplib.org, CC BY 4.0): prob089, the Medical Appointment Scheduling Problem, and
 * prob091, the Medical Appointment Sequence Scheduling Problem. All resources are free in the same slots: 24 a day, from
 * Monday, 7 July 2025, not at weekends. Wishes of patients, which count as penalties there, are conditions here; the
 * workload of resources, which prob091 balances, is not known here.
 */

const SLOTS_A_DAY = 24;

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Those who can fill a role, the wished for first. */
const people = (ids: readonly number[], wished: readonly number[] = []): Filler[] =>
  [...wished, ...ids.filter((id) => !wished.includes(id))].map((id, rank) => ({
    schedule: String(id),
    rank,
    place: undefined,
    slots: [],
    buffers: { before: 0, after: 0 },
  }));

interface Wanted {
  readonly name: string;
  readonly length: number;
  readonly roles: readonly (readonly Filler[])[];
  readonly days: readonly number[];
  /** Where in a day it may start. */
  readonly starts?: readonly number[];
  readonly after?: string;
  readonly gapMax?: number;
  readonly sameAs?: string;
}

function step({ name, length, roles, days, starts = range(0, SLOTS_A_DAY), after, gapMax, sameAs }: Wanted): OpenStep {
  const openings = days.flatMap((day) =>
    starts
      .filter((slot) => slot + length <= SLOTS_A_DAY)
      .map((slot): Opening => {
        const start = day * SLOTS_A_DAY + slot;
        return { start, end: start + length, roles };
      }),
  );
  return {
    name,
    pools: [],
    duration: length,
    after: after ? [after] : [],
    gapMin: 0,
    gapMax: gapMax ?? Number.POSITIVE_INFINITY,
    sameAs,
    isOptional: false,
    openings,
    knownUntil: Number.POSITIVE_INFINITY,
    shortest: length,
    longest: length,
  };
}

const show = (found: Proposal): string =>
  found
    .map(({ start, end, fillers }) => `${start}-${end - 1} ${fillers.map(({ schedule }) => schedule).join('+')}`)
    .join(', ');

function first(...steps: OpenStep[]): string | undefined {
  const found = searchVisits(steps)(0);
  return found.kind === 'proposal' ? show(found.proposal) : undefined;
}

describe('prob089: several specialists at once', () => {
  const cardiologists = people(range(0, 9), [4, 8]);
  const neurologists = people(range(10, 19), [13, 17]);
  const at = (length: number, cardio: number, neuro: number, day: number, starts: number[]): string | undefined =>
    first(
      step({
        name: 'Appointment',
        length,
        roles: [...Array(cardio).fill(cardiologists), ...Array(neuro).fill(neurologists)],
        days: [day],
        starts,
      }),
    );

  test('one cardiologist and three neurologists for two slots: the published solution, and one wish more', () => {
    expect(at(2, 1, 3, 7, [0, 1])).toBe('168-169 4+13+17+10');
  });

  test('two cardiologists and a neurologist for four slots: one slot earlier than published', () => {
    expect(at(4, 2, 1, 8, range(10, 13))).toBe('202-205 4+8+13');
  });

  test('a cardiologist and a neurologist for six slots', () => {
    expect(at(6, 1, 1, 4, range(6, 11))).toBe('102-107 4+13');
  });

  test('a cardiologist and a neurologist for eight slots: at the published time', () => {
    expect(at(8, 1, 1, 3, range(0, 7))).toBe('72-79 4+13');
  });
});

describe('prob091: one after the other, the first and the last with the same cardiologist', () => {
  const instances: readonly (readonly [size: string, cardio: number[], neuro: number[], days: number])[] = [
    ['small', range(0, 3), range(4, 7), 9],
    ['medium', range(0, 9), range(10, 19), 9],
    ['large', range(0, 9), range(10, 19), 19],
  ];
  test.each(instances)(
    '%s: as compact as published, one slot earlier, and with the same cardiologist',
    (_, cardio, neuro, count) => {
      // The patient is away on the days 0 and 4.
      const days = range(0, count - 1).filter((day) => day % 7 < 5 && day !== 0 && day !== 4);
      const common = { days, after: undefined };
      const found = first(
        step({ ...common, name: 'First', length: 2, roles: [people(cardio)] }),
        step({ ...common, name: 'Second', length: 2, roles: [people(neuro)], after: 'First', gapMax: 5 }),
        step({
          ...common,
          name: 'Third',
          length: 4,
          roles: [people(cardio)],
          after: 'Second',
          gapMax: 4,
          sameAs: 'First',
        }),
      );
      expect(found).toBe(`24-25 0, 26-27 ${neuro[0]}, 28-31 0`);
    },
  );
});
