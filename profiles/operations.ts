import type { OperationDefinition, OperationDefinitionParameter } from '@medplum/fhirtypes';
import { MOST_APPOINTMENTS } from '../core/booking/book/request/parameters.ts';
import { artefactUri, type BookingConfig } from '../core/config/config.ts';
import { metadata } from './metadata.ts';

/** Extension by which Medplum finds the Bot that carries out an operation. */
export const OPERATION_IMPLEMENTATION =
  'https://medplum.com/fhir/StructureDefinition/operationDefinition-implementation';

type Input = Omit<OperationDefinitionParameter, 'use'>;

const inputs = (config: BookingConfig): Input[] => [
  {
    name: 'appt-resource',
    min: 1,
    max: String(MOST_APPOINTMENTS),
    type: 'Appointment',
    documentation: `The proposed appointment (${artefactUri(config, 'LocalTermin')}). It may also be the whole body, or be called appointment. Several are the steps of one visit: all are booked, or none.`,
  },
  {
    name: 'patient',
    min: 0,
    max: '1',
    type: 'Patient',
    documentation: `The patient (${artefactUri(config, 'LocalPatient')}), if it is submitted with the booking.`,
  },
  {
    name: 'related-person',
    min: 0,
    max: '1',
    type: 'RelatedPerson',
    documentation: 'Who books for the patient.',
  },
  {
    name: 'patientSubmittedInformation',
    min: 0,
    max: '*',
    type: 'QuestionnaireResponse',
    documentation: `Answers of the patient (${artefactUri(config, 'LocalQuestionnaireResponse')}).`,
  },
  {
    name: 'schedule',
    min: 0,
    max: '1',
    type: 'Reference',
    targetProfile: [artefactUri(config, 'LocalSchedule')],
    documentation: 'A schedule in which the service selects free slots, if the appointment names none.',
  },
  {
    name: 'cancelled-appt-id',
    min: 0,
    max: '1',
    type: 'uri',
    documentation:
      'The appointment that the new one replaces, as uri (also accepted: Reference). Both changes happen, or neither.',
  },
  {
    name: 'dry-run',
    min: 0,
    max: '1',
    type: 'boolean',
    documentation: 'Judge everything and write nothing: an informational OperationOutcome, or the refusal.',
  },
];

/**
 * The address of an operation as Medplum stores it, below the installation's own base; a publisher's definition that it
 * carries out is named as its base.
 */
function addressOf(
  code: 'book' | 'hold' | 'find' | 'waitlist' | 'deliver' | 'answer' | 'feed' | 'absence',
  config: BookingConfig,
): Pick<OperationDefinition, 'url' | 'base'> {
  const url = `${config.localBase}/OperationDefinition/${code}`;
  const base = artefactUri(config, code);
  return { url, ...(base !== url && { base }) };
}

/**
 * The definition of `$hold`: like that of `$book`, except that the patient need not be named yet and that no appointment
 * can be replaced.
 *
 * @param bot - reference to the Bot that holds, once it is deployed
 */
export function holdOperation(config: BookingConfig, bot?: string): OperationDefinition {
  return {
    ...bookOperation(config, bot),
    ...addressOf('hold', config),
    name: 'hold',
    title: 'Hold a time',
    description:
      'Holds a time for the caller for some minutes; the appointment is booked when it is sent to $book under its id.',
    code: 'hold',
    parameter: [
      ...inputs(config)
        .filter(({ name }) => name !== 'cancelled-appt-id')
        .map((input) => ({ ...input, use: 'in' as const })),
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Appointment',
        documentation: 'The appointment, proposed; an OperationOutcome instead if the time cannot be held.',
      },
    ],
  };
}

/**
 * The definition of `$book`. Medplum's own handling of custom operations reads two things from it: the extension, which
 * names the Bot, and the single `out` parameter, `return`, of type Appointment, because of which the answer is exactly
 * what the Bot returns.
 *
 * @param bot - reference to the Bot that books, once it is deployed
 * @see specification section 4.4
 */
export function bookOperation(config: BookingConfig, bot?: string): OperationDefinition {
  return {
    resourceType: 'OperationDefinition',
    ...(bot && { extension: [{ url: OPERATION_IMPLEMENTATION, valueReference: { reference: bot } }] }),
    ...addressOf('book', config),
    ...metadata,
    name: 'book',
    title: 'Book an appointment',
    kind: 'operation',
    description: 'Books an appointment, moves an existing one, or replaces one with another.',
    affectsState: true,
    code: 'book',
    resource: ['Appointment'],
    system: false,
    type: true,
    instance: false,
    parameter: [
      ...inputs(config).map((input) => ({ ...input, use: 'in' as const })),
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Appointment',
        documentation:
          'The appointment, booked or pending; a Bundle (collection) of several; an OperationOutcome instead if it cannot be booked.',
      },
    ],
  };
}

