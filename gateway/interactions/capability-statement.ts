import { readFileSync } from 'node:fs';
import type {
  CapabilityStatement,
  CapabilityStatementRestResource,
  CapabilityStatementRestResourceSearchParam,
  Extension,
} from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri, isArtefact } from '../../core/fhir/artefacts.ts';
import { backport } from '../../core/fhir/backport.ts';
import { topicNames, topicUrl } from '../../core/notifications/subscription/topics.ts';
import { formats, JSON_PATCH } from '../http/formats.ts';
import { oauthEndpoints } from '../oauth/discovery.ts';
import { searchDefinitions } from '../search/parameters/definitions.ts';
import { commonSearchParameters, searchParameters } from '../search/parameters/parameters.ts';
import {
  type DefinitionType,
  definitionTypes,
  type OperationName,
  type ServedOperation,
  type ServedType,
  type ServedTypeName,
  servedOperations,
  servedTypeNames,
  servedTypes,
} from '../served-types.ts';

const packageFile: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The version of the service, as in `package.json`. */
export const serviceVersion = packageFile.version;

const SEARCH_PARAMETER = 'http://hl7.org/fhir/SearchParameter/';

function references(type: ServedTypeName, prefix: (type: string) => string): string[] {
  return Object.entries(searchParameters[type])
    .filter(([, { targets }]) => targets)
    .map(([name]) => `${prefix(type)}:${name}`);
}

/** `_include` and `_revinclude` values, from the search parameters that are references. */
function inclusions(type: ServedTypeName): Pick<CapabilityStatementRestResource, 'searchInclude' | 'searchRevInclude'> {
  const include = references(type, (name) => name);
  const reverse = servedTypeNames.flatMap((source) =>
    Object.entries(searchParameters[source])
      .filter(([, { targets }]) => targets?.includes(type))
      .map(([name]) => `${source}:${name}`),
  );
  return {
    ...(include.length > 0 && { searchInclude: include }),
    ...(reverse.length > 0 && { searchRevInclude: reverse }),
  };
}

function definitionOf(name: OperationName, config: BookingConfig): string {
  const { definition }: ServedOperation = servedOperations[name];
  return isArtefact(definition) ? artefactUri(config, definition) : definition;
}

/** The extensions of the backport IG that list the topics for Subscriptions. */
function topicExtensions(type: ServedTypeName, config: BookingConfig): Extension[] {
  return type === 'Subscription'
    ? topicNames.map((name) => ({ url: backport.topicCanonical, valueCanonical: topicUrl(name, config) }))
    : [];
}

/**
 * The parameters of a type with the publisher's or FHIR's definitions of them, and `_count`, which belongs to the
 * result.
 */
function searchParameterList(
  type: ServedTypeName,
  config: BookingConfig,
): CapabilityStatementRestResourceSearchParam[] {
  const parameters = Object.entries({ ...commonSearchParameters, ...searchParameters[type] });
  const filters = parameters.map(([name, parameter]) => {
    const id = searchDefinitions[type]?.[name] ?? searchDefinitions.Resource?.[name];
    const standard = id ? `${SEARCH_PARAMETER}${id}` : parameter.definition;
    const definition = config.searchDefinitions[`${type}.${name}`] ?? standard;
    return { name, ...(definition && { definition }), type: parameter.type };
  });
  return [...filters, { name: '_count', type: 'number' }];
}

/** The interactions, search parameters and operations of a type. */
function describeType(type: ServedTypeName, config: BookingConfig): CapabilityStatementRestResource {
  const { interactions, operations, profile, conditionalCreate }: ServedType = servedTypes[type];
  const supported = profile ? artefactUri(config, profile) : config.supportedProfiles[type];
  const extension = topicExtensions(type, config);
  return {
    type,
    ...(extension.length > 0 && { extension }),
    ...(supported && { supportedProfile: [supported] }),
    interaction: interactions.map((code) => ({ code })),
    versioning: 'versioned',
    readHistory: interactions.includes('history-instance'),
    ...(interactions.includes('update') && { updateCreate: false }),
    ...(conditionalCreate && { conditionalCreate }),
    conditionalRead: 'not-match',
    referencePolicy: ['literal'],
    ...inclusions(type),
    searchParam: searchParameterList(type, config),
    ...(operations && {
      operation: operations.map((name) => ({ name, definition: definitionOf(name, config) })),
    }),
  };
}

/** The profiles of the backport IG for the resources that notifications consist of. */
const notified = { Parameters: backport.statusR4, Bundle: backport.notificationR4 } as const;

/** The types and profiles that are sent in notifications but cannot be read or searched for. */
function describeNotified(config: BookingConfig): CapabilityStatementRestResource[] {
  return (['Parameters', 'Bundle'] as const).map((type) => ({
    type,
    supportedProfile: [config.supportedProfiles[type] ?? notified[type]],
  }));
}

/** The definitions that the statement itself names can be read, and searched for by canonical URL. */
const describeDefinitions = (type: DefinitionType): CapabilityStatementRestResource => ({
  type,
  interaction: [{ code: 'read' }, { code: 'search-type' }],
  versioning: 'versioned',
  readHistory: false,
  searchParam: [{ name: 'url', definition: `${SEARCH_PARAMETER}conformance-url`, type: 'uri' }],
});

/**
 * Builds the CapabilityStatement from the same tables as the routes and searches.
 *
 * @param date - the last change, as a FHIR dateTime
 * @see https://hl7.org/fhir/R4/capabilitystatement.html
 */
export function capabilityStatement(config: BookingConfig, date: string, cors = false): CapabilityStatement {
  const { token_endpoint } = oauthEndpoints(new URL(config.baseUrl));
  return {
    resourceType: 'CapabilityStatement',
    url: `${config.localBase}/CapabilityStatement/AppointmentBooking`,
    status: 'active',
    date,
    kind: 'instance',
    software: { name: 'Appointment booking for Medplum', version: serviceVersion },
    implementation: { description: 'Appointment repository with the operation $book', url: config.baseUrl },
    ...(config.instantiates.length > 0 && { instantiates: [...config.instantiates] }),
    fhirVersion: '4.0.1',
    format: formats.flatMap(({ name, mediaTypes }) => [mediaTypes[0], name]),
    patchFormat: [...formats.map(({ mediaTypes }) => mediaTypes[0]), JSON_PATCH],
    rest: [
      {
        mode: 'server',
        security: {
          cors,
          extension: [
            {
              url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris',
              extension: [{ url: 'token', valueUri: token_endpoint }],
            },
          ],
          service: ['SMART-on-FHIR', 'OAuth'].map((code) => ({
            coding: [{ system: 'http://terminology.hl7.org/CodeSystem/restful-security-service', code }],
          })),
        },
        resource: [
          ...servedTypeNames.map((type) => describeType(type, config)),
          ...definitionTypes.map(describeDefinitions),
          ...describeNotified(config),
        ],
        interaction: [{ code: 'batch' }],
      },
    ],
  };
}
