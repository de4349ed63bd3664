import type { ElementDefinition, StructureDefinition } from '@medplum/fhirtypes';
import type { BookingConfig } from '../core/config/config.ts';
import { type Artefact, artefactName, artefactUri } from '../core/fhir/artefacts.ts';
import { metadata } from './metadata.ts';
import { applyDifferential, type Difference, pathOf } from './snapshot.ts';

/** A profile or an extension, in the terms of the installation's configuration. */
export interface Profile {
  readonly artefact: Artefact;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly context?: readonly string[];
  readonly differential: readonly Difference[];
}

function toElement({ id, ...difference }: Difference): ElementDefinition {
  const sliceName = /:([^.:]+)$/.exec(id)?.[1];
  return { ...difference, id, path: pathOf(id), ...(sliceName && { sliceName }) };
}

/**
 * Builds the StructureDefinition of a profile, with differential and snapshot (Medplum validates by snapshots only).
 *
 * @throws Error when the differential names an element that the type does not have
 * @see https://hl7.org/fhir/R4/structuredefinition.html
 */
export function buildStructureDefinition(profile: Profile, config: BookingConfig): StructureDefinition {
  const { artefact, type, title, description, context, differential } = profile;
  const statesRoot = differential[0]?.id === type;
  return {
    resourceType: 'StructureDefinition',
    url: artefactUri(config, artefact),
    ...metadata,
    name: artefactName(config, artefact),
    title,
    description,
    fhirVersion: '4.0.1',
    kind: context ? 'complex-type' : 'resource',
    abstract: false,
    ...(context && { context: context.map((expression) => ({ type: 'element' as const, expression })) }),
    type,
    baseDefinition: `http://hl7.org/fhir/StructureDefinition/${type}`,
    derivation: 'constraint',
    snapshot: { element: applyDifferential(type, differential) },
    differential: { element: (statesRoot ? differential : [{ id: type }, ...differential]).map(toElement) },
  };
}
