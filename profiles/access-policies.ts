import type { AccessPolicy, AccessPolicyResource, ResourceType } from '@medplum/fhirtypes';
import { type BotName, callableBots as callable } from '../core/config/bots.ts';
import { type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import { artefactUri } from '../core/fhir/artefacts.ts';
import { NARRATIVE_PATTERN } from '../core/fhir/narrative/narrative-pattern.ts';
import { codesWhere, rowCodes } from '../core/rows/row.ts';

/** The AccessPolicies of the service, by the names that the deployment uses for them. */
export type PolicyName = 'requestor' | 'consumer' | 'front-desk' | 'bots';

type Interaction = NonNullable<AccessPolicyResource['interaction']>[number];

const look: Interaction[] = ['read', 'search'];
const readVersions: Interaction[] = ['read', 'search', 'vread', 'history'];
const write: Interaction[] = ['create', 'update'];

/** Types that a requestor reads to find bookable slots; the same for all requestors. */
const discovery: readonly ResourceType[] = [
  'CodeSystem',
  'HealthcareService',
  'Location',
  'OperationDefinition',
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Questionnaire',
  'Schedule',
  'ValueSet',
];

/** Portals see the times of the clinic. The comment stays hidden: it may say why somebody is absent. */
const slots: AccessPolicyResource = { resourceType: 'Slot', interaction: look, hiddenFields: ['comment'] };

/** Types that a booking writes for a requestor; only the Bots may write them. */
const written: readonly ResourceType[] = ['Appointment', 'QuestionnaireResponse', 'RelatedPerson'];

/** Types that staff keep in Medplum, besides Tasks. */
const clinic: readonly ResourceType[] = [
  'Appointment',
  'AppointmentResponse',
  'CodeSystem',
  'Encounter',
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
  'ValueSet',
];

const forSubscribers: readonly BotName[] = ['write-subscription', 'subscription-operations'];

const permit = (types: readonly ResourceType[], interaction: Interaction[]): AccessPolicyResource[] =>
  types.map((resourceType) => ({ resourceType, interaction }));

/** Calling a Bot needs read access only. Its code stays hidden. */
function callableBots(config: BookingConfig, names: readonly string[] = callable): AccessPolicyResource {
  const system = artefactUri(config, 'LocalBot');
  return {
    resourceType: 'Bot',
    criteria: `Bot?identifier=${names.map((name) => `${system}|${name}`).join(',')}`,
    interaction: look,
    hiddenFields: ['sourceCode', 'executableCode'],
  };
}

const taggedWith = (resourceType: ResourceType, requestor: string, config: BookingConfig): string =>
  `${resourceType}?_tag=${artefactUri(config, 'LocalRequestor')}|${requestor}`;

function keepsLinks(type: 'replaces' | 'replaced-by'): string[] {
  const of = (patient: string): string => `${patient}.link.where(type = '${type}').other.reference`;
  return [`${of('%after')}.all($this in ${of('%before')})`, `${of('%before')}.all($this in ${of('%after')})`];
}

const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Constraint on a resource's narratives: each is safe to display, or was there before. */
const isSafe = (div: string): string =>
  `%after.${div}.all($this in %before.${div} or $this.matches(${literal(NARRATIVE_PATTERN)}))`;

/**
 * A requestor's own patients: the criteria demand its tag. The constraints forbid to add another requestor's tag, to
 * remove the tag `external`, to put active content into narratives, to merge patients, and to undo the clinic's merges.
 * Reason for the last two: appointments move to the surviving patient, which may be another requestor's, and an export
 * or erasure treats merged records as one person.
 */
function ownPatients(config: BookingConfig): AccessPolicyResource {
  const system = artefactUri(config, 'LocalRequestor').toLowerCase();
  const expressions = [
    `meta.tag.where(system.lower() = '${system}').count() = 1`,
    `meta.tag.where(system = '${config.metaTagSystem}' and code = '${EXTERNAL_TAG}').exists()`,
    ...keepsLinks('replaced-by'),
    ...keepsLinks('replaces'),
    isSafe('text.div'),
    isSafe('contained.text.div'),
    '%after.contained.where(section.exists() or entry.exists() or parameter.exists()).empty()',
  ];
  return {
    resourceType: 'Patient',
    criteria: taggedWith('Patient', '%profile.id', config),
    interaction: [...readVersions, ...write],
    writeConstraint: expressions.map((expression) => ({ language: 'text/fhirpath', expression })),
  };
}

const owned = (types: readonly ResourceType[], requestor: string, config: BookingConfig): AccessPolicyResource[] =>
  types.map((resourceType) => ({
    resourceType,
    criteria: taggedWith(resourceType, requestor, config),
    interaction: readVersions,
  }));

/**
 * The encounters of a requestor's appointments. Earlier versions stay with the clinic: one may have been about another
 * patient.
 */
function ownEncounters(config: BookingConfig): AccessPolicyResource[] {
  return owned(['Encounter'], '%profile.id', config).map((accessPolicyResource) => ({
    ...accessPolicyResource,
    interaction: look,
  }));
}

/** The results of a requestor's asynchronous bookings. The submitted content stays hidden. */
function ownJobs(config: BookingConfig): AccessPolicyResource {
  const [jobs] = owned(['Task'], '%profile.id', config);
  return { resourceType: 'Task', ...jobs, interaction: look, hiddenFields: ['input'] };
}

/**
 * The rows with the reservations of Schedules, which a booking and a search for free Slots read with their caller's
 * rights. The end of publication of a Schedule stays hidden.
 */
const reservations = (config: BookingConfig): AccessPolicyResource => ({
  resourceType: 'Task',
  criteria: `Task?code=${rowCodes(['publish'], config)}`,
  interaction: look,
  hiddenFields: ['input', 'output', 'statusReason', 'basedOn', 'restriction'],
});

/**
 * The Subscriptions that a caller has created through the service, and the messages to their websockets. The content of
 * their headers stays hidden.
 */
function ownSubscriptions(config: BookingConfig): AccessPolicyResource[] {
  const [subscriptions, messages] = owned(['Subscription', 'Communication'], '%profile.id', config);
  return [
    { resourceType: 'Subscription', ...subscriptions, interaction: look, hiddenFields: ['channel.header'] },
    { resourceType: 'Communication', ...messages, interaction: look },
  ];
}

/**
 * Staff see the name of the portal that has requested an appointment, and Bots see which portal is gone. Its
 * credentials stay hidden.
 */
const portalNames: AccessPolicyResource = {
  resourceType: 'ClientApplication',
  interaction: look,
  hiddenFields: ['secret', 'retiringSecret', 'identityProvider'],
};

/**
 * Staff see the owner, criteria and status of portals' Subscriptions. Endpoints and headers stay hidden: an address may
 * itself be a secret.
 */
function subscriptionsOfPortals(config: BookingConfig): AccessPolicyResource {
  return {
    resourceType: 'Subscription',
    criteria: `Subscription?_profile=${artefactUri(config, 'LocalSubscriptionTermin')}`,
    interaction: look,
    hiddenFields: ['channel.header', 'channel.endpoint'],
  };
}

/**
 * Staff read all Tasks except those with secrets of people. They write their own Tasks, requests that wait for staff,
 * and double bookings to resolve. Tasks of the service itself (outboxes, jobs, quotas, progress) are written only by
 * the Bots: a user who could change an outbox would decide what a subscriber receives.
 */
function tasks(config: BookingConfig): AccessPolicyResource[] {
  return [
    {
      resourceType: 'Task',
      criteria: `Task?code:not=${rowCodes(
        codesWhere(({ forStaff }) => forStaff === undefined),
        config,
      )}`,
      interaction: [...readVersions, ...write, 'delete'],
    },
    {
      resourceType: 'Task',
      criteria: `Task?${(['message', 'refusal'] as const).map((one) => `code:not=${rowCodes([one], config)}`).join('&')}`,
      interaction: readVersions,
    },
  ];
}

/**
 * The Communications of messages to people. The constraint excludes events and websocket messages: both
 * are found by an identifier of the service.
 */
function messages(config: BookingConfig): AccessPolicyResource {
  const events = artefactUri(config, 'LocalEvent').toLowerCase();
  return {
    resourceType: 'Communication',
    criteria: `Communication?category=${rowCodes(['message'], config)}`,
    interaction: [...readVersions, ...write],
    writeConstraint: [
      { language: 'text/fhirpath', expression: `identifier.where(system.lower() = '${events}').empty()` },
    ],
  };
}

const policies: Readonly<Record<PolicyName, (config: BookingConfig) => AccessPolicyResource[]>> = {
  requestor: (config) => [
    ...permit(discovery, look),
    slots,
    ...owned(written, '%profile.id', config),
    ...ownEncounters(config),
    ownPatients(config),
    ownJobs(config),
    reservations(config),
    ...ownSubscriptions(config),
    callableBots(config),
  ],
  consumer: (config) => [
    ...owned(['Appointment'], '%requestor.id', config),
    ...ownSubscriptions(config),
    callableBots(config, forSubscribers),
  ],
  'front-desk': (config) => [
    ...permit(clinic, [...readVersions, ...write, 'delete']),
    ...tasks(config),
    ...permit(['OperationDefinition', 'Provenance'], look),
    // The picture of a person, uploaded in Medplum's app; it is read by id, never searched.
    ...permit(['Binary'], ['read']),
    portalNames,
    messages(config),
    ...ownSubscriptions(config),
    subscriptionsOfPortals(config),
    callableBots(config),
  ],
  bots: () => [
    ...permit(['Appointment', 'Patient', 'QuestionnaireResponse', 'RelatedPerson'], [...readVersions, ...write]),
    ...permit(['Slot', 'Subscription', 'Task'], [...readVersions, ...write, 'delete']),
    ...permit(['Encounter'], [...readVersions, 'update']),
    ...permit(['Communication'], [...look, ...write, 'delete']),
    ...permit(['Provenance'], [...look, 'create']),
    ...permit(['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole', 'Schedule'], look),
    portalNames,
  ],
};

/** The name of a policy in Medplum. */
export const policyTitle = (name: PolicyName): string => `Appointment booking: ${name}`;

/**
 * The AccessPolicies of the service. The holder of a policy has exactly the rights that it lists. Medplum adds read
 * access to StructureDefinitions and SearchParameters.
 *
 * - `requestor`: a portal. Reads the catalogue and the resources tagged as its own, creates and updates its own
 *   patients, calls the Bots. It cannot write Appointments and Slots: the Bots do.
 * - `consumer`: reads the appointments of one requestor, given as the membership's access parameter `requestor` (a
 *   reference to the requestor's ClientApplication), and subscribes to their changes.
 * - `front-desk`: staff. Everything about scheduling and patients, the names of the portals, and the state of their
 *   Subscriptions. They read the service's own Tasks but do not write them.
 * - `bots`: the rights that the Bots of the service need.
 *
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function accessPolicies(config: BookingConfig): Record<PolicyName, AccessPolicy> {
  const policy = (name: PolicyName): AccessPolicy => ({
    resourceType: 'AccessPolicy',
    name: policyTitle(name),
    resource: policies[name](config),
  });
  return {
    requestor: policy('requestor'),
    consumer: policy('consumer'),
    'front-desk': policy('front-desk'),
    bots: policy('bots'),
  };
}
