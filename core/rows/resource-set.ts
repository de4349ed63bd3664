import type { ExtractResource, Resource, ResourceType, Schedule, Slot } from '@medplum/fhirtypes';
import { idIn } from '../fhir/reference.ts';
import { isResource } from '../fhir/resource.ts';

/** Resources by `Type/id`. */
export type ResourceSet = ReadonlyMap<string, Resource>;

export function resourceSet(resources: readonly Resource[]): ResourceSet {
  return new Map(resources.map((resource) => [`${resource.resourceType}/${resource.id}`, resource]));
}

export function findResource<T extends ResourceType>(
  state: ResourceSet,
  type: T,
  id: string,
): ExtractResource<T> | undefined {
  const found = state.get(`${type}/${id}`);
  return isResource(found, type) ? found : undefined;
}

export function resourcesOfType<T extends ResourceType>(state: ResourceSet, type: T): ExtractResource<T>[] {
  return [...state.values()].flatMap((resource) => (isResource(resource, type) ? [resource] : []));
}

export function scheduleOf(state: ResourceSet, slot: Slot): Schedule | undefined {
  const id = idIn(slot.schedule, 'Schedule');
  return id === undefined ? undefined : findResource(state, 'Schedule', id);
}

/** The Schedules of some Slots, each once, as far as both were found. */
export function schedulesOfSlots(ids: readonly string[], state: ResourceSet): Schedule[] {
  const slots = ids.flatMap((id) => findResource(state, 'Slot', id) ?? []);
  return [...new Set(slots.flatMap((slot) => scheduleOf(state, slot) ?? []))];
}

export function byId<T extends Resource>(resources: readonly T[]): Map<string, T> {
  return new Map(
    resources.flatMap((resource) => (resource.id === undefined ? [] : [[resource.id, resource] as const])),
  );
}
