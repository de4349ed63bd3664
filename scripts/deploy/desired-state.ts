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

/** Whether the codes are the clinic's: those of its services, for instance. */
const isClinics = ({ useContext }: CodeSystem): boolean => useContext !== undefined;

/** Once the CodeSystem of the clinic is there, its concepts stay. */
function keepConcepts(desired: CodeSystem, stored: Resource): CodeSystem {
  return stored.resourceType === 'CodeSystem' && stored.concept ? { ...desired, concept: stored.concept } : desired;
}

const systemOf = ({ compose }: ValueSet): string | undefined => compose?.include[0]?.system;

const codesOf = ({ expansion }: ValueSet): string =>
  JSON.stringify(expansion?.contains?.map(({ system, code, display }) => [system, code, display]));

/** The expansion of a ValueSet follows the codes of the clinic; it stays as it is while those do. */
function expandAnew(desired: ValueSet, stored: Resource, others: readonly Resource[]): ValueSet {
  const codes = others
    .filter((resource) => resource.resourceType === 'CodeSystem')
    .find(({ url }) => url === systemOf(desired));
  if (stored.resourceType !== 'ValueSet' || !codes?.concept) {
    return desired;
  }
  const anew = expanded(desired, codes, codes.meta?.lastUpdated ?? metadata.date);
  return stored.expansion && codesOf(anew) === codesOf(stored) ? { ...desired, expansion: stored.expansion } : anew;
}

/**
 * What is deployed before the Bots: terminology, profiles, and last the AccessPolicies, in their given order.
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

/** References to the Bots that exist. */
type BotReferences = Readonly<Partial<Record<BotName, string>>>;

/** The operations, each with the Bot that carries it out. */
export function operations(artefacts: Artefacts, bots: BotReferences): DesiredResource[] {
  const references: Readonly<Record<string, string>> = bots;
  return artefacts.operationDefinitions.map((operation) => {
    const reference = references[operation.code];
    const extension = reference && [{ url: OPERATION_IMPLEMENTATION, valueReference: { reference } }];
    return generalise(byUrl({ ...operation, ...(extension && { extension }) }));
  });
}

/**
 * The Subscriptions that start Bots, each with its Bot; found again by their tag.
 *
 * @param isOurs - expression for what the service has written
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

/** A desired resource of one type among those of all types. */
function generalise<T extends Resource>({ resource, query, label, merge }: DesiredResource<T>): DesiredResource {
  return {
    resource,
    query,
    label,
    ...(merge && { merge: (_: Resource, stored, others) => merge(resource, stored, others) }),
  };
}
