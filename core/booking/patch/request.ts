import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isId } from '../../fhir/reference/reference.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import { type Patch, readPatch } from './patch.ts';

/** A request to patch an appointment. */
export interface PatchRequest {
  readonly id: string;
  readonly patch: Patch;
  /** The version that the appointment must have. */
  readonly ifMatch?: string | undefined;
}

function parameterOf(input: unknown, name: string): Readonly<Record<string, unknown>> {
  const parameters = isResource(input, 'Parameters') && Array.isArray(input.parameter) ? input.parameter : [];
  const found: unknown = parameters.find((parameter) => parameter?.name === name);
  return isObject(found) ? found : {};
}

function jsonIn(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a request to patch an appointment from the form in which the Bot receives it: Parameters with `id` (valueId),
 * `ifMatch` (valueString, a version), and `patch` (a Parameters resource, or valueString with a JSON Patch).
 *
 * @param input - of any content, because whoever may call the Bot can send anything
 * @returns the request, or `patch-invalid` for each problem of the patch
 */
export function parsePatchRequest(input: unknown): PatchRequest | { readonly issues: readonly Issue[] } {
  const { valueId: id } = parameterOf(input, 'id');
  const { valueString: ifMatch } = parameterOf(input, 'ifMatch');
  const { resource, valueString: json } = parameterOf(input, 'patch');
  if (!isId(id)) {
    return { issues: [{ code: 'patch-invalid', diagnostics: 'The parameter id must be the id of an Appointment.' }] };
  }
  const patch = readPatch(resource ?? jsonIn(json));
  return 'issues' in patch ? patch : { id, patch, ...(typeof ifMatch === 'string' && { ifMatch }) };
}
