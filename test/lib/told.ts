import { expect } from '@jest/globals';

/** A problem as the rules report it. */
interface Problem {
  readonly code: string;
  readonly diagnostics: string;
  readonly expression?: string | undefined;
}

/** A whole sentence: it ends, and nothing in it is missing. */
const sentence = /^(?!.*(?:undefined|\[object|NaN)).{20,}[.!]$/s;

/**
 * What is told of problems: each as `code expression`, or as its code if it is about no single element.
 *
 * @throws if one of them has no sentence that says what is wrong
 */
export function told(problems: readonly Problem[]): string[] {
  return problems.map(({ code, diagnostics, expression }) => {
    expect(diagnostics).toMatch(sentence);
    return expression === undefined ? code : `${code} ${expression}`;
  });
}
