import type { WithId } from '@medplum/core';
import type { Meta, Resource, ResourceType } from '@medplum/fhirtypes';

/** A resource as it is stored: with an id, and `meta` filled in by the repository. Never changed once stored. */
export type StoredResource = WithId<Resource>;

/** One version of a resource. A version without `resource` is a deletion. */
export interface Write {
  readonly type: ResourceType;
  readonly id: string;
  readonly versionId: string;
  /** Instant of the write, ISO 8601 in UTC. */
  readonly lastUpdated: string;
  readonly resource?: StoredResource;
  /** For a deletion: the project of the resource. */
  readonly project?: string;
}

/** A committed version, with the number of the commit that made it. */
export interface Version extends Write {
  readonly commit: number;
}

/** A deleted resource in searches and histories: it has no values but these. */
export const rowOf = ({ type, id }: Pick<Write, 'type' | 'id'>, meta: Meta): StoredResource =>
  Object.assign<object, StoredResource>({}, JSON.parse(JSON.stringify({ resourceType: type, id, meta })));

/** The interaction of a write, as Medplum's subscriptions name it. */
export type Interaction = 'create' | 'update' | 'delete';

/** A write with the version that it replaces. Subscriptions are matched against it. */
export interface Change {
  readonly write: Write;
  readonly interaction: Interaction;
  readonly previous?: Write;
  /** Whether its jobs have been started before the commit. */
  readonly isAnnounced?: boolean;
}

/** The subject of a change: the written resource, or for a deletion the one before it. */
export function subjectOf({ write, previous }: Change): StoredResource | undefined {
  return write.resource ?? previous?.resource;
}

/** Whether a change is never stored: Medplum keeps Subscriptions over websockets in its cache only. */
export function isCacheOnly(change: Change): boolean {
  const subject = subjectOf(change);
  return subject?.resourceType === 'Subscription' && subject.channel.type === 'websocket';
}
