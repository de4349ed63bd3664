import {
  badRequest,
  deepEquals,
  evalFhirPath,
  forbidden,
  getSearchParameter,
  getSearchParameterDetails,
  isGone,
  isNotFound,
  isReference,
  isResource,
  isResourceWithId,
  isUUID,
  OperationOutcomeError,
  preconditionFailed,
  protectedResourceTypes,
  resolveId,
  type SearchRequest,
  stringify,
} from '@medplum/core';
import type { Meta, Reference, Resource, ResourceType } from '@medplum/fhirtypes';
import { restored } from '../access/fields.ts';
import { assertResourceType, assertSupports, isWriteable, permission } from '../access/permissions.ts';
import { runPreCommit } from '../jobs/pre-commit.ts';
import type { StoredResource, Write } from '../storage/change.ts';
import { resolveConditionalReferences } from './conditional-references.ts';
import type { RepositoryContext } from './context.ts';
import { patientParameters } from './definitions.ts';
import { readStored } from './read.ts';
import { validate } from './validation.ts';

function patientsOf(resource: StoredResource): string[] {
  const own = resource.resourceType === 'Patient' ? [`Patient/${resource.id}`] : [];
  const named = patientParameters(resource.resourceType).flatMap((code) => {
    const parameter = getSearchParameter(resource.resourceType, code);
    const details = parameter && getSearchParameterDetails(resource.resourceType, parameter);
    const values = details ? evalFhirPath(details.parsedExpression, resource) : [];
    return values.filter((value) => isReference(value)).map(({ reference }) => reference);
  });
  return [...own, ...named.filter((reference) => reference.startsWith('Patient/'))];
}

/** The references in `meta.compartment`: the project, and the patients of the resource. */
function compartmentsOf(resource: StoredResource, project: string | undefined): Reference[] {
  const patients = patientsOf(resource).filter((reference) => isUUID(reference.slice('Patient/'.length)));
  const references = new Set([...(project ? [`Project/${project}`] : []), ...patients]);
  return [...references].map((reference) => ({ reference }));
}

/** Medplum's `defaultMaxUserWebSocketSubscriptions`. */
const MAX_BOUND_SUBSCRIPTIONS = 20;

/**
 * Throws if a caller that adds a Subscription over websockets has too many of them bound. Unbound ones do not count.
 *
 * @throws OperationOutcomeError (400)
 */
function assertBelowLimit({ platform, caller }: RepositoryContext, resource: StoredResource): void {
  if (resource.resourceType !== 'Subscription' || resource.channel.type !== 'websocket') {
    return;
  }
  if (platform.boundSubscriptions(caller.author.reference ?? '') >= MAX_BOUND_SUBSCRIPTIONS) {
    const text = `User has exceeded allotted maximum number of concurrent WebSocket subscriptions: ${MAX_BOUND_SUBSCRIPTIONS}`;
    throw new OperationOutcomeError(badRequest(text));
  }
}

interface WriteOptions {
  readonly isNew: boolean;
  readonly ifMatch?: string | undefined;
  /** Searches the targets of conditional references with the caller's rights. */
  readonly search: (request: SearchRequest) => Promise<readonly Resource[]>;
}

function admitted(context: RepositoryContext, resource: Resource, isNew: boolean): StoredResource {
  if (!isResourceWithId(resource)) {
    throw new OperationOutcomeError(badRequest('Missing id'));
  }
  if (!isUUID(resource.id)) {
    throw new OperationOutcomeError(badRequest('Invalid id'));
  }
  assertResourceType(resource.resourceType);
  assertSupports(context.caller, isNew ? 'create' : 'update', resource.resourceType);
  return resource;
}

/** An update restores a deleted resource; only the server itself may choose the id of a new one. */
function existingVersion(context: RepositoryContext, type: ResourceType, id: string): StoredResource | undefined {
  try {
    return readStored(context, type, id);
  } catch (error) {
    const outcome = error instanceof OperationOutcomeError ? error.outcome : undefined;
    if (outcome && (isGone(outcome) || (isNotFound(outcome) && context.caller.isSystem))) {
      return undefined;
    }
    throw error;
  }
}

function assertUpdatable(context: RepositoryContext, existing: StoredResource, ifMatch: string | undefined): void {
  if (!permission(context.caller, 'update', existing)) {
    throw new OperationOutcomeError(forbidden);
  }
  if (ifMatch && existing.meta?.versionId !== ifMatch) {
    throw new OperationOutcomeError(preconditionFailed);
  }
}

