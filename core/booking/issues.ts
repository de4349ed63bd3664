import type { Issue } from '../fhir/outcome/outcome.ts';

/** Whether an element is the same as another one, or contains it; both are FHIRPaths. */
export const contains = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** The issues that are not consequences of something that could not be read, which has an issue of its own. */
export function withoutConsequences(issues: readonly Issue[], unreadable: readonly string[] = []): readonly Issue[] {
  return issues.filter(({ expression: path = '' }) =>
    unreadable.every((element) => !contains(element, path) && !contains(path, element)),
  );
}

/** The issues about elements that others do not mention. */
export function besides(issues: readonly Issue[], others: readonly Issue[]): readonly Issue[] {
  const said = new Set(others.map(({ expression }) => expression));
  return issues.filter(({ expression }) => !said.has(expression));
}

/** The issues, each once: several appointments of one request have the same patient, for instance. */
export const uniqueIssues = (issues: readonly Issue[]): Issue[] => [
  ...new Map(issues.map((one) => [JSON.stringify([one.code, one.expression, one.diagnostics]), one])).values(),
];
