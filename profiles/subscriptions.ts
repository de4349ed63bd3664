import type { Extension, Subscription } from '@medplum/fhirtypes';
import type { BotName } from '../config/bots.ts';
import { artefactUri, type BookingConfig } from '../config/config.ts';

/** What makes Medplum start a Bot by itself. */
interface Trigger {
  readonly bot: BotName;
  readonly reason: string;
  /** Search criteria of the resources that start it. */
  readonly criteria: (config: BookingConfig) => string;
  readonly interactions: readonly ('create' | 'update' | 'delete')[];
  /** FHIRPath on `%previous` and `%current` that narrows the criteria further. */
  readonly expression?: string;
  /** How often Medplum's queue tries in all: 18, the most it allows, is more than a day. */
  readonly maxAttempts?: number;
}

const MEDPLUM = 'https://medplum.com/fhir/StructureDefinition';

/** Every Subscription by which Medplum starts a Bot of the service, by name. */
const triggers = {
  'task-requested': {
    bot: 'work',
    reason: 'Carries out bookings that were accepted',
    criteria: (config) => `Task?code=${artefactUri(config, 'LocalTask')}|book&status=requested`,
    interactions: ['create'],
    maxAttempts: 18,
  },
} as const satisfies Record<string, Trigger>;

/** Name of a Subscription by which Medplum starts a Bot. */
export type TriggerName = keyof typeof triggers;

function extensionsOf({ interactions, expression, maxAttempts }: Trigger): Extension[] {
  const [interaction, second] = interactions;
  return [
    ...(interaction && !second
      ? [{ url: `${MEDPLUM}/subscription-supported-interaction`, valueCode: interaction }]
      : []),
    ...(expression ? [{ url: `${MEDPLUM}/fhir-path-criteria-expression`, valueString: expression }] : []),
    ...(maxAttempts ? [{ url: `${MEDPLUM}/subscription-max-attempts`, valueInteger: maxAttempts }] : []),
  ];
}

/** A Subscription of the service with the Bot that it starts, whose id the deployment knows. */
export interface InternalSubscription {
  readonly name: TriggerName;
  readonly bot: BotName;
  readonly resource: Subscription;
}

/**
 * The Subscriptions by which Medplum starts Bots of the service. Each carries its name as a tag, by which a deployment
 * finds it again.
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
      extension: extensionsOf(trigger),
    },
  }));
}
