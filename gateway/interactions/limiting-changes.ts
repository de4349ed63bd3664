import { appointmentsIn, asksForDryRun } from '../../core/booking/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { parseReply } from '../../core/messages/reply.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';

/** Maximum number of Subscription changes per subscriber and minute: each may send a request to an endpoint. */
export const mostSubscriptionChanges = ({ notifications }: BookingConfig): number =>
  notifications.maxSubscriptions + 40;

/**
 * Maximum weight of requests without effect per requestor and minute: the Bots read for them from a Medplum quota that
 * all requestors share. It is high enough for retries after a conflict, and for portals with many visitors.
 */
export const maxWithoutEffect = ({ requestors }: BookingConfig): number => 5 * requestors.maxBookingsPerMinute;

/** Weights of requests without effect: a refused request reads more. */
const weights = { asked: 1, refused: 2 } as const;

/** Number of changes that a request counts as, without the size of its body; a read counts as none. */
const counts = {
  appointment: (body: unknown) => Math.max(1, appointmentsIn(body)),
  /** With an id alone, `$waitlist` only returns the position of an entry. */
  entry: (body: unknown) =>
    isObject(body) && Object.keys(body).every((name) => name === 'resourceType' || name === 'id') ? 0 : 1,
  answer: (body: unknown) => (parseReply(body)?.answer === undefined ? 0 : 1),
  subscription: () => 1,
  size: () => 0,
} as const;

/** The kind of a limited request; `size` counts only the bytes of the body. */
type Counted = keyof typeof counts;

function tooMany(of: Counted, body: unknown, retryAfter: string, { config }: GatewayContext): FhirResponse {
  if (of === 'subscription') {
    const diagnostics = `You can create or change Subscriptions at most ${mostSubscriptionChanges(config)} times a minute: wait and try again.`;
    return problem('too-many-requests', diagnostics, { 'retry-after': retryAfter });
  }
  const diagnostics = `You can book, hold or change appointments at most ${config.requestors.maxBookingsPerMinute} times a minute. Each 64 KB that you send count once more: wait and try again.`;
  const expression = isResource(body, 'Patient') ? 'Patient' : 'Appointment';
  const { headers, ...refused } = refusal([{ code: 'too-many-bookings', diagnostics, expression }], config);
  return { ...refused, headers: { ...headers, 'retry-after': retryAfter } };
}

/**
 * Counts a request as one without effect; returns a function that undoes this, or the seconds until the next allowed.
 */
export function countWithoutEffect(
  name: string,
  kind: keyof typeof weights,
  { withoutEffect }: Pick<GatewayContext, 'withoutEffect'>,
) {
  return withoutEffect.take(`${name} ${kind}`, weights[kind]);
}

/** Bytes of a body per further change: a limit of the number alone would let a portal store any amount. */
const PIECE = 65_536;

/** Number of further changes that a body counts as; a chunked body counts by its size as it is forwarded. */
function piecesOf({ header, body }: FhirRequest): number {
  const isChunked = header('transfer-encoding') !== undefined;
  const length = isChunked ? (JSON.stringify(body) ?? '').length : Number(header('content-length') ?? 0);
  return Math.floor(length / PIECE);
}

/**
 * Limits a requestor's changes per minute. Repeated changes of one appointment count each, because subscribers are
 * notified of each. A refused request or a dry run counts by its size alone, because the server has stored it for the
 * Bot all the same. The number of these requests, and of reads, has a limit of its own (`maxWithoutEffect`).
 */
export function limitingChanges(handler: Handler, of: Counted = 'appointment'): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    const pieces = piecesOf(exchange);
    const weight = counts[of](body) + pieces;
    if (caller?.role !== 'requestor') {
      return handler(exchange, context);
    }
    const name = nameOf(caller);
    const limit = of === 'subscription' ? context.subscriptionChanges : context.changes;
    const taken = weight === 0 ? () => undefined : limit.take(name, weight);
    if (typeof taken === 'number') {
      return tooMany(of, body, String(taken), context);
    }
    const isOnlyAsked = weight === pieces || asksForDryRun(body);
    const tried = countWithoutEffect(name, isOnlyAsked ? 'asked' : 'refused', context);
    if (typeof tried === 'number') {
      taken();
      return problem('too-many-requests', undefined, { 'retry-after': String(tried) });
    }
    const response = await handler(exchange, context);
    const isRefused = response.status >= 400 && response.status < 500;
    if (isRefused || asksForDryRun(body)) {
      taken(pieces);
    }
    if (!isRefused && !isOnlyAsked) {
      tried();
    }
    return response;
  };
}
