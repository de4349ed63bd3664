import { getSearchParameters } from '@medplum/core';
import type { CapabilityStatement, CapabilityStatementRestResource, ResourceType } from '@medplum/fhirtypes';

/** The types that this server is asked about; others can be stored and searched as well. */
const types: readonly ResourceType[] = [
  'Appointment',
  'CodeSystem',
  'HealthcareService',
  'Location',
  'Organization',
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'Questionnaire',
  'QuestionnaireResponse',
  'RelatedPerson',
  'Schedule',
  'Slot',
  'StructureDefinition',
  'Subscription',
  'Task',
  'ValueSet',
];

const interactions = [
  'create',
  'read',
  'update',
  'patch',
  'delete',
  'search-type',
  'vread',
  'history-instance',
] as const;

function describe(type: ResourceType): CapabilityStatementRestResource {
  return {
    type,
    profile: `http://hl7.org/fhir/StructureDefinition/${type}`,
    interaction: interactions.map((code) => ({ code })),
    versioning: 'versioned',
    readHistory: true,
    updateCreate: false,
    conditionalCreate: true,
    conditionalUpdate: true,
    conditionalDelete: 'single',
    searchParam: Object.values(getSearchParameters(type) ?? {}).flatMap(({ code, type: kind }) =>
      kind === 'composite' ? [] : [{ name: code, type: kind }],
    ),
  };
}

/**
 * What the server says of itself at `/fhir/R4/metadata`.
 *
 * @param baseUrl - of the server, with a slash at its end
 * @param date - when it was started
 * @see https://hl7.org/fhir/R4/capabilitystatement.html
 */
export function capabilityStatement(baseUrl: string, date: Date): CapabilityStatement {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: date.toISOString(),
    kind: 'instance',
    software: { name: 'Embedded stand-in for Medplum' },
    implementation: { description: 'Embedded stand-in for Medplum', url: `${baseUrl}fhir/R4/` },
    fhirVersion: '4.0.1',
    format: ['json'],
    patchFormat: ['application/json-patch+json', 'application/fhir+json'],
    rest: [
      {
        mode: 'server',
        resource: types.map(describe),
        interaction: [{ code: 'batch' }, { code: 'transaction' }],
        security: { cors: false },
      },
    ],
  };
}
