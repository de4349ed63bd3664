import type { CodeSystem, OperationDefinition, Resource, StructureDefinition, ValueSet } from '@medplum/fhirtypes';
import type { BotName } from '../../core/config/bots.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import type { Artefacts } from '../../profiles/artefacts.ts';
import { metadata } from '../../profiles/metadata.ts';
import { OPERATION_IMPLEMENTATION } from '../../profiles/operations.ts';
import { expanded } from '../../profiles/terminology.ts';
import { forValidation } from '../../profiles/validation-snapshot.ts';
import type { DesiredResource } from '../medplum/upsert.ts';

type Canonical = CodeSystem | OperationDefinition | StructureDefinition | ValueSet;

const byUrl = <T extends Canonical>(resource: T): DesiredResource<T> => ({
  resource,
  query: `url=${encodeURIComponent(resource.url ?? '')}`,
  label: `${resource.resourceType} ${resource.url}`,
});

const byName = <T extends Resource & { name?: string }>(resource: T): DesiredResource<T> => ({
  resource,
  query: `name:exact=${encodeURIComponent(resource.name ?? '')}`,
  label: `${resource.resourceType} ${resource.name}`,
});

/** The codes of a clinic's services are the clinic's: once the CodeSystem is there, its concepts stay. */
function keepConcepts(desired: CodeSystem, stored: Resource): CodeSystem {
  const isClinics = desired.useContext !== undefined && stored.resourceType === 'CodeSystem' && stored.concept;
  return isClinics ? { ...desired, concept: stored.concept } : desired;
}

const systemOf = ({ compose }: ValueSet): string | undefined => compose?.include[0]?.system;

const codesOf = ({ expansion }: ValueSet): string =>
  JSON.stringify(expansion?.contains?.map(({ system, code, display }) => [system, code, display]));

/** The expansion of a ValueSet follows the codes of the clinic; it stays as it is while those do. */
function expandAnew(desired: ValueSet, stored: Resource, others: readonly Resource[]): ValueSet {
  const codes = others.filter((one) => one.resourceType === 'CodeSystem').find(({ url }) => url === systemOf(desired));
  if (stored.resourceType !== 'ValueSet' || !codes?.concept) {
    return desired;
  }
  const anew = expanded(desired, codes, codes.meta?.lastUpdated ?? metadata.date);
  return stored.expansion && codesOf(anew) === codesOf(stored) ? { ...desired, expansion: stored.expansion } : anew;
}

/** What is deployed before the Bots: terminology, profiles, and last the AccessPolicies, in their given order. */
export function artefactsBeforeBots(artefacts: Artefacts): DesiredResource[] {
  return [
    ...artefacts.codeSystems.map((codeSystem) => generalise({ ...byUrl(codeSystem), merge: keepConcepts })),
    ...artefacts.valueSets.map((valueSet) => generalise({ ...byUrl(valueSet), merge: expandAnew })),
    ...artefacts.namingSystems.map((namingSystem) => generalise(byName(namingSystem))),
    ...artefacts.structureDefinitions.map((definition) => generalise(byUrl(forValidation(definition)))),
    ...Object.values(artefacts.accessPolicies).map((policy) => generalise(byName(policy))),
  ];
}

/** The operations, each with the Bot that carries it out. */
export function operations(artefacts: Artefacts, botIds: Readonly<Record<string, string>>): DesiredResource[] {
  return artefacts.operationDefinitions.map((operation) => {
    const id = botIds[operation.code];
    const extension = id && [{ url: OPERATION_IMPLEMENTATION, valueReference: { reference: `Bot/${id}` } }];
    return generalise(byUrl({ ...operation, ...(extension && { extension }) }));
  });
}

/**
 * The Subscriptions that start Bots, each with the id of its Bot; found again by their tag.
 *
 * @param authors - references to all whose writes count as the service's
 */
export function subscriptions(
  artefacts: Artefacts,
  botIds: Readonly<Partial<Record<BotName, string>>>,
  authors: readonly string[],
  config: BookingConfig,
): DesiredResource[] {
  return artefacts.subscriptions.map(({ name, bot, resource, extension }) => ({
    resource: {
      ...resource,
      channel: { ...resource.channel, endpoint: `Bot/${botIds[bot]}` },
      extension: extension(authors),
    },
    query: `_tag=${encodeURIComponent(`${artefactUri(config, 'LocalBot')}|${name}`)}`,
    label: `Subscription ${name}`,
  }));
}

/** A desired resource of one type among those of all types. */
function generalise<T extends Resource>({ resource, query, label, merge }: DesiredResource<T>): DesiredResource {
  return {
    resource,
    query,
    label,
    ...(merge && { merge: (_: Resource, stored, others) => merge(resource, stored, others) }),
  };
}
