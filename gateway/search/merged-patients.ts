import type { Patient } from '@medplum/fhirtypes';
import { replacedBy } from '../../core/booking/appointment/change.ts';
import { isResource } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import type { FhirResponse } from '../http/response.ts';
import { isBundle } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { searchMedplum } from './medplum.ts';
import type { SearchParam } from './parameters/param.ts';
import { formatQuery } from './rewrite.ts';

/** The parameters that find the appointments in which a patient takes part. */
const byPatient: readonly string[] = ['patient', 'actor'];

/** Maximum number of patients that are read per search; a search for more is left unchanged. */
const MAX = 100;

/** Maximum number of successive merges that are followed. */
const MAX_CHAIN = 8;

const patientIn = (reference: string): string | undefined => /^Patient\/([^/]+)$/.exec(reference)?.[1];

const patientsIn = ({ name, value }: SearchParam): string[] =>
  byPatient.includes(name) ? value.split(',').flatMap((reference) => patientIn(reference) ?? []) : [];

/** Reads those of the patients that the caller may read. */
async function readPatients(
  ids: readonly string[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<Patient[] | FhirResponse> {
  const query = formatQuery([
    { name: '_id', value: ids.join(',') },
    { name: '_count', value: String(ids.length) },
  ]);
  const found = await searchMedplum('Patient', query, 'POST', exchange, context);
  return isBundle(found)
    ? (found.entry ?? []).flatMap((entry) => (isResource(entry?.resource, 'Patient') ? [entry.resource] : []))
    : found;
}

/** The successors' ids by the ids of merged patients, as far as the caller may read the patients on the way. */
async function readSuccessors(
  ids: readonly string[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<Map<string, string> | FhirResponse> {
  const successors = new Map<string, string>();
  let asked = ids;
  for (let merges = 0; asked.length > 0 && merges < MAX_CHAIN; merges++) {
    const patients = await readPatients(asked, exchange, context);
    if ('status' in patients) {
      return patients;
    }
    const merged = patients.flatMap((patient) => {
      const successor = replacedBy(patient);
      return patient.id !== undefined && successor !== undefined ? [[patient.id, successor] as const] : [];
    });
    for (const [id, successor] of merged) {
      successors.set(id, successor);
    }
    asked = merged.map(([, successor]) => successor).filter((id) => !successors.has(id) && !ids.includes(id));
  }
  return successors;
}

/** A parameter with the successors of each patient added to its values; a circle of merges is followed once. */
function extended({ name, value }: SearchParam, successors: ReadonlyMap<string, string>): SearchParam {
  const chainOf = (id: string, seen: readonly string[] = []): string[] => {
    const successor = successors.get(id);
    return successor === undefined || seen.includes(successor)
      ? []
      : [`Patient/${successor}`, ...chainOf(successor, [...seen, successor])];
  };
  const values = value.split(',').flatMap((reference) => {
    const id = patientIn(reference);
    return id === undefined ? [reference] : [reference, ...chainOf(id)];
  });
  return { name, value: [...new Set(values)].join(',') };
}

/**
 * Extends a search so that the id of a merged patient also finds the appointments of the successor patient, which open
 * appointments reference after a merge. Only links of patients that the caller may read are followed.
 *
 * @param params - of a rewritten search, without chains
 * @returns the parameters (the same list if no patient was merged), or the response to send instead
 */
export async function withSuccessors(
  type: ServedTypeName,
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly SearchParam[] | FhirResponse> {
  const ids = type === 'Appointment' ? [...new Set(params.flatMap(patientsIn))] : [];
  if (ids.length === 0 || ids.length > MAX) {
    return params;
  }
  const successors = await readSuccessors(ids, exchange, context);
  if ('status' in successors || successors.size === 0) {
    return 'status' in successors ? successors : params;
  }
  return params.map((param) => (byPatient.includes(param.name) ? extended(param, successors) : param));
}
