import type { OperationDefinition, OperationDefinitionParameter } from '@medplum/fhirtypes';
import { MAX_APPOINTMENTS } from '../core/booking/request/parameters.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { artefactUri } from '../core/fhir/artefacts.ts';
import { metadata } from './metadata.ts';

/** Extension that names the Bot of an operation for Medplum. */
export const OPERATION_IMPLEMENTATION =
  'https://medplum.com/fhir/StructureDefinition/operationDefinition-implementation';

type Parameter = OperationDefinitionParameter;

type Code = 'book' | 'hold' | 'find' | 'waitlist' | 'deliver' | 'answer' | 'feed' | 'absence';

/** An input parameter, by default optional and not repeated. */
const taken = (
  name: string,
  type: Parameter['type'],
  documentation: string,
  { min = 0, max = '1', ...more }: Partial<Parameter> = {},
): Parameter => ({ name, use: 'in', min, max, ...(type && { type }), ...more, documentation });

const returned = (type: Parameter['type'], documentation: string): Parameter => ({
  name: 'return',
  use: 'out',
  min: 1,
  max: '1',
  type,
  documentation,
});

/**
 * An operation, by default one on a type that changes data. Its URL is where Medplum stores it, below the
 * installation's base. If it implements a publisher's definition, that is its base.
 */
function operation(
  code: Code,
  resource: 'Appointment' | 'Schedule' | 'Subscription',
  config: BookingConfig,
  {
    extension,
    ...said
  }: Pick<OperationDefinition, 'title' | 'description' | 'parameter'> & Partial<OperationDefinition>,
): OperationDefinition {
  const url = `${config.localBase}/OperationDefinition/${code}`;
  const base = artefactUri(config, code);
  return {
    resourceType: 'OperationDefinition',
    ...(extension && { extension }),
    url,
    ...(base !== url && { base }),
    ...metadata,
    name: code,
    kind: 'operation',
    affectsState: true,
    code,
    resource: [resource],
    system: false,
    type: true,
    instance: false,
    ...said,
  };
}

const carriedOutBy = (bot: string | undefined): Pick<OperationDefinition, 'extension'> =>
  bot === undefined ? {} : { extension: [{ url: OPERATION_IMPLEMENTATION, valueReference: { reference: bot } }] };

const persons = (config: BookingConfig): Parameter[] => [
  taken(
    'patient',
    'Patient',
    `The patient (${artefactUri(config, 'LocalPatient')}), if it is submitted with the booking.`,
  ),
  taken('related-person', 'RelatedPerson', 'Who books for the patient.'),
];

const proposed = (config: BookingConfig, max: number): Parameter =>
  taken(
    'appt-resource',
    'Appointment',
    `The proposed appointment (${artefactUri(config, 'LocalTermin')}). It may also be the whole body, or be called appointment. Several are the steps of one visit: all are booked, or none.`,
    { min: 1, max: String(max) },
  );

const answers = (config: BookingConfig): Parameter =>
  taken(
    'patientSubmittedInformation',
    'QuestionnaireResponse',
    `Answers of the patient (${artefactUri(config, 'LocalQuestionnaireResponse')}).`,
    { max: '*' },
  );

const inputs = (config: BookingConfig): Parameter[] => [
  proposed(config, MAX_APPOINTMENTS),
  ...persons(config),
  answers(config),
  taken('schedule', 'Reference', 'A schedule in which the service selects free slots, if the appointment names none.', {
    targetProfile: [artefactUri(config, 'LocalSchedule')],
  }),
];

const replaced = taken(
  'cancelled-appt-id',
  'uri',
  'The appointment that the new one replaces, as uri (also accepted: Reference). Both changes happen, or neither.',
);

const dryRun = taken(
  'dry-run',
  'boolean',
  'Judge everything and write nothing: an informational OperationOutcome, or the refusal.',
);

/**
 * The definition of `$hold`. It differs from `$book`: the patient may still be missing, and no appointment can be
 * replaced.
 *
 * @param bot - reference to the Bot that holds, once it is deployed
 */
