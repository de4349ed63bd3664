import type { AccessPolicy, AccessPolicyResource, ResourceType } from '@medplum/fhirtypes';
import { CONFIRM_TASK } from '../core/booking/confirmation/task.ts';
import { COLLISION_TASK } from '../core/booking/slots/collision.ts';
import { type BotName, callableBots as callable } from '../core/config/bots.ts';
import { artefactUri, type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import { NARRATIVE_PATTERN } from '../core/fhir/narrative/narrative-pattern.ts';
import { type TaskCode, taskCodes } from './terminology.ts';

/** The AccessPolicies of the service, by the names that the deployment uses for them. */
export type PolicyName = 'requestor' | 'consumer' | 'front-desk' | 'bots';

type Interaction = NonNullable<AccessPolicyResource['interaction']>[number];

const look: Interaction[] = ['read', 'search'];
const readVersions: Interaction[] = ['read', 'search', 'vread', 'history'];
const write: Interaction[] = ['create', 'update'];

/**
 * What a requestor looks up to find a time: the same for all requestors. Nothing of a Slot is hidden, for the Bots write
 * Slots back as the caller has read them.
 */
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
  'Slot',
  'ValueSet',
];

/** What a booking writes for a requestor, and only the Bots may write. */
const written: readonly ResourceType[] = ['Appointment', 'QuestionnaireResponse', 'RelatedPerson'];

/** What clinic staff keep in Medplum, besides Tasks. */
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

/** The Tasks of the service that staff sort, take, set aside and close. */
const forStaff: readonly TaskCode[] = [CONFIRM_TASK, COLLISION_TASK];

/** The Bots that one needs for Subscriptions. */
const forSubscribers: readonly BotName[] = ['write-subscription', 'subscription-operations'];

const permit = (types: readonly ResourceType[], interaction: Interaction[]): AccessPolicyResource[] =>
  types.map((resourceType) => ({ resourceType, interaction }));

/** Read access is all that calling a Bot takes; its code stays hidden. */
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

/** Those into whom a patient was merged. */
const survivors = (patient: string): string => `${patient}.link.where(type = 'replaced-by').other.reference`;

/** A string literal of FHIRPath. */
const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** That the narratives of a resource are safe to display, or are there already. */
const isSafe = (div: string): string =>
  `%after.${div}.all($this in %before.${div} or $this.matches(${literal(NARRATIVE_PATTERN)}))`;

/**
 * A requestor's own patients: found and written only under its tag, which the criteria demand. The constraints keep it
 * from adding another requestor's tag, from taking the tag `external` away, from active content in narratives, and from
 * merging or undoing what the clinic has merged: appointments follow to the patient that stays, which may be anybody's.
 */
