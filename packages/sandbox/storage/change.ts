import type { WithId } from '@medplum/core';
import type { Meta, Resource, ResourceType } from '@medplum/fhirtypes';

/** A resource as it is stored: with an id, and `meta` filled in by the repository. Never changed once stored. */
export type StoredResource = WithId<Resource>;

/** One version of a resource. A version without `resource` says that the resource was deleted. */
export interface Write {
  readonly type: ResourceType;
  readonly id: string;
  readonly versionId: string;
  /** Instant of the write, ISO 8601 in UTC. */
  readonly lastUpdated: string;
  readonly resource?: StoredResource;
  /** Of a deletion: the project in which the resource was. */
  readonly project?: string;
}

/** A committed version, with the number of the commit that made it. */
export interface Version extends Write {
  readonly commit: number;
}

/** What is left of a deleted resource where resources are searched and shown: it has no values but these. */
export const rowOf = ({ type, id }: Pick<Write, 'type' | 'id'>, meta: Meta): StoredResource =>
  Object.assign<object, StoredResource>({}, JSON.parse(JSON.stringify({ resourceType: type, id, meta })));

/** What a write does, as Medplum's subscriptions name it. */
export type Interaction = 'create' | 'update' | 'delete';

/** A write together with what it replaces: what subscriptions are matched against. */
export interface Change {
  readonly write: Write;
  readonly interaction: Interaction;
  readonly previous?: Write;
  /** Whether its jobs have been started before it is committed. */
  readonly isAnnounced?: boolean;
}

/** The resource that a change is about: what was written, or what existed before it was deleted. */
export function subjectOf({ write, previous }: Change): StoredResource | undefined {
  return write.resource ?? previous?.resource;
}

/** Whether a change is never stored: Medplum keeps Subscriptions over websockets in its cache only. */
export function isCacheOnly(change: Change): boolean {
  const subject = subjectOf(change);
  return subject?.resourceType === 'Subscription' && subject.channel.type === 'websocket';
}
