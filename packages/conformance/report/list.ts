import { type Check, isNotification, type Step } from '../check.ts';
import { needs } from '../preparation/needs.ts';

function describe(step: Step, index: number): string {
  const what = isNotification(step)
    ? `waits for ${step.notification}`
    : `${step.by ? `${step.by}: ` : ''}${step.request}${step.format ? ' (XML)' : ''}`;
  const expected = step.expect.map(({ says }) => `       - ${says}`);
  return [`    ${index + 1}. ${what}`, ...expected].join('\n');
}

/** A check in full: its rule, where it stands, the public suite's scenarios, what it needs, what it sends and expects. */
export function describeCheck(check: Check): string {
  const { name, level, rule, section, needs: needed = [], stages, steps, covers = [] } = check;
  return [
    `${name}  ${level}${stages ? `  (${stages.join(', ')})` : ''}`,
    `  ${rule}`,
    `  ${section}`,
    ...covers.map(({ feature, scenario }) => `  covers ${feature}: ${scenario}`),
    ...needed.map((need) => `  needs ${needs[need]}`),
    ...steps.map(describe),
  ].join('\n');
}
