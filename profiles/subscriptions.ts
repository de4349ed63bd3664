import type { Extension, Subscription } from '@medplum/fhirtypes';
import type { BotName } from '../core/config/bots.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { artefactUri } from '../core/fhir/artefacts.ts';
import { SCHEDULING_PARAMETERS } from '../core/fhir/scheduling/scheduling-parameters.ts';
import { rowCodes } from '../core/rows/row.ts';

type Author = 'service' | 'others';

interface Trigger {
  readonly bot: BotName;
  readonly reason: string;
  /** Search criteria of the resources that start it. */
  readonly criteria: (config: BookingConfig) => string;
  /** The only interaction that starts it; absent: all. */
  readonly interaction?: 'create' | 'update' | 'delete';
  /** FHIRPath on `%previous` and `%current` that narrows the criteria further. */
  readonly expression?: (config: BookingConfig) => string;
  /**
   * Author of the writes (past or pending) that count: the service, or others. With an expression for each, the
   * expression narrows its writes.
   */
  readonly author?: Author | Readonly<Record<Author, (config: BookingConfig) => string>>;
  /**
   * Whether the Bot is called before the write and may refuse it. Medplum treats a creation as an update here, and the
   * expression sees no `%previous`.
   */
  readonly preCommit?: true;
  /** Maximum number of attempts of Medplum's queue: 18, its limit, takes more than a day. */
  readonly maxAttempts?: number;
}

const MEDPLUM = 'https://medplum.com/fhir/StructureDefinition';

const hasRules = (config: BookingConfig): string =>
  `%current.extension.where(url = '${artefactUri(config, 'LocalBookingPolicy')}' or url = '${artefactUri(config, 'LocalVisit')}' or url = '${SCHEDULING_PARAMETERS}').exists()`;

/** The Slot that a booking occupied has become free or entered-in-error. */
const isReleased =
  "((%current.status = 'free' and %current.identifier.exists() or %current.status = 'entered-in-error') and (%previous.status = 'busy' or %previous.status = 'busy-tentative'))";

/** Medplum evaluates a deletion on the last version, also as `%previous`. Any other change makes a new version. */
const isDeleted = '(%previous.meta.versionId = %current.meta.versionId)';

/** The status of an appointment, its time or its Slots have changed. */
const isStatusChange =
  "iif(%previous.status.exists(), %previous.status != %current.status or %previous.start != %current.start or %previous.end != %current.end or %previous.slot.reference.join(' ') != %current.slot.reference.join(' '), true)";

const isNewBuffer = (config: BookingConfig): string =>
  `(%previous.status.empty() and %current.identifier.where(system = '${artefactUri(config, 'LocalBuffer')}').exists())`;

const isGonePatient = `(${isDeleted} or (%previous.id.exists() and (%current.active = false or %current.link.where(type = 'replaced-by').exists())))`;

/**
 * Bookings by a requestor, with or without a hold before, notify nobody (`isEventFor`). So the most frequent write
 * starts no Bot.
 */
const isRequestorsBooking = (config: BookingConfig): string => {
  const [who, owner] = [artefactUri(config, 'LocalChangedBy'), artefactUri(config, 'LocalRequestor')];
  const isBy = (more: string) =>
    `%current.meta.tag.where(system = '${who}'${more}).code = %current.meta.tag.where(system = '${owner}').code`;
  const wasHeld = `%previous.extension.where(url = '${artefactUri(config, 'LocalHeldUntil')}').exists()`;
  return `(%previous.id.empty() and ${isBy('')} or ${wasHeld} and ${isBy(' and version = %previous.meta.versionId')})`;
};

