import { appointmentsIn, asksForDryRun } from '../../core/booking/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { parseReply } from '../../core/messages/reply.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';

/** How many changes of Subscriptions a subscriber can make within a minute: each may send something to an endpoint. */
export const mostSubscriptionChanges = ({ notifications }: BookingConfig): number =>
  notifications.maxSubscriptions + 40;

/**
 * How much a requestor can have Bots do within a minute that changes nothing: they read with rights, and from a quota of
 * Medplum's, that all requestors share. Those who were not fast enough may try again, and one visitor of a portal stops no others.
 */
export const maxWithoutEffect = ({ requestors }: BookingConfig): number => 5 * requestors.maxBookingsPerMinute;

/** As how much of that a request counts: for what is refused more is read. */
const inVainWeights = { asked: 1, refused: 2 } as const;

/** As how many changes a request counts, the size of its body aside: what only reads counts as none. */
const counts = {
  appointment: (body: unknown) => Math.max(1, appointmentsIn(body)),
  /** With an id alone, `$waitlist` says at which place an entry is. */
  entry: (body: unknown) =>
    isObject(body) && Object.keys(body).every((name) => name === 'resourceType' || name === 'id') ? 0 : 1,
  answer: (body: unknown) => (parseReply(body)?.answer === undefined ? 0 : 1),
  subscription: () => 1,
  size: () => 0,
} as const;

/** What is limited: `size` is what counts by its size alone. */
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

/** Counts what may change nothing; returns what takes it back, or the seconds until more may be tried. */
export function countWithoutEffect(
  name: string,
  kind: keyof typeof inVainWeights,
  { inVain }: Pick<GatewayContext, 'inVain'>,
) {
  return inVain.take(`${name} ${kind}`, inVainWeights[kind]);
}

/** The bytes of a body that count as one more change: a limit by number alone would let a portal store any amount. */
const PIECE = 65_536;

/** As how many changes a body counts beside the change itself; one that does not say its length as it is handed on. */
function piecesOf({ header, body }: FhirRequest): number {
  const isChunked = header('transfer-encoding') !== undefined;
  const length = isChunked ? (JSON.stringify(body) ?? '').length : Number(header('content-length') ?? 0);
  return Math.floor(length / PIECE);
}

/**
 * Lets a requestor make only so many changes in a minute. Each change of an appointment counts, also several of one, which
 * the Bots count once: its subscribers are told of each. What was refused, or only judged, counts by its size alone: the
 * server has stored it for the Bot all the same. How often that may be tried, and what only reads be asked, is counted apart.
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