function ownPatients(config: BookingConfig): AccessPolicyResource {
  const system = artefactUri(config, 'LocalRequestor').toLowerCase();
  const expressions = [
    `meta.tag.where(system.lower() = '${system}').count() = 1`,
    `meta.tag.where(system = '${config.metaTagSystem}' and code = '${EXTERNAL_TAG}').exists()`,
    `${survivors('%after')}.all($this in ${survivors('%before')})`,
    `${survivors('%before')}.all($this in ${survivors('%after')})`,
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
 * The encounters that a requestor's appointments have led to. Earlier versions stay with the clinic: one may have been
 * about somebody else.
 */
function ownEncounters(config: BookingConfig): AccessPolicyResource[] {
  return owned(['Encounter'], '%profile.id', config).map((one) => ({ ...one, interaction: look }));
}

/** What has come of a requestor's asynchronous bookings; what it had sent stays with the Bots. */
function ownJobs(config: BookingConfig): AccessPolicyResource {
  const [jobs] = owned(['Task'], '%profile.id', config);
  return { resourceType: 'Task', ...jobs, interaction: look, hiddenFields: ['input'] };
}

/**
 * The Subscriptions that somebody has made through the service, and what their websockets are told; what their headers hold
 * stays with the Bots.
 */
function ownSubscriptions(config: BookingConfig): AccessPolicyResource[] {
  const [subscriptions, messages] = owned(['Subscription', 'Communication'], '%profile.id', config);
  return [
    { resourceType: 'Subscription', ...subscriptions, interaction: look, hiddenFields: ['channel.header'] },
    { resourceType: 'Communication', ...messages, interaction: look },
  ];
}

/** Staff see which portal has asked, by its name; what it signs in with stays hidden. */
const portalNames: AccessPolicyResource = {
  resourceType: 'ClientApplication',
  interaction: look,
  hiddenFields: ['secret', 'retiringSecret', 'identityProvider'],
};

/**
 * Staff see the Subscriptions of portals: of whom, to what, in which state. Where notifications go to stays hidden, as the
 * headers do: an address may be a secret itself.
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
 * Staff read all Tasks and write those that are theirs: their own, the requests that wait for them, the double bookings that
 * they resolve. What the service keeps in Tasks (outboxes, jobs, quotas, how far it has come) only the Bots write: whoever
 * could change an outbox would decide what a subscriber is told.
 */
function tasks(config: BookingConfig): AccessPolicyResource[] {
  const system = artefactUri(config, 'LocalTask');
  const ofService = taskCodes.filter((code) => !forStaff.includes(code)).map((code) => `${system}|${code}`);
  return [
    {
      resourceType: 'Task',
      criteria: `Task?code:not=${ofService.join(',')}`,
      interaction: [...readVersions, ...write, 'delete'],
    },
    { resourceType: 'Task', interaction: readVersions },
  ];
}

/**
 * The Communications that remind staff of requests that wait for them. None of them passes for an event, or for a message
 * to a websocket: both are found by an identifier of the service.
 */
function reminders(config: BookingConfig): AccessPolicyResource {
  const events = artefactUri(config, 'LocalEvent').toLowerCase();
  return {
    resourceType: 'Communication',
    criteria: `Communication?category=${artefactUri(config, 'LocalTask')}|${CONFIRM_TASK}`,
    interaction: [...readVersions, ...write],
    writeConstraint: [
      { language: 'text/fhirpath', expression: `identifier.where(system.lower() = '${events}').empty()` },
    ],
  };
}

const policies: Readonly<Record<PolicyName, (config: BookingConfig) => AccessPolicyResource[]>> = {
  requestor: (config) => [
    ...permit(discovery, look),
    ...owned(written, '%profile.id', config),
    ...ownEncounters(config),
    ownPatients(config),
    ownJobs(config),
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
    ...permit(['OperationDefinition'], look),
    portalNames,
    reminders(config),
    ...ownSubscriptions(config),
    subscriptionsOfPortals(config),
    callableBots(config),
  ],
  bots: () => [
    ...permit(['Appointment', 'Patient', 'QuestionnaireResponse', 'RelatedPerson'], [...readVersions, ...write]),
    ...permit(['Slot', 'Subscription', 'Task'], [...readVersions, ...write, 'delete']),
    ...permit(['Encounter'], [...readVersions, 'update']),
    ...permit(['Communication'], [...look, ...write, 'delete']),
    ...permit(['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole', 'Schedule'], look),
  ],
};

/** The name under which a policy is found in Medplum. */
export const policyTitle = (name: PolicyName): string => `Appointment booking: ${name}`;

/**
 * The AccessPolicies of the service. Whoever holds one of them sees and does exactly what it lists (and reads
 * StructureDefinitions and SearchParameters, which Medplum adds by itself).
 *
 * - `requestor`: a portal. Looks up what is offered, reads what is tagged as its own, creates and updates its own
 *   patients, calls the Bots. Appointments and Slots it cannot write at all: the Bots do.
 * - `consumer`: reads the appointments of one requestor, given as the membership's access parameter `requestor` (a
 *   reference to the requestor's ClientApplication), and subscribes to their changes.
 * - `front-desk`: clinic staff; everything of scheduling and patients, the names of the portals, and how their
 *   Subscriptions stand. The service's own Tasks they read and do not write.
 * - `bots`: what the Bots of the service need when they write.
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
