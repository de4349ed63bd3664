import type { TestReport } from '@medplum/fhirtypes';
import type { Findings } from './attack.ts';
import type { Operation } from './history.ts';
import { rules, type Violation } from './judge.ts';

type RuleName = keyof typeof rules;

const LONGEST_TEXT = 60;

const short = (text: string): string => (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text);

const inOrder = (operations: readonly Operation[]): readonly Operation[] =>
  operations.toSorted((one, other) => one.sent - other.sent);

/** Milliseconds since the first request of a history. */
function clockOf(operations: readonly Operation[]): (time: number) => string {
  const first = Math.min(...operations.map(({ sent }) => sent));
  return (time) => (time === Number.POSITIVE_INFINITY ? '…' : String(Math.round(time - first)));
}

/** Sets titles and rows of cells as a table. */
type Format = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** What breaks a rule, as text: who asked for what when, and what was answered. */
export function violationTable({ rule, says, operations }: Violation, format: Format): string {
  const at = clockOf(operations);
  const rows = inOrder(operations).map(({ sent, answered, actor, does, outcome, told }) => [
    `${at(sent)}–${at(answered)}`,
    actor,
    does,
    outcome,
    short(told),
  ]);
  const table = rows.length > 0 ? [format(['ms', 'who', 'does', 'outcome', 'is told'], rows)] : [];
  return [`${rules[rule]}: broken. ${says}`, ...table].join('\n\n');
}

/** The result of an attack: `undecided` if nothing could be shown, neither that a rule is broken nor that it holds. */
export function resultOf({ violations, undecided, booked }: Findings): 'pass' | 'fail' | 'undecided' {
  return violations.length > 0 ? 'fail' : undecided > 0 || booked === 0 ? 'undecided' : 'pass';
}

/** The attack as FHIR's report of a test: an assertion for each rule. */
export function testReport(findings: Findings, about: { baseUrl: string; issued: string }): TestReport {
  const result = resultOf(findings);
  const ruleNames = Object.keys(rules) as RuleName[];
  const broken = (rule: RuleName): Violation | undefined => findings.violations.find((one) => one.rule === rule);
  const unjudged = (rule: RuleName): boolean => rule === 'told' && findings.told === undefined;
  return {
    resourceType: 'TestReport',
    status: 'completed',
    testScript: { display: 'Attack on a booking service: portals and staff act at once' },
    result: result === 'undecided' ? 'pending' : result,
    score: Math.round((100 * ruleNames.filter((rule) => !broken(rule)).length) / ruleNames.length),
    issued: about.issued,
    participant: [
      { type: 'test-engine', uri: 'urn:appointment-booking:conformance', display: 'Conformance kit' },
      { type: 'server', uri: about.baseUrl },
    ],
    test: ruleNames.map((rule) => ({
      name: rule,
      description: rules[rule],
      action: [
        {
          assert: {
            result: broken(rule) ? 'fail' : unjudged(rule) ? 'skip' : result === 'undecided' ? 'warning' : 'pass',
            message: broken(rule)?.says ?? `${findings.operations} operations in ${findings.rounds} rounds`,
            ...(broken(rule) && { detail: violationTable(broken(rule) as Violation, asLines) }),
          },
        },
      ],
    })),
  } as TestReport;
}

const asLines: Format = (head, rows) => [head, ...rows].map((cells) => cells.join(' | ')).join('\n');
