import { describe, expect, it } from '@jest/globals';
import { validateResource } from '@medplum/core';
import type { ElementDefinition } from '@medplum/fhirtypes';
import { forValidation } from '../../profiles/validation-snapshot.ts';
import { artefacts } from './validator.ts';

describe.each(artefacts.structureDefinitions.map((profile) => [profile.name, profile] as const))('%s', (_, profile) => {
  const { snapshot: { element = [] } = {}, ...deployed } = forValidation(profile);

  it('states what the complete profile states', () => {
    const { snapshot: __, ...complete } = profile;
    expect(deployed).toEqual(complete);
    const ids = element.map(({ id }) => id);
    expect((profile.differential?.element ?? []).filter(({ id }) => !ids.includes(id))).toEqual([]);
  });

  it('is a StructureDefinition that Medplum stores, shorter than the complete one', () => {
    expect(() => validateResource(forValidation(profile))).not.toThrow();
    expect(JSON.stringify(element).length).toBeLessThan(JSON.stringify(profile.snapshot?.element).length);
  });

  it('states the constraints of the profile, and none of the base type', () => {
    const keys = (elements: readonly ElementDefinition[]) =>
      elements.flatMap(({ id, constraint = [] }) => constraint.map(({ key }) => `${id} ${key}`)).sort();
    expect(keys(element)).toEqual(keys(profile.differential?.element ?? []));
  });
});