/** The definition of `$waitlist`, by which a portal puts a person on the waitlist, and learns at which place it is. */
export function waitlistOperation(config: BookingConfig): OperationDefinition {
  const taken = inputs(config).filter(({ name }) =>
    ['appt-resource', 'patient', 'related-person'].includes(name ?? ''),
  );
  return {
    ...bookOperation(config),
    ...addressOf('waitlist', config),
    name: 'waitlist',
    title: 'Wait for a time',
    description:
      'Puts a person on the waitlist: an Appointment with the status waitlist, its service, and the times wished for in requestedPeriod. Sent again under its id, it is answered with its place.',
    code: 'waitlist',
    parameter: [
      ...taken.map((input) => ({ ...input, max: '1', use: 'in' as const })),
      {
        name: 'standing-appt-id',
        use: 'in',
        min: 0,
        max: '1',
        type: 'uri',
        documentation:
          'The appointment that stands until something earlier is taken, as uri (also accepted: Reference).',
      },
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Appointment',
        documentation: 'The entry with its place; an OperationOutcome instead if there can be none.',
      },
    ],
  };
}

const wishes: readonly Input[] = [
  { name: 'service', min: 1, max: '1', type: 'Reference', documentation: 'The HealthcareService.' },
  {
    name: 'period',
    min: 1,
    max: '1',
    type: 'Period',
    documentation: 'In which the whole visit must be; at most a year.',
  },
  {
    name: 'count',
    min: 0,
    max: '1',
    type: 'positiveInt',
    documentation: 'At most so many visits, up to 20; 5 if absent.',
  },
  {
    name: 'actor',
    min: 0,
    max: '50',
    type: 'Reference',
    documentation: 'Who or what is wished for: where one of them can take a step, nobody else does.',
  },
  { name: 'earliest', min: 0, max: '1', type: 'time', documentation: 'No appointment begins earlier in the day.' },
  { name: 'latest', min: 0, max: '1', type: 'time', documentation: 'No appointment ends later in the day.' },
  { name: 'without', min: 0, max: '10', type: 'string', documentation: 'An optional step that is left out.' },
  {
    name: 'payer-kind',
    min: 0,
    max: '1',
    type: 'Coding',
    documentation: 'Who pays: what does not serve that is left out.',
  },
  {
    name: 'patient',
    min: 0,
    max: '1',
    type: 'Reference',
    documentation: 'The patient, to be named in the appointments.',
  },
];

/** The definition of `$find`, by which a portal looks for whole visits. */
export function findOperation(config: BookingConfig): OperationDefinition {
  return {
    ...bookOperation(config),
    ...addressOf('find', config),
    name: 'find',
    title: 'Find visits',
    description:
      'Proposes visits that the caller can book now: for each time at which one can start the most compact one, the earliest first.',
    affectsState: false,
    code: 'find',
    parameter: [
      ...wishes.map((wish) => ({ ...wish, use: 'in' as const })),
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Bundle',
        documentation:
          'Bundles of proposed appointments in the order of time, each to be sent to $book as it stands; at last, if there may be more, an OperationOutcome.',
      },
    ],
  };
}

/** The definition of `$answer`, by which a portal passes on what a person answers to a message of the clinic. */
export function answerOperation(config: BookingConfig): OperationDefinition {
  return {
    resourceType: 'OperationDefinition',
    ...addressOf('answer', config),
    ...metadata,
    name: 'answer',
    title: 'Answer a message',
    kind: 'operation',
    description:
      'Passes on what a person answers to a message of the clinic about an appointment. The link in the message is all that it takes.',
    affectsState: true,
    code: 'answer',
    resource: ['Appointment'],
    system: false,
    type: true,
    instance: false,
    parameter: [
      { name: 'token', use: 'in', min: 1, max: '1', type: 'string', documentation: 'The last part of the link.' },
      {
        name: 'answer',
        use: 'in',
        min: 0,
        max: '1',
        type: 'code',
        documentation: 'come, cancel, or stop (no more messages); without it nothing is done.',
      },
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Parameters',
        documentation:
          'status (proposed, if it is offered; booked, pending, cancelled), start and end of the appointment, and each answer that is possible; move stands for an appointment of the caller, which it names.',
      },
    ],
  };
}

const feedInputs: NonNullable<OperationDefinition['parameter']> = [
  { name: 'token', use: 'in', min: 0, max: '1', type: 'string', documentation: 'The secret of a link.' },
  { name: 'schedule', use: 'in', min: 0, max: '1', type: 'Reference', documentation: 'A calendar; for staff.' },
  {
    name: 'action',
    use: 'in',
    min: 0,
    max: '1',
    type: 'code',
    documentation: 'look, make (the link before ends), or end; with schedule.',
  },
  {
    name: 'names',
    use: 'in',
    min: 0,
    max: '1',
    type: 'boolean',
    documentation: 'Whether it names patients; with make.',
  },
];