export const holdOperation = (config: BookingConfig, bot?: string): OperationDefinition =>
  operation('hold', 'Appointment', config, {
    ...carriedOutBy(bot),
    title: 'Hold a time',
    description:
      'Holds a time for the caller for some minutes; the appointment is booked when it is sent to $book under its id.',
    parameter: [
      ...inputs(config),
      taken('personal-offer', 'boolean', 'Offer the time to its patient: the service asks, and the acceptance books.'),
      dryRun,
      returned('Appointment', 'The appointment, proposed; an OperationOutcome instead if the time cannot be held.'),
    ],
  });

/**
 * The definition of `$book`. Medplum's handling of custom operations reads two things from it. The extension names the
 * Bot. The single `out` parameter, `return` of type Appointment, makes the response the Bot's unchanged result.
 *
 * @param bot - reference to the Bot that books, once it is deployed
 * @see specification section 4.4
 */
export const bookOperation = (config: BookingConfig, bot?: string): OperationDefinition =>
  operation('book', 'Appointment', config, {
    ...carriedOutBy(bot),
    title: 'Book an appointment',
    description: 'Books an appointment, moves an existing one, or replaces one with another.',
    parameter: [
      ...inputs(config),
      replaced,
      dryRun,
      returned(
        'Appointment',
        'The appointment, booked or pending; a Bundle (collection) of several; an OperationOutcome instead if it cannot be booked.',
      ),
    ],
  });

/** The definition of `$waitlist`: a portal puts a person on the waitlist, and reads the position. */
export const waitlistOperation = (config: BookingConfig): OperationDefinition =>
  operation('waitlist', 'Appointment', config, {
    title: 'Wait for a time',
    description:
      'Puts a person on the waitlist: an Appointment with the status waitlist, its service, and the times wished for in requestedPeriod. Sent again under its id, it is answered with its place.',
    parameter: [
      proposed(config, 1),
      ...persons(config),
      answers(config),
      taken(
        'standing-appt-id',
        'uri',
        'The appointment that stands until something earlier is taken, as uri (also accepted: Reference).',
      ),
      returned('Appointment', 'The entry with its place; an OperationOutcome instead if there can be none.'),
    ],
  });

/** The definition of `$find`: a portal searches for whole visits. */
export const findOperation = (config: BookingConfig): OperationDefinition =>
  operation('find', 'Appointment', config, {
    title: 'Find visits',
    description:
      'Proposes visits that the caller can book now: for each time at which one can start the most compact one, the earliest first.',
    affectsState: false,
    parameter: [
      taken('service', 'Reference', 'The HealthcareService.', { min: 1 }),
      taken('period', 'Period', 'In which the whole visit must be; at most a year.', { min: 1 }),
      taken('count', 'positiveInt', 'At most so many visits, up to 20; 5 if absent.'),
      taken('actor', 'Reference', 'Who or what is wished for: where one of them can take a step, nobody else does.', {
        max: '50',
      }),
      taken('earliest', 'time', 'No appointment begins earlier in the day.'),
      taken('latest', 'time', 'No appointment ends later in the day.'),
      taken('without', 'string', 'An optional step that is left out.', { max: '10' }),
      taken('step', 'string', 'A step that is wanted; without any all are. Of a series, those that are moved.', {
        max: '20',
      }),
      taken('payer-kind', 'Coding', 'Who pays: what does not serve that is left out.'),
      taken('patient', 'Reference', 'The patient, to be named in the appointments.'),
      returned(
        'Bundle',
        'Bundles of proposed appointments in the order of time, each to be sent to $book as it stands; at last, if there may be more, an OperationOutcome.',
      ),
    ],
  });

