import { isResource } from '@medplum/core';
import type { Bundle, BundleEntry, ParametersParameter } from '@medplum/fhirtypes';

function hidden(parameter: ParametersParameter): ParametersParameter {
  return { ...parameter, part: parameter.part?.filter(({ name }) => name !== 'type') };
}

function withoutFhirPathPatch(entry: BundleEntry): BundleEntry {
  const { request, resource } = entry;
  const isPatch = request?.method === 'PATCH' && resource?.resourceType === 'Parameters';
  return isPatch ? { ...entry, resource: { ...resource, parameter: resource.parameter?.map(hidden) } } : entry;
}

/**
 * Medplum 5.1 supports FHIRPath Patch only in a request of its own; inside a Bundle it misses the `op` of its form of
 * JSON Patch and answers 400. The router used here is newer and would carry it out, so the part by which it tells the two
 * apart is removed.
 */
export function asMedplum51(body: unknown): unknown {
  if (!isResource<Bundle>(body, 'Bundle') || !Array.isArray(body.entry)) {
    return body;
  }
  return { ...body, entry: body.entry.map((entry) => (entry ? withoutFhirPathPatch(entry) : entry)) };
}
