import { areas, type Check, isNotification, type Step } from '@appointment-booking/conformance';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const sent = (step: Step): string =>
  isNotification(step)
    ? `(${step.notification})`
    : `\`${step.by ? `${step.by}: ` : ''}${step.request}\`${step.format ? ' as XML' : ''}`;

function rowOf({ name, level, rule, section, stages, steps, covers = [] }: Check): string {
  const scenarios = covers.map(({ feature, scenario }) => `${feature}: ${scenario}`);
  const cells = [
    `\`${name}\``,
    level,
    rule,
    stages ? stages.join(', ') : 'all',
    section,
    steps.map(sent).join('<br>'),
    scenarios.join('<br>'),
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
}

/** The page that lists every check of the conformance kit. */
export function conformancePage(): string {
  const parts = Object.entries(areas).map(
    ([area, checks]) => `## ${area}

| check | level | rule | stages | section | requests | scenario of the public suite |
| --- | --- | --- | --- | --- | --- | --- |
${checks.map(rowOf).join('\n')}
`,
  );
  return `# The checks of the conformance kit

<!-- Generated from packages/conformance/checks by \`npm run generate\`. -->

What \`npm run conformance\` tries ([how to use it](conformance-kit.md)). Words in braces stand for what the kit has prepared
or received: \`{slot}\` is the reference to a free Slot. \`npm run conformance -- --base-url … --list\` prints what
each answer has to satisfy.

${parts.join('\n')}`;
}
