import { attribute, escapeText } from '../../core/fhir/xml/escape.ts';
import { type Check, isNotification, levelOf, type Stage, type Step } from './check.ts';
import { areas } from './checks/all.ts';
import type { Left } from './clean-up.ts';
import { needs } from './preparation/needs.ts';
import type { CheckResult, Findings, Result } from './run.ts';

interface Report extends Findings {
  readonly baseUrl: string;
  readonly stage: Stage;
}

/** The labels of the results, worst first. */
const conclusions: Readonly<Record<CheckResult, string>> = {
  failed: 'failed',
  warning: 'not followed, though not binding',
  skipped: 'skipped: something has to be prepared',
  replaced: 'not followed, but another way is',
  passed: 'passed',
};

/** Counts the checks with each result. */
export function count(results: readonly Result[]): Readonly<Record<CheckResult, number>> {
  const counts: Record<CheckResult, number> = { failed: 0, warning: 0, skipped: 0, replaced: 0, passed: 0 };
  for (const { conclusion } of results) {
    counts[conclusion]++;
  }
  return counts;
}

function areaOf({ name }: Check): string {
  return Object.entries(areas).find(([, checks]) => checks.some((check) => check.name === name))?.[0] ?? 'Other';
}

function describe(step: Step, index: number): string {
  const what = isNotification(step)
    ? `waits for ${step.notification}`
    : `${step.by ? `${step.by}: ` : ''}${step.request}${step.format ? ' (XML)' : ''}`;
  const expected = step.expect.map(({ says }) => `       - ${says}`);
  return [`    ${index + 1}. ${what}`, ...expected].join('\n');
}

/** Describes a check in full: rule, section, covered scenarios, needs, and steps with expectations. */
export function describeCheck(check: Check): string {
  const { name, rule, section, needs: needed = [], stages, steps, covers = [] } = check;
  return [
    `${name}  ${levelOf(check)}${stages ? `  (${stages.join(', ')})` : ''}`,
    `  ${rule}`,
    `  ${section}`,
    ...covers.map(({ feature, scenario }) => `  covers ${feature}: ${scenario}`),
    ...needed.map((need) => `  needs ${needs[need]}`),
    ...steps.map(describe),
  ].join('\n');
}

const rowOf = ({ check, conclusion }: Result): string[] => [conclusion, levelOf(check), check.name, check.rule];

function reasons(results: readonly Result[]): string[] {
  return results
    .filter(({ reason }) => reason !== '')
    .map(({ check, conclusion, reason }) => `${check.name} (${conclusion}; ${check.section})\n  ${reason}`);
}

const inWords = ({ reference, reason }: Left): string => `  ${reference}: ${reason}`;

/** Formats a header and rows as a table. */
export type Format = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** The report for people: a row for each check, the reasons of those that did not pass, and the counts. */
export function tableReport({ results, left, baseUrl, stage }: Report, format: Format): string {
  const counts = Object.entries(count(results)).filter(([, number]) => number > 0);
  const names: Readonly<Record<string, string>> = conclusions;
  return [
    format(['conclusion', 'level', 'check', 'rule'], results.map(rowOf)),
    ...reasons(results),
    ...(left.length > 0 ? [`Could not be cleaned up:\n${left.map(inWords).join('\n')}`] : []),
    `${baseUrl}, ${stage}: ${counts.map(([conclusion, number]) => `${number} ${names[conclusion]}`).join(', ')}.`,
  ].join('\n\n');
}

/** The report for programs. */
export function jsonReport({ results, left, baseUrl, stage }: Report): string {
  const checks = results.map(({ check, conclusion, exchanges, reason, duration }) => ({
    name: check.name,
    area: areaOf(check),
    level: levelOf(check),
    rule: check.rule,
    section: check.section,
    conclusion,
    ...(reason !== '' && { reason }),
    exchanges,
    ...(check.covers && { covers: check.covers }),
    duration,
  }));
  return `${JSON.stringify({ baseUrl, stage, counts: count(results), left, checks }, undefined, 2)}\n`;
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(3);

/** The JUnit element of a result: only a violated MUST is a failure. */
const elements: Readonly<Record<CheckResult, 'failure' | 'skipped' | undefined>> = {
  failed: 'failure',
  warning: 'skipped',
  skipped: 'skipped',
  replaced: 'skipped',
  passed: undefined,
};

function testCase(area: string, { check, conclusion, reason, exchanges, duration }: Result): string {
  const element = elements[conclusion];
  const problem = element
    ? [
        `<${element}${attribute('message', `${conclusion}: ${check.rule} (${check.section})`)}>${escapeText(reason)}</${element}>`,
      ]
    : [];
  const sent = exchanges.map((one) => `${one.sent} → ${one.status}`).join('\n');
  return [
    `    <testcase${attribute('classname', area)}${attribute('name', check.name)}${attribute('time', seconds(duration))}>`,
    ...problem.map((line) => `      ${line}`),
    `      <system-out>${escapeText(sent)}</system-out>`,
    '    </testcase>',
  ].join('\n');
}

function testSuite(area: string, results: readonly Result[]): string {
  const { failed, passed } = count(results);
  const time = results.reduce((sum, { duration }) => sum + duration, 0);
  const attributes = [
    attribute('name', area),
    attribute('tests', results.length),
    attribute('failures', failed),
    attribute('skipped', results.length - failed - passed),
    attribute('time', seconds(time)),
  ].join('');
  return [`  <testsuite${attributes}>`, ...results.map((result) => testCase(area, result)), '  </testsuite>'].join(
    '\n',
  );
}

/**
 * The report for build servers: a test suite for each area, a test case for each check.
 *
 * @see https://github.com/testmoapp/junitxml
 */
export function junitReport({ results, baseUrl, stage }: Report): string {
  const suites = Object.keys(areas)
    .map((area) => ({ area, own: results.filter(({ check }) => areaOf(check) === area) }))
    .filter(({ own }) => own.length > 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attribute('name', `${baseUrl} (${stage})`)}>`,
    ...suites.map(({ area, own }) => testSuite(area, own)),
    '</testsuites>',
    '',
  ].join('\n');
}
