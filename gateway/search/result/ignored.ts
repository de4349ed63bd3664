import type { BundleEntry, OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import type { FhirResponse } from '../../http/response.ts';
import { isBundle } from '../../medplum/public-resources.ts';
import type { SearchParam } from '../parameters/param.ts';

/** A parameter that the service does not know and, in lenient handling, ignores. */
export interface IgnoredParam {
  readonly param: SearchParam;
  readonly issue: Issue;
}

function outcomeEntry(ignored: readonly IgnoredParam[]): BundleEntry {
  const resource: OperationOutcome = {
    resourceType: 'OperationOutcome',
    issue: ignored.map(({ issue: { diagnostics, expression } }) => ({
      severity: 'warning',
      code: 'not-supported',
      details: { text: 'The search parameter was ignored.' },
      diagnostics,
      ...(expression && { expression: [expression] }),
    })),
  };
  return { resource, search: { mode: 'outcome' } };
}

/**
 * Says in the result of a search which parameters were ignored, after everything that was found.
 *
 * @see https://hl7.org/fhir/R4/search.html#errors
 */
export function sayingIgnored(response: FhirResponse, ignored: readonly IgnoredParam[]): FhirResponse {
  const { resource } = response;
  return ignored.length > 0 && isBundle(resource)
    ? { ...response, resource: { ...resource, entry: [...(resource.entry ?? []), outcomeEntry(ignored)] } }
    : response;
}