const triggers = {
  'task-requested': {
    bot: 'process-booking',
    reason: 'Carries out accepted asynchronous bookings',
    criteria: (config) => `Task?code=${rowCodes(['book'], config)}&status=requested`,
    interaction: 'create',
    maxAttempts: 18,
  },
  'appointment-guarded': {
    bot: 'validate-appointment',
    reason: 'Checks changes of appointments by the rules of the service',
    criteria: () => 'Appointment',
    author: 'others',
    preCommit: true,
  },
  'patient-guarded': {
    bot: 'validate-patient',
    reason: 'Keeps a portal from making a patient inactive whose appointments it could not cancel',
    criteria: () => 'Patient',
    interaction: 'update',
    expression: () =>
      "%current.active = false and %current.meta.author.where(reference.startsWith('ClientApplication/')).exists()",
    author: 'others',
    preCommit: true,
  },
  'schedule-guarded': {
    bot: 'validate-policy',
    reason: 'Refuses booking policies and opening hours of schedules that cannot be used',
    criteria: () => 'Schedule',
    interaction: 'update',
    expression: (config) => `${hasRules(config)} or %current.planningHorizon.exists()`,
    preCommit: true,
  },
  'time-guarded': {
    bot: 'validate-slot',
    reason:
      'Keeps what takes time in Medplum from taking that of a booking, and a booked slot from being offered again',
    criteria: () => 'Slot',
    interaction: 'update',
    author: 'others',
    preCommit: true,
  },
  'service-guarded': {
    bot: 'validate-policy',
    reason: 'Refuses booking policies, opening hours and visits of services that cannot be used',
    criteria: () => 'HealthcareService',
    interaction: 'update',
    expression: (config) => `${hasRules(config)} or %current.availableTime.exists() or %current.notAvailable.exists()`,
    preCommit: true,
  },
  'appointment-status-changed': {
    bot: 'sync-slots',
    reason:
      'Updates the slots of appointments that are created, confirmed, cancelled or deleted in Medplum, and records the events',
    criteria: () => 'Appointment',
    author: { others: () => `(${isDeleted} or ${isStatusChange})`, service: () => isDeleted },
    maxAttempts: 18,
  },
  'patient-changed': {
    bot: 'handle-patient-change',
    reason:
      'Transfers or cancels the appointments of patients who are merged, made inactive or deleted, and merges a patient that two simultaneous bookings have created twice',
    criteria: () => 'Patient',
    author: {
      others: () => isGonePatient,
      service: () => `(${isGonePatient} or (%previous.id.empty() and %current.identifier.exists()))`,
    },
  },
  'encounter-changed': {
    bot: 'tag-encounter',
    reason: 'Shows encounters that are made or changed in Medplum to the requestors of their appointments',
    criteria: () => 'Encounter',
    author: 'others',
  },
  // Deletions and status changes start the other Bot that follows appointments: no change starts both.
  'appointment-changed': {
    bot: 'record-events',
    reason: 'Records the events of other changes of appointments for subscribers',
    criteria: () => 'Appointment',
    author: {
      others: () => `iif(${isDeleted} or ${isStatusChange}, false, true)`,
      service: (config) => `iif(${isDeleted} or ${isRequestorsBooking(config)}, false, true)`,
    },
    maxAttempts: 18,
  },
  'schedule-changed': {
    bot: 'publish-slots',
    reason: 'Publishes the opening hours of schedules that are made or changed',
    criteria: () => 'Schedule',
  },
  'service-changed': {
    bot: 'publish-slots',
    reason: 'Publishes opening hours again when a service or the closed days change or are deleted',
    criteria: () => 'HealthcareService',
  },
  'time-changed': {
    bot: 'publish-slots',
    reason:
      'Withdraws free slots whose time is taken in Medplum or as a buffer, and gives back what is released or deleted',
    criteria: () => 'Slot',
    author: {
      // The time of a deleted buffer is released with its Slot, and again by `slot-deleted`. A new one may come later than it.
      others: () =>
        `iif(${isDeleted} and %current.comment.startsWith('buffer '), false, %current.status != 'free' or %previous.status.exists())`,
      service: (config) => `(${isDeleted} or ${isReleased} or ${isNewBuffer(config)})`,
    },
  },
  // A failed Bot is not started again. Two runs therefore release the time of a deleted Slot: either is enough.
  'slot-deleted': {
    bot: 'publish-slots',
    reason: 'Gives back time that is no longer taken in Medplum',
    criteria: () => 'Slot',
    interaction: 'delete',
  },
  'publication-requested': {
    bot: 'publish-slots',
    reason: 'Publishes what is left to be published of one schedule, or of all whose slots are out of date',
    criteria: (config) => `Task?code=${rowCodes(['publish', 'publish-all'], config)}&status=requested`,
  },
  'time-released': {
    bot: 'offer-released-time',
    reason: 'Offers released time to those who wait for it',
    criteria: (config) => `Task?code=${rowCodes(['release'], config)}&status=requested`,
    interaction: 'create',
  },
  'outbox-ready': {
    bot: 'deliver-events',
    reason: 'Delivers events to subscribers',
    criteria: (config) => `Task?code=${rowCodes(['outboxes'], config)}&status=ready`,
    maxAttempts: 18,
  },
  'subscription-requested': {
    bot: 'restart-handshake',
    reason:
      'Sends the handshake again when a Subscription is set to requested, and follows other statuses set in Medplum',
    criteria: () => 'Subscription',
    interaction: 'update',
    author: 'others',
    expression: () => '%current.status != %previous.status',
    maxAttempts: 18,
  },
} as const satisfies Record<string, Trigger>;

