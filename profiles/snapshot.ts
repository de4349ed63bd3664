import type { ElementDefinition } from '@medplum/fhirtypes';
import { baseElements } from './base-elements.ts';

/**
 * One element of a differential: its id (`Appointment.meta.tag:external.system`) and its constraints. The path follows
 * from the id.
 */
export type Difference = Omit<Partial<ElementDefinition>, 'path' | 'sliceName'> & { readonly id: string };

/** The path of an element: its id without the names of slices. */
export function pathOf(id: string): string {
  return id.replace(/:[^.]+/g, '');
}

function isWithin(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}.`) || id.startsWith(`${ancestor}:`);
}

function lastWithin(elements: readonly ElementDefinition[], id: string): number {
  return elements.findLastIndex((element) => isWithin(element.id ?? '', id));
}

/** Lists the children of an element's data type below it, which a profile must do before it constrains one of them. */
function unfold(elements: ElementDefinition[], parent: ElementDefinition): void {
  const type = parent.type?.[0]?.code;
  if (!type || parent.type?.length !== 1) {
    throw new Error(`${parent.id} has no single data type to constrain`);
  }
  const children = baseElements(type)
    .slice(1)
    .map((child) => ({
      ...child,
      id: `${parent.id}${child.id?.slice(type.length)}`,
      path: `${parent.path}${child.path.slice(type.length)}`,
    }));
  elements.splice(elements.indexOf(parent) + 1, 0, ...children);
}

function parentId(id: string): string {
  return id.slice(0, id.lastIndexOf('.'));
}

function find(elements: ElementDefinition[], id: string): ElementDefinition {
  const known = elements.find((element) => element.id === id);
  if (known) {
    return known;
  }
  const parent = find(elements, parentId(id));
  if (!elements.some((element) => element.id?.startsWith(`${parent.id}.`))) {
    unfold(elements, parent);
  }
  const unfolded = elements.find((element) => element.id === id);
  if (!unfolded) {
    throw new Error(`${parent.id} has no element ${id}`);
  }
  return unfolded;
}

/** Adds a slice: a copy of the sliced element, after existing slices. */
function addSlice(elements: ElementDefinition[], id: string): ElementDefinition {
  const [sliced = '', sliceName] = id.split(/:(?=[^:]+$)/);
  const { slicing: _, ...template } = find(elements, sliced);
  const slice: ElementDefinition = { ...template, id, sliceName, min: 0 };
  elements.splice(lastWithin(elements, sliced) + 1, 0, slice);
  return slice;
}

function isSlice(id: string): boolean {
  return /:[^.:]+$/.test(id);
}

/**
 * Applies a differential to the snapshot of a FHIR R4 type.
 *
 * @param differential - in document order; constraints are added to the base's, everything else replaces it
 * @throws Error when an element of the differential does not exist in the type
 * @see https://hl7.org/fhir/R4/profiling.html#snapshot
 */
export function applyDifferential(type: string, differential: readonly Difference[]): ElementDefinition[] {
  const elements = [...baseElements(type)];
  for (const { constraint, ...difference } of differential) {
    const known = elements.some((element) => element.id === difference.id);
    const target = isSlice(difference.id) && !known ? addSlice(elements, difference.id) : find(elements, difference.id);
    const constraints = [...(target.constraint ?? []), ...(constraint ?? [])];
    const changed = { ...target, ...difference, ...(constraints.length > 0 && { constraint: constraints }) };
    elements[elements.indexOf(target)] = changed;
  }
  return elements;
}