/** The definition of `$feed`, which gives out the calendar of a secret link, and by which staff make and end such links. */
export function feedOperation(config: BookingConfig): OperationDefinition {
  return {
    resourceType: 'OperationDefinition',
    ...addressOf('feed', config),
    ...metadata,
    name: 'feed',
    title: 'Calendar feed',
    kind: 'operation',
    description:
      'The calendar of a person or a room as iCalendar, for whoever has its secret link; for staff, whether there is a link, a new one, or the end of it.',
    affectsState: true,
    code: 'feed',
    resource: ['Schedule'],
    system: false,
    type: true,
    instance: false,
    parameter: [
      ...feedInputs,
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Parameters',
        documentation: 'calendar (a text); or active, names and, once, link.',
      },
    ],
  };
}

/** The definition of `$absence`, by which staff say that somebody is absent, and what becomes of the appointments. */
export function absenceOperation(config: BookingConfig): OperationDefinition {
  const calendars = (name: string, min: number, documentation: string): Input => ({
    name,
    min,
    max: '*',
    type: 'Reference',
    targetProfile: [artefactUri(config, 'LocalSchedule')],
    documentation,
  });
  const single = (name: string, type: Input['type'], documentation: string, min = 0): Input => ({
    name,
    min,
    max: '1',
    type,
    documentation,
  });
  const entry: Input['part'] = [
    { name: 'appointment', use: 'in', min: 1, max: '1', type: 'Reference', documentation: 'The appointment.' },
    {
      name: 'proposal',
      use: 'in',
      min: 0,
      max: '1',
      documentation: 'What is offered in its place; without it somebody calls.',
      part: [
        { name: 'schedule', use: 'in', min: 1, max: '1', type: 'Reference', documentation: 'The Schedule.' },
        { name: 'slot', use: 'in', min: 1, max: '*', type: 'Reference', documentation: 'All Slots that it takes.' },
        { name: 'start', use: 'in', min: 1, max: '1', type: 'instant', documentation: 'When it begins.' },
        { name: 'end', use: 'in', min: 1, max: '1', type: 'instant', documentation: 'When it ends.' },
      ],
    },
  ];
  const taken: Input[] = [
    calendars('schedule', 1, 'The Schedules in which nothing takes place.'),
    single('period', 'Period', 'From when to when: instants, or days of the clinic.', 1),
    single('reason', 'string', 'Why, for staff: the comment of the blocked time.'),
    calendars('substitute', 0, 'Schedules that may take the place of those that are absent.'),
    single('dry-run', 'boolean', 'Plan, and write nothing.'),
    { name: 'plan', min: 0, max: '*', documentation: 'What staff have changed in the plan.', part: entry },
    single('silence', 'code', 'Confirms the plan: keep, cancel or move what nobody answers for.'),
    single('end', 'instant', 'Ends the absence earlier than was said.'),
  ];
  return {
    resourceType: 'OperationDefinition',
    ...addressOf('absence', config),
    ...metadata,
    name: 'absence',
    title: 'Say that somebody is absent',
    kind: 'operation',
    description:
      'Blocks the time of Schedules and plans what takes the place of their appointments; with silence the plan is confirmed, and each person is offered another time. For staff of the clinic.',
    affectsState: true,
    code: 'absence',
    resource: ['Schedule'],
    system: false,
    type: true,
    instance: false,
    parameter: [
      ...taken.map((input) => ({ ...input, use: 'in' as const })),
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Parameters',
        documentation:
          'absence (the Task of it), block (the Slots), and for each appointment a plan: appointment, proposal, reach (portal, message, call), and once it is confirmed outcome (waiting, offered, moved, declined, call, over).',
      },
    ],
  };
}

/** The definition of `$deliver`, with which staff have a subscriber's waiting notifications sent now. */
export function deliverOperation(config: BookingConfig): OperationDefinition {
  return {
    resourceType: 'OperationDefinition',
    ...addressOf('deliver', config),
    ...metadata,
    name: 'deliver',
    title: 'Deliver waiting notifications',
    kind: 'operation',
    description:
      'Sends at once the notifications that wait for the next attempt; a Subscription in error becomes requested again, and gets a handshake first. For staff of the clinic.',
    affectsState: true,
    code: 'deliver',
    resource: ['Subscription'],
    system: false,
    type: false,
    instance: true,
    parameter: [
      {
        name: 'return',
        use: 'out',
        min: 1,
        max: '1',
        type: 'Bundle',
        documentation: 'The state of the Subscription, as $status returns it.',
      },
    ],
  };
}
