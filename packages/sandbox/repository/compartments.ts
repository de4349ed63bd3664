import { evalFhirPath, getSearchParameter, getSearchParameterDetails, isReference, isUUID } from '@medplum/core';
import type { Reference } from '@medplum/fhirtypes';
import type { StoredResource } from '../storage/change.ts';
import { patientParameters } from './definitions.ts';

function patientsOf(resource: StoredResource): string[] {
  const own = resource.resourceType === 'Patient' ? [`Patient/${resource.id}`] : [];
  const named = patientParameters(resource.resourceType).flatMap((code) => {
    const parameter = getSearchParameter(resource.resourceType, code);
    const details = parameter && getSearchParameterDetails(resource.resourceType, parameter);
    const values = details ? evalFhirPath(details.parsedExpression, resource) : [];
    return values.filter((value) => isReference(value)).map(({ reference }) => reference);
  });
  return [...own, ...named.filter((reference) => reference.startsWith('Patient/'))];
}

/** What Medplum writes to `meta.compartment`: the project, and the patients that the resource is about. */
export function compartmentsOf(resource: StoredResource, project: string | undefined): Reference[] {
  const patients = patientsOf(resource).filter((reference) => isUUID(reference.slice('Patient/'.length)));
  const references = new Set([...(project ? [`Project/${project}`] : []), ...patients]);
  return [...references].map((reference) => ({ reference }));
}
