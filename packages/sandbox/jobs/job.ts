import type { ResourceType } from '@medplum/fhirtypes';
import type { Interaction } from '../storage/change.ts';

/** One run of one Subscription for one version of a resource. */
export interface Job {
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly resourceType: ResourceType;
  readonly id: string;
  readonly versionId: string;
  readonly interaction: Interaction;
  /** Instant of the change, ISO 8601 in UTC. */
  readonly requestTime: string;
  readonly attemptsMade: number;
  /** Earliest time of the next run, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly notBefore: number;
}

/** A change of a job in the journal: due (again), or over. */
export type JobEvent = { readonly due: Job } | { readonly over: string };
