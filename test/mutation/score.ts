import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult, Position } from '@stryker-mutator/api/core';
import { placeOf } from './equivalents.ts';
import { EQUIVALENT } from './sample.ts';

const KILLED: readonly string[] = ['Killed', 'Timeout'];
const ALIVE: readonly string[] = ['Survived', 'NoCoverage'];

/** What mutation testing has found out about a room. */
export interface Score {
  /** How many mutants of it were tried. */
  readonly tried: number;
  /** How many of these a test has noticed. */
  readonly killed: number;
  /** How many mutants it has, without the equivalent ones. */
  readonly mutants: number;
}

/** A share with its 95 % confidence interval, in percent. */
export interface Share {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const Z = 1.96;

/** The share of mutants that tests notice, with the interval of Wilson; of all mutants it is exact. */
export function shareOf({ tried, killed, mutants }: Score): Share {
  const p = killed / tried;
  if (tried === mutants) {
    return { value: 100 * p, low: 100 * p, high: 100 * p };
  }
  const scale = 1 + Z ** 2 / tried;
  const middle = (p + Z ** 2 / (2 * tried)) / scale;
  const half = (Z / scale) * Math.sqrt((p * (1 - p)) / tried + Z ** 2 / (4 * tried ** 2));
  return { value: 100 * p, low: 100 * (middle - half), high: 100 * (middle + half) };
}

/** The share in several rooms, each of which counts by the number of its mutants. */
export function totalOf(scores: readonly Score[]): Share {
  const all = scores.reduce((sum, { mutants }) => sum + mutants, 0);
  const parts = scores.map((score) => ({ weight: score.mutants / all, ...shareOf(score) }));
  const value = parts.reduce((sum, part) => sum + part.weight * part.value, 0);
  const half = Math.sqrt(parts.reduce((sum, { weight, low, high }) => sum + ((weight * (high - low)) / 2) ** 2, 0));
  return { value, low: value - half, high: Math.min(100, value + half) };
}

export const shareText = ({ value, low, high }: Share): string =>
  `${value.toFixed(1)} %${low === high ? '' : `, 95 % confidence ${low.toFixed(1)}–${high.toFixed(1)} %`}`;

export function scoreOf(results: readonly MutantResult[]): Score {
  const killed = results.filter(({ status }) => KILLED.includes(status)).length;
  const alive = results.filter(({ status }) => ALIVE.includes(status)).length;
  const mutants = results.filter(({ statusReason }) => statusReason !== EQUIVALENT).length;
  return { tried: killed + alive, killed, mutants };
}

/** A mutant as a difference, with its place; the positions of a result count from 1. */
function difference({ fileName, location: { start, end }, status, replacement = '' }: MutantResult): string {
  const back = ({ line, column }: Position): Position => ({ line: line - 1, column: column - 1 });
  const { line, from } = placeOf({ start: back(start), end: back(end) }, readFileSync(fileName, 'utf8'));
  const place = `${relative('.', fileName)}:${start.line}:${start.column}`;
  return `${place} ${status}\n  ${line}\n- ${from}\n+ ${replacement.split('\n').join('\n+ ')}`;
}

/** What no test has noticed, and what could not be tried. */
export function survivors(results: readonly MutantResult[]): string[] {
  const expected = [...KILLED, 'CompileError'];
  return results.filter(({ status }) => !expected.includes(status)).map(difference);
}
