import type { ElementDefinition } from '@medplum/fhirtypes';
import { definedElements } from './definitions.ts';

/** The types that profiles are built on, and the types of elements whose children a profile constrains. */
const types = [
  'Appointment',
  'CodeableConcept',
  'Coding',
  'Extension',
  'Meta',
  'Patient',
  'QuestionnaireResponse',
  'Reference',
  'Schedule',
  'Slot',
  'Subscription',
];

/** Explanations in an element, which are not part of its rules. Servers read a snapshot again for each resource. */
const explanations = new Set(['comment', 'requirements', 'alias', 'example', 'mapping']);

const ruled = (element: ElementDefinition): object =>
  Object.fromEntries(Object.entries(element).filter(([name]) => !explanations.has(name)));

/** The file for building profiles, with one element per line. */
export function baseElementsFile(): string {
  const lists = types.map((type) => {
    const elements = definedElements(type).map((element) => JSON.stringify(ruled(element)));
    return `"${type}": [\n${elements.join(',\n')}\n]`;
  });
  return `{\n${lists.join(',\n')}\n}\n`;
}
