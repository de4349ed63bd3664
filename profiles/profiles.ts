import { type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import { artefactUri } from '../core/fhir/artefacts.ts';
import { backport } from '../core/fhir/backport.ts';
import { knownTypes } from '../core/notifications/subscription/channel.ts';
import { contents } from '../core/notifications/subscription/subscription-parameters.ts';
import { topicNames, topicUrl } from '../core/notifications/subscription/topics.ts';
import { extensions } from './extensions.ts';
import { externalTag, optionalExtension, withCode } from './rules.ts';
import type { Profile } from './structure-definition.ts';

const codedPriority = (url: string): string =>
  `extension.exists() implies extension.where(url = '${url}').select(value.coding.where(system.exists() and code.exists()).exists() and value.coding.all(system.exists() and code.exists())) = true`;

const offeredConfirmation = (url: string): string =>
  `extension.where(url = '${url}').count() <= 1 and extension.where(url = '${url}').all(value is code and (value = 'automatic' or value = 'manual'))`;

function termin(config: BookingConfig): Profile {
  const priorityExtension = artefactUri(config, 'LocalTerminPriorityExtension');
  return {
    artefact: 'LocalTermin',
    type: 'Appointment',
    title: 'Bookable appointment',
    description: 'An appointment as a requestor submits it to $book and as the repository returns it.',
    differential: [
      ...externalTag('Appointment', config),
      ...optionalExtension('Appointment', 'payerKind', artefactUri(config, 'LocalPayerKind')),
      ...withCode('Appointment.serviceType'),
      ...withCode('Appointment.specialty'),
      {
        id: 'Appointment.priority',
        constraint: [
          {
            key: 'termin-1',
            severity: 'error',
            human: 'A priority carries exactly one extension with a concept whose codings have system and code',
            expression: codedPriority(priorityExtension),
          },
        ],
      },
      { id: 'Appointment.start', min: 1 },
      { id: 'Appointment.end', min: 1 },
      { id: 'Appointment.slot', min: 1 },
      { id: 'Appointment.participant.actor', min: 1 },
      { id: 'Appointment.participant.actor.reference', min: 1 },
    ],
  };
}

function schedule(config: BookingConfig): Profile {
  const url = artefactUri(config, 'LocalConfirmation');
  return {
    artefact: 'LocalSchedule',
    type: 'Schedule',
    title: 'Bookable schedule',
    description: 'A calendar that is open for booking: its owner and the services offered in it.',
    differential: [
      {
        id: 'Schedule',
        constraint: [
          {
            key: 'schedule-1',
            severity: 'error',
            human: 'There is at most one confirmation, and it is automatic or manual',
            expression: offeredConfirmation(url),
          },
        ],
      },
      ...optionalExtension('Schedule', 'confirmation', url),
      ...withCode('Schedule.serviceType'),
      { id: 'Schedule.actor.reference', min: 1 },
    ],
  };
}

const slot: Profile = {
  artefact: 'LocalSlot',
  type: 'Slot',
  title: 'Slot of a bookable schedule',
  description: 'A period of a schedule, free or taken.',
  differential: [{ id: 'Slot.schedule.reference', min: 1 }],
};

function patient(config: BookingConfig): Profile {
  return {
    artefact: 'LocalPatient',
    type: 'Patient',
    title: 'Patient for whom an appointment is booked',
    description: `A patient as a requestor submits it, with the tag ${EXTERNAL_TAG}.`,
    differential: externalTag('Patient', config),
  };
}

const questionnaireResponse: Profile = {
  artefact: 'LocalQuestionnaireResponse',
  type: 'QuestionnaireResponse',
  title: 'Patient-submitted information',
  description:
    'Answers that a patient gives with a booking: with readable text, and with the questions in the response itself.',
  differential: [
    { id: 'QuestionnaireResponse.text', min: 1 },
    {
      id: 'QuestionnaireResponse.questionnaire',
      comment: 'Should be filled, so that responses of different structure can be distinguished and processed.',
    },
    {
      id: 'QuestionnaireResponse.item',
      min: 1,
      constraint: [
        {
          key: 'answers-1',
          severity: 'error',
          human: 'Items within an item or an answer also carry their question as text',
          expression: 'item.all(text.exists()) and answer.item.all(text.exists())',
        },
      ],
    },
    { id: 'QuestionnaireResponse.item.text', min: 1 },
  ],
};

const withValue = (url: string, condition: string): string =>
  `extension.where(url = '${url}').count() = 1 and extension.where(url = '${url}').all(${condition})`;

function subscription(config: BookingConfig): Profile {
  const addresses = topicNames.map((name) => `'${topicUrl(name, config)}'`);
  return {
    artefact: 'LocalSubscriptionTermin',
    type: 'Subscription',
    title: 'Subscription to changes of appointments',
    description: `A topic-based Subscription (${backport.subscription}) to one of the topics of the service.`,
    differential: [
      ...optionalExtension('Subscription', 'ownChanges', artefactUri(config, 'LocalOwnChanges')),
      {
        id: 'Subscription.criteria',
        short: 'The address of a topic, with filters as extensions',
        constraint: [
          {
            key: 'subscription-1',
            severity: 'error',
            human: 'The criteria are the address of a topic of the service',
            expression: addresses.map((address) => `$this = ${address}`).join(' or '),
          },
        ],
      },
      {
        id: 'Subscription.channel.type',
        constraint: [
          {
            key: 'subscription-2',
            severity: 'error',
            human: 'The channel is rest-hook or websocket (stored in Medplum as message)',
            expression: knownTypes.map((type) => `$this = '${type}'`).join(' or '),
          },
        ],
      },
      {
        id: 'Subscription.channel',
        constraint: [
          {
            key: 'subscription-4',
            severity: 'error',
            human: 'A rest-hook channel has an endpoint; other channels have none',
            expression: "endpoint.exists() = (type = 'rest-hook')",
          },
        ],
      },
      {
        id: 'Subscription.channel.payload',
        min: 1,
        constraint: [
          {
            key: 'subscription-3',
            severity: 'error',
            human: 'There is exactly one payload content: empty, id-only or full-resource',
            expression: withValue(
              backport.payloadContent,
              contents.map((content) => `value = '${content}'`).join(' or '),
            ),
          },
        ],
      },
    ],
  };
}

/**
 * The profiles and extensions of the service.
 *
 * @see specification section 2
 */
export function profiles(config: BookingConfig): Profile[] {
  return [
    termin(config),
    schedule(config),
    slot,
    patient(config),
    questionnaireResponse,
    subscription(config),
    ...extensions(config),
  ];
}
