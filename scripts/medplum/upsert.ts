import { deepEquals, isOk, isOperationOutcome, type WithId } from '@medplum/core';
import type { BundleEntry, OperationOutcome, Resource } from '@medplum/fhirtypes';
import type { Connection } from './connect.ts';
import { runWithinRateLimit } from './rate-limit-retry.ts';
import type { Change, Report } from './report.ts';

/** Compared content: without id and meta, which the server assigns. */
function content(resource: Resource): unknown {
  const { id: _id, meta: _meta, ...rest } = resource;
  return JSON.parse(JSON.stringify(rest));
}

/** Whether a stored resource has the desired content. Ids, versions and other metadata do not count. */
export function hasContent(stored: Resource, desired: Resource): boolean {
  return deepEquals(content(stored), content(desired));
}

/** A resource of the installation. */
export interface DesiredResource<T extends Resource = Resource> {
  readonly resource: T;
  /** Search for the stored one, without the type: `url=…`. */
  readonly query: string;
  readonly label: string;
  /** Keeps changes that others may have made in the stored one, or in other deployed resources; by default none. */
  readonly merge?: (desired: T, stored: Resource, others: readonly Resource[]) => T;
}

interface Step {
  readonly desired: DesiredResource;
  readonly change: Exclude<Change, 'removed'>;
  readonly stored?: WithId<Resource>;
  readonly resource: Resource;
}

function hasId(resource: Resource | undefined): resource is WithId<Resource> {
  return typeof resource?.id === 'string';
}

function outcomeText(outcome: OperationOutcome | undefined): string {
  return outcome?.issue.map(({ details, diagnostics }) => details?.text ?? diagnostics).join('; ') ?? 'no reason given';
}

/**
 * Runs a batch.
 *
 * @param labels - the name of each entry in error messages
 * @returns the responses to the entries, in their order
 * @throws Error naming the entry that the server refuses
 */
async function runBatch({ medplum }: Connection, entry: BundleEntry[], labels: string[]): Promise<BundleEntry[]> {
  if (entry.length === 0) {
    return [];
  }
  const answers = await runWithinRateLimit(entry, async (entries) => {
    const answer = await medplum.executeBatch({ resourceType: 'Bundle', type: 'batch', entry: entries });
    return answer.entry ?? [];
  });
  answers.forEach(({ response }, index) => {
    const outcome = isOperationOutcome(response?.outcome) ? response.outcome : undefined;
    if (!response?.status.startsWith('2') || (outcome && !isOk(outcome))) {
      throw new Error(`${labels[index]} was refused by the server (${response?.status}): ${outcomeText(outcome)}`);
    }
  });
  return answers;
}

function hitsOf({ resource }: BundleEntry): WithId<Resource>[] {
  const hits = resource?.resourceType === 'Bundle' ? (resource.entry ?? []).map((entry) => entry.resource) : [];
  return hits.filter(hasId);
}

function plan(desired: DesiredResource, hits: readonly WithId<Resource>[], resources: readonly Resource[]): Step {
  const [stored, ...others] = hits;
  if (others.length > 0) {
    throw new Error(`${desired.label} exists ${hits.length} times. Delete all but one, then deploy again.`);
  }
  if (!stored) {
    return { desired, change: 'created', resource: desired.resource };
  }
  const resource = desired.merge?.(desired.resource, stored, resources) ?? desired.resource;
  return { desired, stored, resource, change: hasContent(stored, resource) ? 'unchanged' : 'updated' };
}

/** Another deployment may create the same resource at this moment. */
function toEntry({ stored, resource, desired: { query } }: Step): BundleEntry {
  const type = resource.resourceType;
  return stored
    ? {
        resource: { ...resource, id: stored.id, meta: stored.meta },
        request: { method: 'PUT', url: `${type}/${stored.id}` },
      }
    : { resource, request: { method: 'POST', url: type, ifNoneExist: query } };
}

async function planAll(connection: Connection, desiredResources: readonly DesiredResource[]): Promise<Step[]> {
  const searches = desiredResources.map(
    ({ resource, query }): BundleEntry => ({ request: { method: 'GET', url: `${resource.resourceType}?${query}` } }),
  );
  const found = await runBatch(
    connection,
    searches,
    desiredResources.map(({ label }) => label),
  );
  const hits = found.map(hitsOf);
  return desiredResources.map((desired, index) => plan(desired, hits[index] ?? [], hits.flat()));
}

/**
 * Creates missing resources and updates different ones, with one batch that searches and one that writes.
 *
 * @returns the ids, in the order of `desiredResources`; in a dry run `undefined` for missing resources
 * @throws Error naming the resource that the server refuses, or that exists more than once
 */
export async function upsert(
  connection: Connection,
  desiredResources: readonly DesiredResource[],
  report: Report,
  dryRun = false,
): Promise<(string | undefined)[]> {
  const steps = await planAll(connection, desiredResources);
  const writes = dryRun ? [] : steps.filter(({ change }) => change !== 'unchanged');
  const written = await runBatch(
    connection,
    writes.map(toEntry),
    writes.map(({ desired }) => desired.label),
  );
  return steps.map((step) => {
    report.note(step.change, step.desired.label);
    return step.stored?.id ?? written[writes.indexOf(step)]?.resource?.id;
  });
}
