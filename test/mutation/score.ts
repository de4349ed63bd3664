import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';

const KILLED: readonly string[] = ['Killed', 'Timeout'];
const ALIVE: readonly string[] = ['Survived', 'NoCoverage'];

export const isAlive = ({ status }: MutantResult): boolean => ALIVE.includes(status);

/** What mutation testing has found out. */
export interface Score {
  /** How many mutants were tried. */
  readonly tried: number;
  /** How many of these a test has noticed. */
  readonly killed: number;
  /** How many mutants there are. */
  readonly mutants: number;
}

export function scoreOf(results: readonly MutantResult[]): Score {
  const killed = results.filter(({ status }) => KILLED.includes(status)).length;
  return { tried: killed + results.filter(isAlive).length, killed, mutants: results.length };
}

const Z = 1.96;

/** The share of mutants that tests notice, in percent, with the 95 % confidence interval of Wilson. */
export function shareText({ tried, killed, mutants }: Score): string {
  const p = killed / tried;
  const share = `${(100 * p).toFixed(1)} %`;
  if (tried === mutants) {
    return share;
  }
  const scale = 1 + Z ** 2 / tried;
  const middle = (p + Z ** 2 / (2 * tried)) / scale;
  const half = (Z / scale) * Math.sqrt((p * (1 - p)) / tried + Z ** 2 / (4 * tried ** 2));
  const [low, high] = [middle - half, middle + half].map((bound) => (100 * bound).toFixed(1));
  return `${share}, 95 % confidence ${low}–${high} %`;
}

/** A source file, relative to the working folder, before and after a mutant. */
interface Change {
  readonly file: string;
  readonly before: string;
  readonly removed: string;
  readonly after: string;
}

/** What a mutant changes; the positions of a result count from 1. */
export function changeOf({ fileName, location: { start, end } }: MutantResult): Change {
  const file = relative('.', fileName);
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const offset = ({ line, column }: { line: number; column: number }): number =>
    lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0) + column - 1;
  const [from, to] = [offset(start), offset(end)];
  return { file, before: text.slice(0, from), removed: text.slice(from, to), after: text.slice(to) };
}

/** A mutant as a difference, with its place. */
export function difference(mutant: MutantResult): string {
  const { file, before, removed } = changeOf(mutant);
  const { line, column } = mutant.location.start;
  const signed = (sign: string, text: string): string => text.replaceAll(/^/gm, `${sign} `);
  const context = before.slice(before.lastIndexOf('\n') + 1).trim();
  return `${file}:${line}:${column} ${context}\n${signed('-', removed)}\n${signed('+', mutant.replacement ?? '')}`;
}
