import {
  badRequest,
  getDataType,
  normalizeOperationOutcome,
  type Operation,
  OperationOutcomeError,
  parseReference,
  type SearchRequest,
  sleep,
  subsetResource,
  type WithId,
} from '@medplum/core';
import {
  type CreateResourceOptions,
  FhirRepository,
  getExtraEntries,
  type ReadHistoryOptions,
  type UpdateResourceOptions,
} from '@medplum/fhir-router';
import type { Bundle, BundleEntry, Parameters, Reference, Resource } from '@medplum/fhirtypes';
import { visible } from '../access/fields.ts';
import { readable } from '../access/permissions.ts';
import type { Caller, Platform } from '../platform.ts';
import { type SearchResult, search } from '../search/search.ts';
import type { SearchSource } from '../search/source.ts';
import type { StoredResource } from '../storage/change.ts';
import {
  beginTransaction,
  isSerializationConflict,
  type Transaction,
  type UnitOfWork,
} from '../storage/unit-of-work.ts';
import { type RepositoryContext, searchSource } from './context.ts';
import { patched } from './patch.ts';
import { readHistory, readReferenced, readStored, readVersion } from './read.ts';
import { deleteStored, writeResource } from './write.ts';

/** The store keeps resources by type, so that the type of a read is the type of its result. */
function typed<T extends Resource>(resource: StoredResource): WithId<T> {
  return resource as WithId<T>;
}

/** Milliseconds before Medplum runs a conflicting transaction a second time. */
const retryDelay = 50;
const transactionAttempts = 2;

function shortened(resource: StoredResource, { fields, summary }: SearchRequest): StoredResource {
  if (!fields && !summary) {
    return resource;
  }
  const { mandatoryProperties = [], summaryProperties = [] } = getDataType(resource.resourceType);
  const summaries: Record<NonNullable<typeof summary>, string[]> = {
    data: Object.keys(resource).filter((name) => name !== 'text'),
    text: ['text', ...mandatoryProperties],
    true: [...summaryProperties],
  };
  const kept = fields ? [...mandatoryProperties, ...fields] : summary ? summaries[summary] : [];
  return subsetResource({ ...resource }, kept) ?? resource;
}

/**
 * Fingerprint of a search result, by which a serializable transaction notices resources that another one creates,
 * deletes or moves out of the result. As in PostgreSQL, changes by a transaction that is not serializable do
 * not make it fail.
 */
function fingerprint({ resources }: SearchResult): string {
  return resources
    .map(({ id }) => id)
    .sort()
    .join();
}

/**
 * The repository of `@medplum/fhir-router`: one caller's view of the store. Its errors and versions are those of
 * Medplum's own repository.
 */
export class SandboxRepository extends FhirRepository {
  private readonly platform: Platform;
  readonly caller: Caller;
  private readonly unit: UnitOfWork;
  private readonly transaction: Transaction | undefined;
  private readonly isSerializable: boolean;

  constructor(platform: Platform, caller: Caller, transaction?: Transaction, isSerializable = false) {
    super();
    this.platform = platform;
    this.caller = caller;
    this.transaction = transaction;
    this.unit = transaction ?? platform.unit;
    this.isSerializable = isSerializable;
  }

  private get context(): RepositoryContext {
    return { platform: this.platform, caller: this.caller, unit: this.unit };
  }

  private show<T extends Resource>(resource: StoredResource): WithId<T> {
    return typed<T>(visible(this.caller, resource));
  }

  private async write(resource: Resource, isNew: boolean, ifMatch?: string): Promise<StoredResource> {
    const find = (request: SearchRequest): Promise<readonly Resource[]> => this.searchResources(request);
    return writeResource(this.context, resource, { isNew, ifMatch, search: find });
  }

  get scheduling(): Platform['scheduling'] {
    return this.platform.scheduling;
  }

  setMode(): void {
    // There is one store for readers and writers.
  }

  generateId(): string {
    return this.platform.newId();
  }

  async createResource<T extends Resource>(resource: T, options?: CreateResourceOptions): Promise<WithId<T>> {
    const id = options?.assignedId && resource.id ? resource.id : this.generateId();
    if (this.unit.find(resource.resourceType, id)) {
      throw new OperationOutcomeError(badRequest('Assigned ID is already in use'));
    }
    return this.show<T>(await this.write({ ...resource, id }, true));
  }

  async updateResource<T extends Resource>(resource: T, options?: UpdateResourceOptions): Promise<WithId<T>> {
    const ifMatch = options?.ifMatch;
    if (!ifMatch || this.transaction) {
      return this.show<T>(await this.write(resource, false, ifMatch));
    }
    return this.withTransaction(async (repository) =>
      repository.show<T>(await repository.write(resource, false, ifMatch)),
    );
  }

  async patchResource<T extends Resource>(
    resourceType: T['resourceType'],
    id: string,
    patch: Operation[] | Parameters,
  ): Promise<WithId<T>> {
    if (!this.transaction) {
      return this.withTransaction((repository) => repository.patchResource<T>(resourceType, id, patch));
    }
    const current = readStored(this.context, resourceType, id);
    return this.show<T>(await this.write(patched(current, patch), false));
  }

