import { attribute, escapeText } from '../../../core/fhir/xml/escape.ts';
import { areas } from '../checks/all.ts';
import type { Result, Verdict } from '../run.ts';
import { areaOf, count, type Report } from './summary.ts';

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(3);

/** What a verdict is in JUnit: rules that are not binding do not fail a run. */
const elements: Readonly<Record<Verdict, 'failure' | 'skipped' | undefined>> = {
  failed: 'failure',
  warning: 'skipped',
  skipped: 'skipped',
  replaced: 'skipped',
  passed: undefined,
};

function testCase(area: string, { check, verdict, reason, exchanges, duration }: Result): string {
  const element = elements[verdict];
  const problem = element
    ? [
        `<${element}${attribute('message', `${verdict}: ${check.rule} (${check.section})`)}>${escapeText(reason)}</${element}>`,
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
  return [`  <testsuite${attributes}>`, ...results.map((one) => testCase(area, one)), '  </testsuite>'].join('\n');
}

/**
 * A run for build servers: a test suite for each area, a test case for each check.
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
