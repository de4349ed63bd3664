import type { ElementDefinition, StructureDefinition } from '@medplum/fhirtypes';
import { baseElements } from './definitions.ts';

/** What FHIR demands of each element of a snapshot, and what Medplum's validation reads of it. */
function reduced({ definition, short = definition, binding, ...element }: ElementDefinition): ElementDefinition {
  const { comment, requirements, alias, example, mapping, constraint, ...kept } = element;
  return {
    ...kept,
    definition: short,
    ...(binding && { binding: { strength: binding.strength, valueSet: binding.valueSet } }),
  };
}

/**
 * The same profile with the shortest snapshot by which Medplum validates alike. Medplum parses the snapshot anew for each
 * resource that names the profile, and checks the resource against its base type besides. Therefore elements of data types
 * that the profile says nothing about are left out, and so are the constraints of base types, and explanations.
 *
 * What is lost: the stored snapshot is no complete one. Who needs that generates it from the differential, or takes it
 * from the shipped bundles (`profiles/package`).
 *
 * @param profile - with differential and snapshot
 * @see https://hl7.org/fhir/R4/profiling.html#snapshot
 */
export function forValidation(profile: StructureDefinition): StructureDefinition {
  const stated = new Map((profile.differential?.element ?? []).map((element) => [element.id ?? '', element]));
  const base = new Set(baseElements(profile.type).map(({ id }) => id));
  const isNeeded = ({ id = '' }: ElementDefinition): boolean =>
    base.has(id) ||
    [...stated.keys()].some((one) => one === id || one.startsWith(`${id}.`) || one.startsWith(`${id}:`));
  const element = (profile.snapshot?.element ?? []).filter(isNeeded).map((one) => {
    const constraint = stated.get(one.id ?? '')?.constraint;
    return { ...reduced(one), ...(constraint && { constraint }) };
  });
  return { ...profile, snapshot: { element } };
}
