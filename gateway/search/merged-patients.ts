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
  byPatient.includes(name) ? value.split(',').flatMap((one) => patientIn(one) ?? []) : [];

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

/** The successor patients of merged ones, if the caller may read all patients in between: `[id, successor's id]`. */
async function readSurvivors(
  ids: readonly string[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<Map<string, string> | FhirResponse> {
  const survivors = new Map<string, string>();
  let asked = ids;
  for (let merges = 0; asked.length > 0 && merges < MAX_CHAIN; merges++) {
    const patients = await readPatients(asked, exchange, context);
    if ('status' in patients) {
      return patients;
    }
    const merged = patients.flatMap((patient) => {
      const survivor = replacedBy(patient);
      return patient.id !== undefined && survivor !== undefined ? [[patient.id, survivor] as const] : [];
    });
    for (const [id, survivor] of merged) {
      survivors.set(id, survivor);
    }
    asked = merged.map(([, survivor]) => survivor).filter((id) => !survivors.has(id) && !ids.includes(id));
  }
  return survivors;
}

/** A parameter with the successors of each patient added to its values. */
function extended({ name, value }: SearchParam, survivors: ReadonlyMap<string, string>): SearchParam {
  const chainOf = (id: string, seen: readonly string[] = []): string[] => {
    const survivor = survivors.get(id);
    return survivor === undefined || seen.includes(survivor)
      ? []
      : [`Patient/${survivor}`, ...chainOf(survivor, [...seen, survivor])];
  };
  const values = value.split(',').flatMap((one) => {
    const id = patientIn(one);
    return id === undefined ? [one] : [one, ...chainOf(id)];
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
export async function withSurvivors(
  type: ServedTypeName,
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly SearchParam[] | FhirResponse> {
  const ids = type === 'Appointment' ? [...new Set(params.flatMap(patientsIn))] : [];
  if (ids.length === 0 || ids.length > MAX) {
    return params;
  }
  const survivors = await readSurvivors(ids, exchange, context);
  if ('status' in survivors || survivors.size === 0) {
    return 'status' in survivors ? survivors : params;
  }
  return params.map((param) => (byPatient.includes(param.name) ? extended(param, survivors) : param));
}
