import type { Appointment, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../fhir/resource.ts';

/**
 * Request header by which the gateway asks the Bot `book` for an answer that says whether the appointment is new.
 * Direct callers of the operation in Medplum do not send it and get the Appointment alone.
 */
export const ANSWER_HEADER = 'x-booking-answer';

/** Value of the header: answer with Parameters. */
export const AS_PARAMETERS = 'parameters';

/**
 * Value of the header: as before, and the gateway lets the bookings of this caller take turns if the Bot asks for it.
 */
export const OFFERING_A_TURN = 'parameters-or-turn';

/** Request header by which the gateway tells the Bot `book` the version that the moved appointment must have (`If-Match`). */
export const VERSION_HEADER = 'x-booking-if-match';

/**
 * The version that an appointment must have which is moved.
 *
 * @param headers - of the request, by name in lower case
 */
export function versionAskedFor(headers: unknown): string | undefined {
  const version = isObject(headers) ? headers[VERSION_HEADER] : undefined;
  return typeof version === 'string' && version !== '' ? version : undefined;
}

/** What came of `$book`: an appointment, and whether an earlier, identical request had booked it already. */
export interface BookingAnswer {
  readonly appointment: Appointment;
  readonly isExisting: boolean;
}

const headerIn = (headers: unknown): unknown => (isObject(headers) ? headers[ANSWER_HEADER] : undefined);

/**
 * Whether the Bot may ask for a turn instead of trying again by itself.
 *
 * @param headers - of the request, by name in lower case
 */
export const isTurnOffered = (headers: unknown): boolean => headerIn(headers) === OFFERING_A_TURN;

const wantsParameters = (headers: unknown): boolean => headerIn(headers) === AS_PARAMETERS || isTurnOffered(headers);

/**
 * What the Bot `book` returns for a booking that others of its requestor have overtaken, since a quota counts them all.
 * Nothing was written.
 */
export const askForTurn: Parameters = { resourceType: 'Parameters', parameter: [{ name: 'turn', valueBoolean: true }] };

/** Whether the Bot `book` asks to be called again in the turn of its requestor. */
export function isAskingForTurn(body: unknown): boolean {
  const parameters = isResource(body, 'Parameters') ? (body.parameter ?? []) : [];
  return parameters.some(({ name, valueBoolean }) => name === 'turn' && valueBoolean === true);
}

/**
 * What the Bot `book` returns for an appointment.
 *
 * @param headers - of the request, by name in lower case
 * @returns the Appointment, or, if the request asks for it, Parameters with `return` (the Appointment) and `existing`
 */
export function formatBookingAnswer(
  { appointment, isExisting }: BookingAnswer,
  headers: unknown,
): Appointment | Parameters {
  return wantsParameters(headers)
    ? {
        resourceType: 'Parameters',
        parameter: [
          { name: 'return', resource: appointment },
          { name: 'existing', valueBoolean: isExisting },
        ],
      }
    : appointment;
}

/** The answer to a `dry-run` against which nothing speaks; what the Bots `book` and `hold` return of it. */
export const wouldBeCarriedOut: OperationOutcome = {
  resourceType: 'OperationOutcome',
  id: 'ok',
  issue: [
    {
      severity: 'information',
      code: 'informational',
      diagnostics: 'Nothing speaks against the request at this moment. Nothing was written (dry-run).',
    },
  ],
};

const DRY_RUN = 'dry-run';

/** What the Bots return of a `dry-run`; to the gateway in Parameters, for Medplum itself answers an empty result alike. */
export function formatDryRunAnswer(headers: unknown): OperationOutcome | Parameters {
  return wantsParameters(headers)
    ? { resourceType: 'Parameters', parameter: [{ name: DRY_RUN, resource: wouldBeCarriedOut }] }
    : wouldBeCarriedOut;
}

/** Whether a Bot has answered that a request would be carried out. */
export function isDryRunAnswer(body: unknown): boolean {
  return isResource(body, 'Parameters') && body.parameter?.some(({ name }) => name === DRY_RUN) === true;
}

/**
 * Reads what the Bot `book` has returned.
 *
 * @returns `undefined` if there is no stored Appointment in it
 */
export function parseBookingAnswer(body: unknown): BookingAnswer | undefined {
  const parameters = isResource(body, 'Parameters') ? (body.parameter ?? []) : [];
  const found = parameters.find(({ name }) => name === 'return')?.resource ?? body;
  const isExisting = parameters.find(({ name }) => name === 'existing')?.valueBoolean ?? false;
  return isResource(found, 'Appointment') && typeof found.id === 'string'
    ? { appointment: found, isExisting }
    : undefined;
}