function projectOf(
  { caller }: RepositoryContext,
  resource: StoredResource,
  existing: StoredResource | undefined,
): string | undefined {
  if (resource.resourceType === 'Project') {
    return resource.id;
  }
  if (resource.resourceType === 'ProjectMembership') {
    return resolveId(resource.project);
  }
  if (protectedResourceTypes.includes(resource.resourceType)) {
    return undefined;
  }
  const submitted = caller.isSystem ? resource.meta?.project : undefined;
  return submitted ?? existing?.meta?.project ?? caller.project?.id;
}

function stamped(
  context: RepositoryContext,
  resource: StoredResource,
  existing: StoredResource | undefined,
): StoredResource {
  const { platform, caller } = context;
  const { onBehalfOf, deleted, account, accounts, compartment, ...submitted } = resource.meta ?? {};
  const project = projectOf(context, resource, existing);
  const meta: Meta = {
    ...submitted,
    versionId: platform.newId(),
    lastUpdated: platform.now().toISOString(),
    author: caller.author,
    project,
  };
  const result = { ...resource, meta };
  return { ...result, meta: { ...meta, compartment: compartmentsOf(result, project) } };
}

/** Attachments are stored with a reference to the Binary instead of its URL. */
function withBinaryReferences(context: RepositoryContext, resource: StoredResource): StoredResource {
  const address = `"url":"${context.platform.baseUrl()}fhir/R4/Binary/`;
  const json = JSON.stringify(resource);
  return json.includes(address) ? JSON.parse(json.replaceAll(address, '"url":"Binary/')) : resource;
}

/** A pre-commit Bot may return a changed resource, which is written instead. */
function rewritten(context: RepositoryContext, answer: unknown, resource: StoredResource, isNew: boolean) {
  const isRewritten = isResource(answer, resource.resourceType) && answer.id === resource.id;
  return isRewritten ? admitted(context, answer, isNew) : resource;
}

function versionOf(resource: StoredResource): Write {
  const { versionId = '', lastUpdated = '' } = resource.meta ?? {};
  return { type: resource.resourceType, id: resource.id, versionId, lastUpdated, resource };
}

/**
 * Creates or updates a resource, in the same order as Medplum: rights, pre-commit Bot, existing version, `If-Match`,
 * read-only fields, `meta`, validation, check for changes, rights to the result.
 *
 * @returns the new version, or the current one if nothing has changed
 * @throws OperationOutcomeError: 400, 403, 404, 412, or the error of a pre-commit Bot
 */
export async function writeResource(
  context: RepositoryContext,
  input: Resource,
  { isNew, ifMatch, search }: WriteOptions,
): Promise<StoredResource> {
  const submitted = admitted(context, input, isNew);
  const answer = await runPreCommit(context, submitted, 'update');
  const candidate = rewritten(context, answer, submitted, isNew);
  const existing = isNew ? undefined : existingVersion(context, candidate.resourceType, candidate.id);
  if (existing) {
    assertUpdatable(context, existing, ifMatch);
  }
  const writable = withBinaryReferences(context, restored(context.caller, candidate, existing));
  const result = stamped(context, await resolveConditionalReferences(writable, search), existing);
  validate(context.unit, result);
  if (isNew) {
    assertBelowLimit(context, result);
  }
  const clean: StoredResource = JSON.parse(stringify(result));
  if (existing && deepEquals(existing, clean)) {
    return existing;
  }
  const interaction = isNew ? 'create' : 'update';
  if (!isWriteable(context.caller, interaction, existing, clean)) {
    throw new OperationOutcomeError(forbidden);
  }
  await context.unit.write({
    write: versionOf(clean),
    interaction,
    ...(existing && { previous: versionOf(existing) }),
  });
  return clean;
}

/**
 * Deletes a resource. Deleting a deleted resource is allowed.
 *
 * @throws OperationOutcomeError: 403, 404, or the error of a pre-commit Bot
 */
export async function deleteStored(context: RepositoryContext, type: string, id: string): Promise<void> {
  let existing: StoredResource;
  try {
    existing = readStored(context, type, id);
  } catch (error) {
    if (error instanceof OperationOutcomeError && isGone(error.outcome)) {
      return;
    }
    throw error;
  }
  if (!permission(context.caller, 'delete', existing)) {
    throw new OperationOutcomeError(forbidden);
  }
  await runPreCommit(context, existing, 'delete');
  const { platform, unit } = context;
  const { resourceType, meta } = existing;
  const lastUpdated = platform.now().toISOString();
  const project = meta?.project;
  await unit.write({
    write: { type: resourceType, id, versionId: platform.newId(), lastUpdated, ...(project && { project }) },
    interaction: 'delete',
    previous: versionOf(existing),
  });
}
