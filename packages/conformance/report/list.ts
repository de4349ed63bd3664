import { type Check, isNotification, type Step } from '../check.ts';
import { needs } from '../preparation/needs.ts';

function describe(step: Step, index: number): string {
  const what = isNotification(step)
    ? `waits for ${step.notification}`
    : `${step.by ? `${step.by}: ` : ''}${step.request}${step.format ? ' (XML)' : ''}`;
  const expected = step.expect.map(({ says }) => `       - ${says}`);
  return [`    ${index + 1}. ${what}`, ...expected].join('\n');
}

/** A check in full: its rule, where it stands, what it needs, what it sends and expects. */
export function describeCheck({ name, level, rule, section, needs: needed = [], stages, steps }: Check): string {
  return [
    `${name}  ${level}${stages ? `  (${stages.join(', ')})` : ''}`,
    `  ${rule}`,
    `  ${section}`,
    ...needed.map((need) => `  needs ${needs[need]}`),
    ...steps.map(describe),
  ].join('\n');
}
