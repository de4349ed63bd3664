import type { OperationDefinition, OperationDefinitionParameter } from '@medplum/fhirtypes';
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
    max: '1',
    type: 'Appointment',
    documentation: `The proposed appointment (${artefactUri(config, 'LocalTermin')}). It may also be the whole body, or be called appointment.`,
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
  code: 'book' | 'hold' | 'deliver',
  config: BookingConfig,
): Pick<OperationDefinition, 'url' | 'base'> {
  const url = `${config.localBase}/OperationDefinition/${code}`;
  const base = artefactUri(config, code);
  return { url, ...(base !== url && { base }) };
}

/**
 * The definition of `$hold`: as that of `$book`, but for the patient, who need not be named yet, and an appointment to
 * replace.
 *
 * @param bot - reference to the Bot that holds, once it is deployed
 */
export function holdOperation(config: BookingConfig, bot?: string): OperationDefinition {
  return {
    ...bookOperation(config, bot),
    ...addressOf('hold', config),
    name: 'hold',
    title: 'Hold a time',
    description: 'Keeps a time for the caller for some minutes; sent to $book under its id, the appointment is booked.',
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
 * The definition of `$book`. Medplum's own handling of custom operations reads two things in it: the extension, which
 * names the Bot, and that there is one `out` parameter, `return`, of type Appointment: then what the Bot returns is
 * answered as it is.
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
    description: 'Books an appointment, moves a known one, or replaces one by another.',
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
        documentation: 'The appointment, booked or pending; an OperationOutcome instead if it cannot be booked.',
      },
    ],
  };
}

/** The definition of `$deliver`: staff have sent now what a subscriber is still to get. */
export function deliverOperation(config: BookingConfig): OperationDefinition {
  return {
    resourceType: 'OperationDefinition',
    ...addressOf('deliver', config),
    ...metadata,
    name: 'deliver',
    title: 'Deliver what waits',
    kind: 'operation',
    description:
      'Sends at once what waits for the next attempt; a Subscription in error is requested again, and gets a handshake first. For staff of the clinic.',
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
        documentation: 'The state of the Subscription, as $status answers it.',
      },
    ],
  };
}
