import type { CodeSystem, OperationDefinition, Resource, StructureDefinition, ValueSet } from '@medplum/fhirtypes';
import type { BotName } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
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

/** Whether the clinic maintains the codes, such as those of its services. */
const isClinics = ({ useContext }: CodeSystem): boolean => useContext !== undefined;

/** A stored CodeSystem of the clinic keeps its concepts. */
function keepConcepts(desired: CodeSystem, stored: Resource): CodeSystem {
  return stored.resourceType === 'CodeSystem' && stored.concept ? { ...desired, concept: stored.concept } : desired;
}

const systemOf = ({ compose }: ValueSet): string | undefined => compose?.include[0]?.system;

const codesOf = ({ expansion }: ValueSet): string =>
  JSON.stringify(expansion?.contains?.map(({ system, code, display }) => [system, code, display]));

/** The expansion of a ValueSet contains the codes of the clinic. It stays unchanged until they change. */
function expandAnew(desired: ValueSet, stored: Resource, others: readonly Resource[]): ValueSet {
  const codes = others
    .filter((resource) => resource.resourceType === 'CodeSystem')
    .find(({ url }) => url === systemOf(desired));
  if (stored.resourceType !== 'ValueSet' || !codes?.concept) {
    return desired;
  }
  const again = expanded(desired, codes, codes.meta?.lastUpdated ?? metadata.date);
  return stored.expansion && codesOf(again) === codesOf(stored) ? { ...desired, expansion: stored.expansion } : again;
}

/**
 * The artefacts that are deployed before the Bots: terminology, profiles, and last the AccessPolicies in the given
 * order.
 *
 * @param stored - the form in which profiles are stored
 */
export function artefactsBeforeBots(artefacts: Artefacts, stored = forValidation): DesiredResource[] {
  return [
    ...artefacts.codeSystems.map((codeSystem) =>
      generalise({ ...byUrl(codeSystem), ...(isClinics(codeSystem) && { merge: keepConcepts }) }),
    ),
    ...artefacts.valueSets.map((valueSet) => generalise({ ...byUrl(valueSet), merge: expandAnew })),
    ...artefacts.namingSystems.map((namingSystem) => generalise(byName(namingSystem))),
    ...artefacts.structureDefinitions.map((definition) => generalise(byUrl(stored(definition)))),
    ...Object.values(artefacts.accessPolicies).map((policy) => generalise(byName(policy))),
  ];
}

type BotReferences = Readonly<Partial<Record<BotName, string>>>;

/** The operations, each with its Bot. */
export function operations(artefacts: Artefacts, bots: BotReferences): DesiredResource[] {
  const references: Readonly<Record<string, string>> = bots;
  return artefacts.operationDefinitions.map((operation) => {
    const reference = references[operation.code];
    const extension = reference && [{ url: OPERATION_IMPLEMENTATION, valueReference: { reference } }];
    return generalise(byUrl({ ...operation, ...(extension && { extension }) }));
  });
}

/**
 * The Subscriptions that start Bots, each with its Bot. A tag identifies each.
 *
 * @param isOurs - expression for writes of the service
 */
export function subscriptions(
  artefacts: Artefacts,
  bots: BotReferences,
  isOurs: string,
  config: BookingConfig,
): DesiredResource[] {
  return artefacts.subscriptions.map(({ name, bot, resource, extension }) => ({
    resource: {
      ...resource,
      channel: { ...resource.channel, ...(bots[bot] && { endpoint: bots[bot] }) },
      extension: extension(isOurs),
    },
    query: `_tag=${encodeURIComponent(`${artefactUri(config, 'LocalBot')}|${name}`)}`,
    label: `Subscription ${name}`,
  }));
}

function generalise<T extends Resource>({ resource, query, label, merge }: DesiredResource<T>): DesiredResource {
  return {
    resource,
    query,
    label,
    ...(merge && { merge: (_: Resource, stored, others) => merge(resource, stored, others) }),
  };
}
