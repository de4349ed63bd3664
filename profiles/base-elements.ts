import { readFileSync } from 'node:fs';
import type { ElementDefinition } from '@medplum/fhirtypes';

let known: Readonly<Record<string, readonly ElementDefinition[]>> | undefined;

/**
 * The elements of a FHIR R4 type that profiles are built on, from its snapshot, without explanations. They are an
 * extract of FHIR's definitions: reading all 35 MB would slow every deployment.
 *
 * @param type - for example `Appointment` or `CodeableConcept`
 * @throws Error when the extract has no such type
 * @see https://hl7.org/fhir/R4/structuredefinition.html
 */
export function baseElements(type: string): readonly ElementDefinition[] {
  known ??= JSON.parse(readFileSync(new URL('base-elements.json', import.meta.url), 'utf8'));
  const elements = known?.[type];
  if (!elements) {
    throw new Error(
      `profiles/base-elements.json lacks ${type}: name it in scripts/generate/base-elements.ts, and run npm run generate.`,
    );
  }
  return elements;
}
