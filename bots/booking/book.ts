import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import {
  formatBookingResponse,
  formatDryRunResponse,
  leadsIn,
  versionAskedFor,
} from '../../core/booking/request/answer.ts';
import { parseBookRequest } from '../../core/booking/request/request.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { bookAppointment } from '../lib/booking/book.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';

/**
 * Carries out `$book` synchronously.
 * @param event - input: the body of `$book`; headers: those of the request, for the caller's credentials
 * @returns the Appointment, `booked` or `pending`, or a Bundle of several (in Parameters if the gateway asks for them,
 *   `formatBookingResponse`), or an OperationOutcome whose id stands for the HTTP status
 * @see specification 4.4
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | Bundle | Parameters | OperationOutcome> {
  const { request, ...parsed } = parseBookRequest(event.input, config);
  const asked = {
    ...parsed,
    ...(request && { request: { ...request, ifMatch: versionAskedFor(event.headers), leads: leadsIn(event.headers) } }),
  };
  const result = await bookAppointment(medplum, asked, callerOf(event));
  if (result.kind === 'refused') {
    return toOperationOutcome(result.issues, config);
  }
  if (result.kind === 'judged') {
    return formatDryRunResponse(event.headers);
  }
  const { appointments, kind } = result;
  return formatBookingResponse({ appointments, isExisting: kind === 'existing' }, event.headers);
}
