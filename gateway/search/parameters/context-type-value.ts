import type { Coding, Resource, UsageContext } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { payerKindsOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { type ResourceFilter, type SearchParam, searchIssue } from './param.ts';

/** A token of a search: an absent `system` means any, an empty one none; an absent `code` means any. */
interface Token {
  readonly system?: string;
  readonly code?: string;
}

/** A parsed `context-type-value`: tests whether a resource has such a `useContext`. */
interface UseContextSearch extends ResourceFilter {
  /** Parameters for Medplum: wider than `matches`, never narrower. */
  readonly narrowing: readonly SearchParam[];
}

/** Splits at separators that no backslash escapes; the backslashes are kept. */
function splitUnescaped(text: string, separator: ',' | '$' | '|'): string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    if (text.charAt(i) === separator) {
      parts.push('');
    } else {
      parts[parts.length - 1] += text.charAt(i) === '\\' ? text.charAt(i) + text.charAt(++i) : text.charAt(i);
    }
  }
  return parts;
}

const unescaped = (text: string): string => text.replace(/\\(.)/gs, '$1');

function parseToken(text: string): Token {
  const [first = '', second] = splitUnescaped(text, '|').map(unescaped);
  return second === undefined ? { code: first } : { system: first, ...(second !== '' && { code: second }) };
}

function matchesToken(coding: Coding | undefined, { system, code }: Token): boolean {
  const isSystem = system === undefined || (coding?.system ?? '') === system;
  return coding !== undefined && isSystem && (code === undefined || coding.code === code);
}

function useContexts(resource: Resource): readonly UsageContext[] {
  return 'useContext' in resource && Array.isArray(resource.useContext) ? resource.useContext : [];
}

/**
 * Reads a `context-type-value`: `system|code$system|code`, several separated by commas. Both halves must hold in one and
 * the same `useContext`, which Medplum cannot search for: it only has a separate parameter for each half.
 *
 * @returns the exact condition and the parameters that narrow the search before it is filtered, or the issue
 * @see specification 4.1; https://hl7.org/fhir/R4/search.html#combining
 */
export function readContextTypeValue(value: string): UseContextSearch | Issue {
  const pairs = splitUnescaped(value, ',').map((pair) => splitUnescaped(pair, '$'));
  if (pairs.some((pair) => pair.length !== 2 || pair.includes(''))) {
    return searchIssue('context-type-value', "'context-type-value' must have the form 'system|code$system|code'.");
  }
  const wanted = pairs.map(([type = '', context = '']) => ({ type: parseToken(type), context: parseToken(context) }));
  return {
    element: 'useContext',
    matches: (resource) =>
      useContexts(resource).some((use) =>
        wanted.some(
          ({ type, context }) =>
            matchesToken(use.code, type) &&
            (use.valueCodeableConcept?.coding ?? []).some((coding) => matchesToken(coding, context)),
        ),
      ),
    narrowing: [
      { name: 'context-type', value: [...new Set(pairs.map(([type]) => type))].join(',') },
      { name: 'context', value: [...new Set(pairs.map(([, context]) => context))].join(',') },
    ],
  };
}

/**
 * Reads a `payer-kind`: `code` or `system|code`, several separated by commas. A resource without a kind serves all of them.
 */
export function readPayerKind(value: string, config: PublicConfig): ResourceFilter {
  const wanted = splitUnescaped(value, ',').map(parseToken);
  return {
    element: 'extension',
    matches: (resource) => {
      const kinds = payerKindsOf(resource, config);
      return kinds.length === 0 || kinds.some((kind) => wanted.some((token) => matchesToken(kind, token)));
    },
  };
}
