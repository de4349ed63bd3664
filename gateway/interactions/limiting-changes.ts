import { appointmentsIn, asksForDryRun } from '../../core/booking/book/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { nameOf } from '../medplum/current-profile.ts';

const diagnosticsOf = ({ requestors }: BookingConfig): string =>
  `You can book, hold or change appointments at most ${requestors.maxBookingsPerMinute} times a minute. Each 64 KB of an appointment or a patient count once more: wait and try again.`;

/** The bytes of a body that count as one more change: a limit by number alone would let a portal store any amount. */
const PIECE = 65_536;

/** As how many changes a body counts beside the change itself; one of unknown length as the longest. */
function piecesOf({ header }: FhirRequest, { limits }: GatewayContext): number {
  const length = header('transfer-encoding') === undefined ? Number(header('content-length') ?? 0) : limits.bodyBytes;
  return Math.floor(length / PIECE);
}

/**
 * Lets a requestor make only so many changes in a minute. Each change of an appointment counts, also several of one, which
 * the Bots count once: its subscribers are told of each; a patient counts by its size alone. What was refused, or only
 * judged, does not count.
 */
export function limitingChanges(handler: Handler, of: 'appointment' | 'patient' = 'appointment'): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    const weight = (of === 'appointment' ? Math.max(1, appointmentsIn(body)) : 0) + piecesOf(exchange, context);
    if (caller?.role !== 'requestor' || weight === 0) {
      return handler(exchange, context);
    }
    const taken = context.changes.take(nameOf(caller), weight);
    if (typeof taken === 'number') {
      const expression = of === 'appointment' ? 'Appointment' : 'Patient';
      const { headers, ...refused } = refusal(
        [{ code: 'too-many-bookings', diagnostics: diagnosticsOf(context.config), expression }],
        context.config,
      );
      return { ...refused, headers: { ...headers, 'retry-after': String(taken) } };
    }
    const answer = await handler(exchange, context);
    if ((answer.status >= 400 && answer.status < 500) || asksForDryRun(body)) {
      taken();
    }
    return answer;
  };
}
