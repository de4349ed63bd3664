import { artefactUri, type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import { knownTypes } from '../core/notifications/subscription/channel.ts';
import { backport } from '../core/notifications/subscription/extensions.ts';
import { contents } from '../core/notifications/subscription/subscription-parameters.ts';
import { topicNames, topicUrl } from '../core/notifications/subscription/topics.ts';
import { policyProfiles } from './booking-policy.ts';
import { externalTag, optionalExtension, withCode } from './rules.ts';
import type { Profile } from './structure-definition.ts';
import { visitProfiles } from './visit.ts';

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

function priorityExtension(config: BookingConfig): Profile {
  return {
    artefact: 'LocalTerminPriorityExtension',
    type: 'Extension',
    title: 'Priority of an appointment',
    description: `How urgent an appointment is, as a concept of a clinical terminology (${config.terminologySystem}).`,
    context: ['Appointment.priority'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalTerminPriorityExtension') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'CodeableConcept' }] },
      ...withCode('Extension.value[x]'),
    ],
  };
}

function confirmation(config: BookingConfig): Profile {
  return {
    artefact: 'LocalConfirmation',
    type: 'Extension',
    title: 'Confirmation of bookings',
    description:
      'Whether bookings are confirmed at once (automatic) or by the staff of the repository (manual), for the ' +
      'schedules of a healthcare service or for one schedule.',
    context: ['Schedule', 'HealthcareService'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalConfirmation') },
      {
        id: 'Extension.value[x]',
        min: 1,
        type: [{ code: 'code' }],
        constraint: [
          {
            key: 'confirmation-1',
            severity: 'error',
            human: 'The confirmation is automatic or manual',
            expression: "$this is code and ($this = 'automatic' or $this = 'manual')",
          },
        ],
      },
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

function publishing(config: BookingConfig): Profile {
  return {
    artefact: 'LocalPublishing',
    type: 'Extension',
    title: 'Publication of opening hours',
    description: 'Whether the opening hours of a schedule are published as free slots; the default is true.',
    context: ['Schedule'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalPublishing') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'boolean' }] },
    ],
  };
}

function overbooking(config: BookingConfig): Profile {
  return {
    artefact: 'LocalOverbooking',
    type: 'Extension',
    title: 'Overbooking on purpose',
    description: 'Whether clinic staff have deliberately put an appointment on time that is taken.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalOverbooking') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'boolean' }] },
    ],
  };
}

function portal(config: BookingConfig): Profile {
  return {
    artefact: 'LocalPortal',
    type: 'Extension',
    title: 'The clinic in the portal',
    description:
      'How the portal for patients presents the clinic: logo (Attachment, PNG, JPEG or WebP with its data), colour (string, ' +
      '#rrggbb), imprint and privacy (url of a page), consent (string, what patients agree to when they book).',
    context: ['Organization'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalPortal') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function offered(config: BookingConfig): Profile {
  return {
    artefact: 'LocalOffered',
    type: 'Extension',
    title: 'What a slot offers where nothing takes its time',
    description:
      'Says of a slot that is taken, narrowed or withdrawn what it is a part of: period (Period, the whole time that is ' +
      'offered), place (string, whose time it takes), serviceType (CodeableConcept), revision (unsignedInt, counts changes of ' +
      'what takes its time that leave the slot as it is), and byHand (boolean, the clinic took it while it was free). Set ' +
      'by the service.',
    context: ['Slot'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalOffered') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function withheld(config: BookingConfig): Profile {
  return {
    artefact: 'LocalWithheld',
    type: 'Extension',
    title: 'Time of a slot that is withheld',
    description:
      'Time of a slot that cannot be booked until a given moment, because something else (by) is about to take it; set by ' +
      'the service.',
    context: ['Slot', 'Task'],
    differential: [
      { id: 'Extension.extension', min: 2 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalWithheld') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function ownChanges(config: BookingConfig): Profile {
  return {
    artefact: 'LocalOwnChanges',
    type: 'Extension',
    title: 'Notifications about own changes',
    description: 'Whether a subscriber is also notified of its own changes; the default is false.',
    context: ['Subscription'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalOwnChanges') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'boolean' }] },
    ],
  };
}

function messages(config: BookingConfig): Profile {
  return {
    artefact: 'LocalMessages',
    type: 'Extension',
    title: 'Messages to people',
    description:
      'Whether the clinic writes to a person about an appointment. In an appointment: a portal leaves the messages to the ' +
      'clinic (true), or nobody is to write (false). In a person: no messages are wanted (false).',
    context: ['Appointment', 'Patient', 'RelatedPerson'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalMessages') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'boolean' }] },
    ],
  };
}

function payerKind(config: BookingConfig): Profile {
  return {
    artefact: 'LocalPayerKind',
    type: 'Extension',
    title: 'Payer kind',
    description:
      'Who pays (LocalPayerKinds). In a healthcare service or a slot: which kinds are served there; one that names none ' +
      'serves all. In an appointment: that of its patient, once.',
    context: ['HealthcareService', 'Slot', 'Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalPayerKind') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'Coding' }] },
      { id: 'Extension.value[x].system', min: 1 },
      { id: 'Extension.value[x].code', min: 1 },
    ],
  };
}

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
    priorityExtension(config),
    confirmation(config),
    publishing(config),
    overbooking(config),
    portal(config),
    offered(config),
    withheld(config),
    schedule(config),
    slot,
    patient(config),
    questionnaireResponse,
    ...policyProfiles(config),
    ...visitProfiles(config),
    ownChanges(config),
    messages(config),
    payerKind(config),
    subscription(config),
  ];
}