/** The definition of `$answer`: a portal passes on a person's reply to a message of the clinic. */
export const replyOperation = (config: BookingConfig): OperationDefinition =>
  operation('answer', 'Appointment', config, {
    title: 'Answer a message',
    description:
      'Passes on what a person answers to a message of the clinic about an appointment. The link in the message is all that it takes.',
    parameter: [
      taken('token', 'string', 'The last part of the link.', { min: 1 }),
      taken(
        'answer',
        'code',
        'come, cancel, move, stop (no more messages), or start (again); without it nothing is done.',
      ),
      taken('slot', 'Reference', 'The slot of the time that was chosen; with move.'),
      taken('start', 'instant', 'The start of that time.'),
      taken('end', 'instant', 'The end of that time.'),
      returned(
        'Parameters',
        'status (proposed, if it is offered; booked, pending, cancelled), start and end of the appointment, and each answer that is possible; move stands for an appointment of the caller, which it names.',
      ),
    ],
  });

/** The definition of `$feed`: returns the calendar feed of a secret link. Staff create and end such links with it. */
export const calendarFeedOperation = (config: BookingConfig): OperationDefinition =>
  operation('feed', 'Schedule', config, {
    title: 'Calendar feed',
    description:
      'The calendar of a person or a room as iCalendar, for whoever has its secret link; for staff, whether there is a link, a new one, or the end of it.',
    parameter: [
      taken('token', 'string', 'The secret of a link.'),
      taken('schedule', 'Reference', 'A calendar; for staff.'),
      taken('action', 'code', 'look, make (the link before ends), or end; with schedule.'),
      taken('names', 'boolean', 'Whether it names patients; with make.'),
      returned('Parameters', 'calendar (a text); or active, names and, once, link.'),
    ],
  });

/** An appointment in the plan of an absence, and its replacement. */
const planned: Parameter['part'] = [
  taken('appointment', 'Reference', 'The appointment.', { min: 1 }),
  taken('proposal', undefined, 'What is offered in its place; without it somebody calls.', {
    part: [
      taken('schedule', 'Reference', 'The Schedule.', { min: 1 }),
      taken('slot', 'Reference', 'All Slots that it takes.', { min: 1, max: '*' }),
      taken('start', 'instant', 'When it begins.', { min: 1 }),
      taken('end', 'instant', 'When it ends.', { min: 1 }),
    ],
  }),
];

/** The definition of `$absence`: staff record an absence, and the plan for the affected appointments. */
export function absenceOperation(config: BookingConfig): OperationDefinition {
  const calendars = { max: '*', targetProfile: [artefactUri(config, 'LocalSchedule')] };
  return operation('absence', 'Schedule', config, {
    title: 'Say that somebody is absent',
    description:
      'Blocks the time of Schedules and plans what takes the place of their appointments; with silence the plan is confirmed, and each person is offered another time. For staff of the clinic.',
    parameter: [
      taken('schedule', 'Reference', 'The Schedules in which nothing takes place.', { ...calendars, min: 1 }),
      taken('period', 'Period', 'From when to when: instants, or days of the clinic.', { min: 1 }),
      taken('reason', 'string', 'Why, for staff: the comment of the blocked time.'),
      taken('substitute', 'Reference', 'Schedules that may take the place of those that are absent.', calendars),
      taken('dry-run', 'boolean', 'Plan, and write nothing.'),
      taken('plan', undefined, 'What staff have changed in the plan.', { max: '*', part: planned }),
      taken('silence', 'code', 'Confirms the plan: keep, cancel or move what nobody answers for.'),
      taken('end', 'instant', 'Ends the absence earlier than was said.'),
      returned(
        'Parameters',
        'absence (the Task of it), block (the Slots), and for each appointment a plan: appointment, proposal, reach (portal, message, call), and once it is confirmed outcome (waiting, offered, moved, declined, call, over).',
      ),
    ],
  });
}

/** The definition of `$deliver`: staff have a subscriber's waiting notifications sent now. */
export const deliverOperation = (config: BookingConfig): OperationDefinition =>
  operation('deliver', 'Subscription', config, {
    title: 'Deliver waiting notifications',
    description:
      'Sends at once the notifications that wait for the next attempt; a Subscription in error becomes requested again, and gets a handshake first. For staff of the clinic.',
    type: false,
    instance: true,
    parameter: [returned('Bundle', 'The state of the Subscription, as $status returns it.')],
  });
