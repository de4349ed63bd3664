import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import type { PersonalOffer } from '../../core/booking/appointment/expiry.ts';
import { formatBookingResponse, formatDryRunResponse, leadsIn } from '../../core/booking/request/answer.ts';
import { type BookRequest, parseBookRequest } from '../../core/booking/request/request.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { canBeAsked } from '../../core/messages/recipient.ts';
import { bookAppointment } from '../lib/booking/book.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { mediaOf } from '../lib/messages/send.ts';

/** Duration of a personal offer to a person for whom an assistant asks, in milliseconds. */
const QUESTION = 3_600_000;

const startsOf = (request: BookRequest | undefined): number[] =>
  (request?.appointments ?? []).flatMap(({ interval }) => interval?.start ?? []);

/** The personal offer to a person for whom an assistant asks: the person's reply to the message books. */
function personalOffer(starts: readonly number[], secrets: BotEvent['secrets']): PersonalOffer {
  const { from, page } = config.messages;
  const now = Date.now();
  const media = from && page ? mediaOf(secrets) : [];
  return {
    reason: 'assistant',
    for: [],
    until: Math.min(now + QUESTION, ...starts),
    canAsk: (patient) => canBeAsked(patient, media, now, config),
  };
}

/**
 * Carries out `$hold`: holds a time for the caller for some minutes, under the same rules as a booking. A personal
 * offer holds the time until its person has replied or it ends.
 * @param event - input: the body of `$hold`; headers: those of the request, for the caller's credentials
 * @returns the Appointment, `proposed` (in Parameters if the gateway asks for them, `formatBookingResponse`), or an
 *   OperationOutcome whose id stands for the HTTP status
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | Bundle | Parameters | OperationOutcome> {
  const { request, ...parsed } = parseBookRequest(event.input, config, 'hold');
  const asked = { ...parsed, ...(request && { request: { ...request, leads: leadsIn(event.headers) } }) };
  const offer = request?.isPersonalOffer ? personalOffer(startsOf(request), event.secrets) : undefined;
  const result = await bookAppointment(medplum, asked, callerOf(event), { purpose: 'hold', offer });
  if (result.kind === 'refused') {
    return toOperationOutcome(result.issues, config);
  }
  if (result.kind === 'judged') {
    return formatDryRunResponse(event.headers);
  }
  const { appointments, kind } = result;
  return formatBookingResponse({ appointments, isExisting: kind === 'existing' }, event.headers);
}
