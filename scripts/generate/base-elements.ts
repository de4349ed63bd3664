import type { ElementDefinition } from '@medplum/fhirtypes';
import { definedElements } from './definitions.ts';

/** The types that profiles are built on, and those of their elements that a profile constrains from within. */
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

/** What explains an element without being part of its rules: servers read a snapshot again for each resource. */
const explanations = new Set(['comment', 'requirements', 'alias', 'example', 'mapping']);

const ruled = (element: ElementDefinition): object =>
  Object.fromEntries(Object.entries(element).filter(([name]) => !explanations.has(name)));

/** The file that profiles are built from, an element a line. */
export function baseElementsFile(): string {
  const lists = types.map((type) => {
    const elements = definedElements(type).map((element) => JSON.stringify(ruled(element)));
    return `"${type}": [\n${elements.join(',\n')}\n]`;
  });
  return `{\n${lists.join(',\n')}\n}\n`;
}