type TriggerName = keyof typeof triggers;

/** Position of the part of a Bot's id that identifies it within a reference: its last 48 bits are random. */
const TELLING = 'Bot/00000000-0000-0000-0000-'.length;

/**
 * Expression for writes of the service. Medplum reads it from its database before and after each write of the project.
 * It is short, so that it is stored in one piece.
 *
 * @param authors - references to its Bots and, if there is one, to the client of the gateway
 */
export function writtenBy(authors: readonly string[]): string {
  const author = '%current.meta.author.reference';
  const bots = authors.filter((one) => one.startsWith('Bot/')).map((one) => one.slice(TELLING));
  const clients = authors.filter((one) => !one.startsWith('Bot/')).map((one) => ` or ${author} = '${one}'`);
  return `iif(${author}.startsWith('Bot/') and '${bots.join(' ')}'.contains(${author}.substring(${TELLING}))${clients.join('')}, true, false)`;
}

/**
 * The expression for writes of the service before the ids of the Bots are known. It uses their names: a user who may
 * name a Bot may also change these Subscriptions.
 */
export function writtenByNamed(names: readonly string[], client?: string): string {
  const author = '%current.meta.author';
  const isBot = `${author}.reference.startsWith('Bot/') and '|${names.join('|')}|'.contains('|' & ${author}.display & '|')`;
  return `iif(${client ? `${isBot} or ${author}.reference = '${client}'` : isBot}, true, false)`;
}

function expressionOf({ author, expression }: Trigger, isOurs: string, config: BookingConfig) {
  if (typeof author === 'object') {
    return `iif(${isOurs}, ${author.service(config)}, ${author.others(config)})`;
  }
  const conditions = [
    ...(author ? [author === 'service' ? isOurs : `${isOurs}.not()`] : []),
    ...(expression ? [expression(config)] : []),
  ];
  return conditions.length > 1 ? conditions.map((one) => `(${one})`).join(' and ') : conditions[0];
}

function extensionsOf(trigger: Trigger, isOurs: string, config: BookingConfig): Extension[] {
  const { interaction, preCommit, maxAttempts } = trigger;
  const expression = expressionOf(trigger, isOurs, config);
  return [
    ...(preCommit ? [{ url: `${MEDPLUM}/pre-commit-bot`, valueBoolean: true }] : []),
    ...(interaction ? [{ url: `${MEDPLUM}/subscription-supported-interaction`, valueCode: interaction }] : []),
    ...(expression ? [{ url: `${MEDPLUM}/fhir-path-criteria-expression`, valueString: expression }] : []),
    ...(maxAttempts ? [{ url: `${MEDPLUM}/subscription-max-attempts`, valueInteger: maxAttempts }] : []),
  ];
}

/** A Subscription of the service with the Bot that it starts. The deployment knows the Bot's id. */
export interface InternalSubscription {
  readonly name: TriggerName;
  readonly bot: BotName;
  /** The resource before the ids of the Bots are known. */
  readonly resource: Subscription;
  /** Its extensions, which may depend on the expression for writes of the service. */
  readonly extension: (isOurs: string) => Extension[];
}

/**
 * The Subscriptions by which Medplum starts Bots of the service. A deployment finds each again by its name, a tag.
 *
 * @see https://www.medplum.com/docs/subscriptions
 */
export function internalSubscriptions(config: BookingConfig): InternalSubscription[] {
  const entries = Object.entries(triggers) as [TriggerName, Trigger][];
  return entries.map(([name, trigger]) => ({
    name,
    bot: trigger.bot,
    resource: {
      resourceType: 'Subscription',
      meta: { tag: [{ system: artefactUri(config, 'LocalBot'), code: name }] },
      status: 'active',
      reason: trigger.reason,
      criteria: trigger.criteria(config),
      channel: { type: 'rest-hook', payload: 'application/fhir+json' },
    },
    extension: (isOurs) => extensionsOf(trigger, isOurs, config),
  }));
}
