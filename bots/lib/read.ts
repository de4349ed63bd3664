import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, ExtractResource, Resource, ResourceType } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';

/** The resources that one search or history gave. */
function resourcesIn({ resource }: BundleEntry): Resource[] {
  if (!isResource(resource, 'Bundle')) {
    return resource ? [resource] : [];
  }
  return (resource.entry ?? []).flatMap((entry) => entry.resource ?? []);
}

async function read(medplum: MedplumClient, type: 'batch' | 'transaction', urls: readonly string[]) {
  if (urls.length === 0) {
    return [];
  }
  const entry = urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
  const answer = await medplum.executeBatch({ resourceType: 'Bundle', type, entry });
  const answers = answer.entry ?? [];
  if (answers.length !== urls.length || answers.some(({ response }) => !response?.status.startsWith('2'))) {
    throw new Error('The server did not answer everything that was asked.');
  }
  return answers.map(resourcesIn);
}

/**
 * Reads several searches as they were at one moment: they go in one transaction. It is for searches that include
 * nothing: what a transaction reads by id, includes or takes from a history, Medplum 5.0 puts into its cache when it
 * ends, whatever others have written meanwhile. Resources carry their authors (Medplum's extended mode).
 *
 * @param urls - relative to the FHIR base address
 * @returns the resources that each of them gave
 * @throws Error when the server does not answer or refuses one of them
 */
export const readInTransaction = (medplum: MedplumClient, urls: readonly string[]): Promise<Resource[][]> =>
  read(medplum, 'transaction', urls);

/**
 * Reads several searches and histories, each by itself. Resources carry their authors (Medplum's extended mode).
 *
 * @param urls - relative to the FHIR base address
 * @returns the resources that each of them gave
 * @throws Error when the server does not answer or refuses one of them
 */
export const readInBatch = (medplum: MedplumClient, urls: readonly string[]): Promise<Resource[][]> =>
  read(medplum, 'batch', urls);

/** The resources of one type among others. */
export function ofType<T extends ResourceType>(type: T, resources: readonly Resource[] = []): ExtractResource<T>[] {
  return resources.flatMap((resource) => (isResource(resource, type) ? [resource] : []));
}
