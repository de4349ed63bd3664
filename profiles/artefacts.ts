import type {
  AccessPolicy,
  CodeSystem,
  NamingSystem,
  OperationDefinition,
  StructureDefinition,
  ValueSet,
} from '@medplum/fhirtypes';
import type { BookingConfig } from '../core/config/config.ts';
import { isPublishedElsewhere } from '../core/config/presets.ts';
import { artefactUri } from '../core/fhir/artefacts.ts';
import { accessPolicies, type PolicyName } from './access-policies.ts';
import {
  absenceOperation,
  bookOperation,
  calendarFeedOperation,
  deliverOperation,
  findOperation,
  holdOperation,
  replyOperation,
  waitlistOperation,
} from './operations.ts';
import { profiles } from './profiles.ts';
import { buildStructureDefinition } from './structure-definition.ts';
import { type InternalSubscription, internalSubscriptions } from './subscriptions.ts';
import { codeSystems, namingSystems, valueSets } from './terminology.ts';

/** The resources that make up an installation, besides its Bots. None has an id: the server assigns it. */
export interface Artefacts {
  readonly codeSystems: readonly CodeSystem[];
  readonly valueSets: readonly ValueSet[];
  readonly namingSystems: readonly NamingSystem[];
  /** With differential and snapshot. */
  readonly structureDefinitions: readonly StructureDefinition[];
  readonly accessPolicies: Readonly<Record<PolicyName, AccessPolicy>>;
  /** Without references to Bots, which the deployment adds. */
  readonly operationDefinitions: readonly OperationDefinition[];
  /** Without the ids of Bots, which the deployment adds. */
  readonly subscriptions: readonly InternalSubscription[];
}

/**
 * The FHIR artefacts of an installation, with its URIs and names filled in. Profiles that a preset takes from a
 * specification (`isik`) are left out: their publisher's definition is authoritative.
 */
export function buildArtefacts(config: BookingConfig): Artefacts {
  return {
    codeSystems: codeSystems(config),
    valueSets: valueSets(config),
    namingSystems: namingSystems(config),
    structureDefinitions: profiles(config)
      .filter(({ artefact }) => !isPublishedElsewhere(artefactUri(config, artefact)))
      .map((profile) => buildStructureDefinition(profile, config)),
    accessPolicies: accessPolicies(config),
    operationDefinitions: [
      bookOperation(config),
      holdOperation(config),
      findOperation(config),
      waitlistOperation(config),
      replyOperation(config),
      calendarFeedOperation(config),
      absenceOperation(config),
      deliverOperation(config),
    ],
    subscriptions: internalSubscriptions(config),
  };
}
