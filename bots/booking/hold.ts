import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import { formatBookingAnswer, formatDryRunAnswer, leadsIn } from '../../core/booking/book/answer.ts';
import { parseBookRequest } from '../../core/booking/book/request/request.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { bookAppointment } from '../lib/booking/book.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';

/**
 * Carries out `$hold`: keeps a time for the caller for some minutes, under the same rules as a booking.
 *
 * @param event - input: the body of `$hold`; headers: those of the request, for the caller's credentials
 * @returns the Appointment, `proposed` (in Parameters if the gateway asks for them, `formatBookingAnswer`), or an
 *   OperationOutcome whose id stands for the HTTP status
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | Bundle | Parameters | OperationOutcome> {
  const { request, ...parsed } = parseBookRequest(event.input, config, 'hold');
  const asked = { ...parsed, ...(request && { request: { ...request, leads: leadsIn(event.headers) } }) };
  const result = await bookAppointment(medplum, asked, callerOf(event), { purpose: 'hold' });
  if (result.kind === 'refused') {
    return toOperationOutcome(result.issues, config);
  }
  if (result.kind === 'judged') {
    return formatDryRunAnswer(event.headers);
  }
  const { appointments, kind } = result;
  return formatBookingAnswer({ appointments, isExisting: kind === 'existing' }, event.headers);
}
