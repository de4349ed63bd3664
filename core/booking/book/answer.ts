import type { Appointment, Parameters } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../fhir/resource.ts';

/**
 * Request header by which the gateway asks the Bot `book` for an answer that says whether the appointment is new.
 * Direct callers of the operation in Medplum do not send it and get the Appointment alone.
 */
export const ANSWER_HEADER = 'x-booking-answer';

/** Value of the header: answer with Parameters. */
export const AS_PARAMETERS = 'parameters';

/** What came of `$book`: an appointment, and whether an earlier, identical request had booked it already. */
export interface BookingAnswer {
  readonly appointment: Appointment;
  readonly isExisting: boolean;
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
  const isAsked = isObject(headers) && headers[ANSWER_HEADER] === AS_PARAMETERS;
  return isAsked
    ? {
        resourceType: 'Parameters',
        parameter: [
          { name: 'return', resource: appointment },
          { name: 'existing', valueBoolean: isExisting },
        ],
      }
    : appointment;
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
