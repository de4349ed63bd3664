import type { ElementDefinition, StructureDefinition } from '@medplum/fhirtypes';
import { baseElements } from './base-elements.ts';

/** Keeps the mandatory parts of an element and those that Medplum's validation reads. */
function reduced({ definition, short = definition, binding, ...element }: ElementDefinition): ElementDefinition {
  const { comment, requirements, alias, example, mapping, constraint, ...kept } = element;
  return {
    ...kept,
    definition: short,
    ...(binding && { binding: { strength: binding.strength, valueSet: binding.valueSet } }),
  };
}

/**
 * Reduces a profile to the shortest snapshot with which Medplum validates the same way. Medplum parses the snapshot
 * again for each resource with this profile, and checks the base type separately. Elements of data types without
 * constraints in the profile are therefore left out, as are explanations and constraints of base types.
 *
 * The stored snapshot is incomplete. A complete one can be generated from the differential, or taken from the shipped
 * bundles (`profiles/package`).
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