  async deleteResource(resourceType: string, id: string): Promise<void> {
    await deleteStored(this.context, resourceType, id);
  }

  async readResource<T extends Resource>(resourceType: string, id: string): Promise<WithId<T>> {
    return this.show<T>(readStored(this.context, resourceType, id));
  }

  async readReference<T extends Resource>(reference: Reference<T>): Promise<WithId<T>> {
    let parts: [string, string];
    try {
      parts = parseReference(reference);
    } catch {
      throw new OperationOutcomeError(badRequest('Invalid reference'));
    }
    return this.readResource<T>(...parts);
  }

  async readReferences<T extends Resource>(references: readonly Reference<T>[]): Promise<(WithId<T> | Error)[]> {
    return references.map((reference) => {
      const found = readReferenced(this.context, reference);
      return found instanceof Error ? found : typed<T>(found);
    });
  }

  async readHistory<T extends Resource>(
    resourceType: string,
    id: string,
    options?: ReadHistoryOptions,
  ): Promise<Bundle<WithId<T>>> {
    return readHistory(this.context, resourceType, id, options ?? {}) as Bundle<WithId<T>>;
  }

  async readVersion<T extends Resource>(resourceType: string, id: string, versionId: string): Promise<WithId<T>> {
    return typed<T>(readVersion(this.context, resourceType, id, versionId));
  }

  private find(request: SearchRequest, unit: UnitOfWork): SearchResult {
    const source: SearchSource = searchSource({ ...this.context, unit });
    const types = request.types ?? [request.resourceType];
    const included = [...(request.include ?? []), ...(request.revInclude ?? [])].map((target) => target.resourceType);
    for (const type of [...types, ...included]) {
      source.assertSearchable(type);
    }
    return search(source, request, (type) => readable(source, this.caller, type, 'search'), this.platform.baseUrl());
  }

  async search<T extends Resource>(request: SearchRequest<T>): Promise<Bundle<WithId<T>>> {
    const result = this.find(request, this.unit);
    if (this.isSerializable) {
      const seen = fingerprint(result);
      this.unit.guard(async (current) => fingerprint(this.find(request, current)) === seen);
    }
    const fullUrl = (type: string, id: string): string => `${this.platform.baseUrl()}fhir/R4/${type}/${id}`;
    const entry: BundleEntry[] = result.resources.map((resource) => ({
      fullUrl: fullUrl(resource.resourceType, resource.id),
      search: { mode: 'match' },
      resource: visible(this.caller, resource),
    }));
    if (request.include || request.revInclude) {
      // The type after an inclusion (`Type:parameter:Target`) is ignored, as in Medplum.
      const include = request.include?.map(({ targetType: _, ...one }) => one);
      await getExtraEntries(
        this,
        { ...request, ...(include && { include }) },
        result.resources.map((resource) => typed<T>(resource)),
        entry,
        { fullUrl },
      );
    }
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      ...((request.count ?? 1) > 0 && {
        entry: entry.map((item) => ({ ...item, resource: shortened(typed(item.resource as StoredResource), request) })),
      }),
      total: result.total,
      link: result.link,
    } as Bundle<WithId<T>>;
  }

  async searchByReference<T extends Resource>(
    request: SearchRequest<T>,
    referenceField: string,
    references: string[],
  ): Promise<Record<string, WithId<T>[]>> {
    const found: Record<string, WithId<T>[]> = {};
    for (const value of references) {
      const filters = [...(request.filters ?? []), { code: referenceField, operator: 'eq' as const, value }];
      found[value] = await this.searchResources({ ...request, filters });
    }
    return found;
  }

  private async nested<TResult>(
    transaction: Transaction,
    callback: (repository: this) => Promise<TResult>,
  ): Promise<TResult> {
    const savepoint = transaction.savepoint();
    try {
      return await callback(this);
    } catch (error) {
      transaction.rollback(savepoint);
      throw error;
    }
  }

  private async attempt<TResult>(callback: (repository: this) => Promise<TResult>, serializable: boolean) {
    const transaction = beginTransaction(this.platform.store, this.platform.commit, this.platform.announce);
    const repository = new SandboxRepository(this.platform, this.caller, transaction, serializable) as this;
    const result = await callback(repository);
    await transaction.commit();
    return result;
  }

  async withTransaction<TResult>(
    callback: (repository: this) => Promise<TResult>,
    options?: { serializable?: boolean },
  ): Promise<TResult> {
    if (this.transaction) {
      return this.nested(this.transaction, callback);
    }
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(callback, Boolean(options?.serializable));
      } catch (error) {
        if (attempt === transactionAttempts || !isSerializationConflict(error)) {
          throw new OperationOutcomeError(normalizeOperationOutcome(error));
        }
        await sleep(retryDelay * (0.75 + Math.random() * 0.5));
      }
    }
  }
}
