import type { Appointment } from '@medplum/fhirtypes';
import { isOpen } from '../../booking/appointment/status.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';

/** A change of an appointment. `previous` is absent when it was created. */
export interface Transition {
  readonly previous: Appointment | undefined;
  readonly current: Appointment;
  /** The instant of a deletion. `previous` and `current` then are both the last version. */
  readonly deleted?: string;
}

/** A topic: its title, and the transitions that belong to it. */
export interface Topic {
  readonly title: string;
  readonly covers: (transition: Transition) => boolean;
}

export const topics = {
  'appointment-update': { title: 'An appointment changed: its time, its status, anything', covers: () => true },
  'appointment-cancel': {
    title: 'An appointment was cancelled, or deleted while it was open',
    covers: ({ previous, current, deleted }) =>
      deleted === undefined ? current.status === 'cancelled' && previous?.status !== 'cancelled' : isOpen(current),
  },
  // `isOfTopic` checks whether a change concerns a personal offer.
  'appointment-offer': { title: 'A time is offered to a person, or an offer is over', covers: () => true },
} as const satisfies Record<string, Topic>;

export type TopicName = keyof typeof topics;

export const topicNames = Object.keys(topics) as readonly TopicName[];

/**
 * The canonical address of a topic. It must not end in the name of a resource type: Medplum would take it for a search.
 */
export function topicUrl(name: TopicName, config: PublicConfig): string {
  return artefactUri(config, name);
}

/** The topic in a Subscription's `criteria`; `undefined` if it is unknown. */
export function topicOf(criteria: unknown, config: PublicConfig): TopicName | undefined {
  return topicNames.find((name) => topicUrl(name, config) === criteria);
}
