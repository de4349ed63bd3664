import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { type SearchParam, searchIssue } from './param.ts';

/**
 * Writes codes the way Medplum finds them in elements that hold only a code: without the code system, which FHIR fixes
 * for such an element. A code of another system stays unchanged; no element has it.
 *
 * @param sent - one parameter, with codes separated by commas, `code` or `system|code`
 * @param codeSystem - of the element
 * @returns the value for Medplum, or the issue if a system has no code
 * @see https://hl7.org/fhir/R4/search.html#token
 */
export function rewriteCodes({ name, value }: SearchParam, codeSystem: string): string | Issue {
  const codes = value.split(',').map((one) => {
    const system = [`${codeSystem}|`, '|'].find((start) => one.startsWith(start));
    return system ? one.slice(system.length) : one;
  });
  return codes.includes('')
    ? searchIssue(name, `'${name}' must have a code, also after '${codeSystem}|'.`)
    : codes.join(',');
}
