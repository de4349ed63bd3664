import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, OperationOutcome } from '@medplum/fhirtypes';
import { asExisting } from '../core/booking/book/idempotency.ts';
import { parseBookRequest } from '../core/booking/book/request.ts';
import { toOperationOutcome } from '../core/fhir/outcome.ts';
import { bookAppointment } from './lib/booking/book.ts';
import { callerOf } from './lib/caller.ts';
import { config } from './lib/config.ts';

/**
 * Carries out `$book` while the caller waits.
 *
 * @param event - input: the body of `$book`; headers: those of the request, for the caller's credentials
 * @returns the Appointment, `booked` or `pending`, or an OperationOutcome whose id stands for the HTTP status
 * @see specification 4.4
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | OperationOutcome> {
  const result = await bookAppointment(medplum, parseBookRequest(event.input, config), callerOf(event));
  if (result.kind === 'refused') {
    return toOperationOutcome(result.issues, config);
  }
  return result.kind === 'existing' ? asExisting(result.appointment, config) : result.appointment;
}
