import { evalFhirPath } from '@medplum/core';
import type { Patient, Resource, ResourceType } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { presets } from '../../core/config/presets.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';

/** A patient who has a number of the clinic: what gematik's profile of patients asks for. */
export const knownPatient: Patient = {
  resourceType: 'Patient',
  identifier: [
    {
      type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] },
      system: 'https://clinic.example/patients',
      value: '1',
    },
  ],
  name: [{ use: 'official', family: 'Muster', given: ['Kim'] }],
  gender: 'female',
  birthDate: '1990-05-17',
};

/** A stage of ISiK Terminplanung, by the name of its preset. */
type Stage = Exclude<keyof typeof presets, 'default'>;

const isStage = (name: string): name is Stage => name !== 'default' && Object.hasOwn(presets, name);

const oneOf = (name: string, values: readonly string[]): string =>
  `(${values.map((value) => `${name} = '${value}'`).join(' or ')})`;

const ihe = (name: string): string => `http://ihe-d.de/CodeSystems/${name}`;
const practiceSetting = oneOf('system', [ihe('AerztlicheFachrichtungen'), ihe('NichtaerztlicheFachrichtungen')]);
const authorSpecialty = oneOf('system', ['urn:oid:1.2.276.0.76.5.114', ihe('QualifikationenNichtAerztlicherAutoren')]);
const department = "system = 'http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel-erweitert'";

const specialties = (stage: Stage): string[] => [
  'specialty.all(coding.exists())',
  `specialty.all(coding.where(${practiceSetting}).count() ${stage === 'isik3' ? '<=' : '='} 1)`,
  `specialty.all(coding.where(${department}).count() <= 1)`,
  ...(stage === 'isik3' ? [`specialty.all(coding.where(${authorSpecialty}).count() <= 1)`] : []),
];

const REPLACES = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';
const base3 = 'https://gematik.de/fhir/isik/v3/Terminplanung';
const base = 'https://gematik.de/fhir/isik';
const message = (stage: Stage): string =>
  `${stage === 'isik3' ? base3 : base}/StructureDefinition/ISiKNachrichtExtension`;
const reasons = oneOf('code', ['pat', 'prov', 'maint', 'meds-inc', 'other']);
const reasonSystem = 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason';

/**
 * What gematik's profiles demand, in our words: FHIRPath that holds for what conforms. Read in the packages 3.1.1 of stage
 * 3, in 4.0.1 and in 5.0.0. Extensions of primitives are left out, because the engine does not see them.
 */
const statements: Readonly<Partial<Record<ResourceType, (stage: Stage) => readonly string[]>>> = {
  Appointment: (stage) => [
    'start.exists() and end.exists() and start <= end',
    'serviceType.exists()',
    'slot.all(reference.exists())',
    'participant.exists() and participant.all(actor.exists() and status.exists())',
    `meta.tag.where(system = 'http://fhir.de/CodeSystem/common-meta-tag-de').count() <= 1`,
    `extension.where(url = '${REPLACES}').count() <= 1`,
    `extension.where(url = '${REPLACES}').all(value is Reference)`,
    `cancelationReason.all(coding.where(system = '${reasonSystem}' and ${reasons}).exists())`,
    ...specialties(stage),
    ...(stage === 'isik3' || stage === 'isik4'
      ? [`extension.where(url = '${message(stage)}').all(value is Reference)`]
      : []),
    ...(stage === 'isik4' ? ['participant.all(actor.display.exists())'] : []),
  ],
  Schedule: (stage) => [
    'active.exists()',
    'serviceType.exists()',
    'specialty.exists()',
    'actor.all(reference.exists())',
    ...specialties(stage),
  ],
  Slot: () => ['schedule.reference.exists()', 'start <= end'],
  HealthcareService: (stage) => [
    'active.exists()',
    'name.exists()',
    'type.exists()',
    'specialty.exists()',
    ...specialties(stage),
  ],
  Patient: () => [
    `identifier.where(type.coding.where(system = 'http://terminology.hl7.org/CodeSystem/v2-0203' and code = 'MR').exists()).exists()`,
    'identifier.all(value.exists())',
    `name.where(use = 'official').count() = 1`,
    `name.where(use = 'official').all(family.exists() and given.exists())`,
    `name.where(use = 'maiden').count() <= 1`,
    'telecom.all(system.exists() and value.exists())',
    'gender.exists() and birthDate.exists()',
    `address.where(type = 'both' or type = 'postal').all(line.exists() and city.exists() and postalCode.exists() and country.exists() and district.empty())`,
  ],
  CodeSystem: () => [
    'url.exists() and version.exists() and name.exists()',
    'concept.exists()',
    'concept.all(display.exists())',
  ],
  ValueSet: () => [
    'url.exists() and version.exists() and name.exists()',
    `useContext.exists() and useContext.all(code.code = 'focus' and value is CodeableConcept)`,
    'expansion.contains.exists()',
    'expansion.contains.all(system.exists() and version.exists() and code.exists() and display.exists())',
  ],
};

/** The profiles that a resource is held against only if it claims them. */
const claimed = { Appointment: 'LocalTermin', Schedule: 'LocalSchedule', Patient: 'LocalPatient' } as const;

function isHeld({ resourceType, meta }: Resource, config: BookingConfig): boolean {
  const artefact = Object.entries(claimed).find(([type]) => type === resourceType)?.[1];
  return artefact === undefined || meta?.profile?.includes(artefactUri(config, artefact)) === true;
}

/**
 * What gematik's profiles forbid in a resource: the expressions that do not hold.
 *
 * @param preset - the name of a preset; nothing is said of `default`
 */
export function faultsIn(resource: Resource, preset: string, config: BookingConfig): string[] {
  const expressions = isStage(preset) && isHeld(resource, config) ? statements[resource.resourceType]?.(preset) : [];
  return (expressions ?? [])
    .filter((expression) => evalFhirPath(expression, resource)[0] !== true)
    .map((expression) => `${resource.resourceType}: ${expression}`);
}
