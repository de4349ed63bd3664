import { appointmentsIn, asksForDryRun } from '../../core/booking/request/request.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { parseReply } from '../../core/messages/reply.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { changeWeights } from '../limits.ts';
import { type Caller, nameOf } from '../medplum/current-profile.ts';

/** Weight of the changes of a request, without the size of its body; a read has none. */
const weights = {
  appointment: (body: unknown) => changeWeights.change * Math.max(1, appointmentsIn(body)),
  /** With an id alone, `$waitlist` only returns the position of an entry. */
  entry: (body: unknown) =>
    isObject(body) && Object.keys(body).every((name) => name === 'resourceType' || name === 'id')
      ? 0
      : changeWeights.change,
  answer: (body: unknown) => (parseReply(body)?.answer === undefined ? 0 : changeWeights.change),
  subscription: () => changeWeights.subscription,
  size: () => 0,
} as const;

/** The kind of a limited request; `size` counts only the bytes of the body. */
type Counted = keyof typeof weights;

/** The response 429; `seconds` is its `Retry-After`. Only a change of appointments has a business code. */
function changeRefusal(
  kind: Counted,
  body: unknown,
  diagnostics: string,
  seconds: number,
  config: BookingConfig,
): FhirResponse {
  const retry = { 'retry-after': String(seconds) };
  if (kind !== 'appointment') {
    return problem('too-many-requests', diagnostics, retry);
  }
  const expression = isResource(body, 'Patient') ? 'Patient' : 'Appointment';
  const refused = refusal([{ code: 'too-many-bookings', diagnostics, expression }], config);
  return { ...refused, headers: { ...refused.headers, ...retry } };
}

/** The refusal of a request that would exceed the requestor's weight per minute, of which other requests use a part. */
function rateRefusal(kind: Counted, body: unknown, seconds: number, { config }: GatewayContext): FhirResponse {
  const { maxBookingsPerMinute: changes } = config.requestors;
  const reads = Math.floor((changes * changeWeights.change) / changeWeights.read);
  const subscriptions = Math.max(1, Math.floor((changes * changeWeights.change) / changeWeights.subscription));
  const allowed: Readonly<Record<Counted, string>> = {
    appointment: `book, hold or change appointments at most ${changes} times a minute`,
    entry: `change entries of the waitlist at most ${changes} times a minute, or ask for positions ${reads} times`,
    answer: `reply to messages at most ${changes} times a minute, or ask what can be replied ${reads} times`,
    subscription: `change Subscriptions at most ${subscriptions} times a minute`,
    size: `send at most ${reads} such requests a minute`,
  };
  const diagnostics = `You can ${allowed[kind]}. Each 64 KB that you send count as one more change of an appointment: wait and try again.`;
  return changeRefusal(kind, body, diagnostics, seconds, config);
}

/** Counts a read of the Bots for a requestor; returns the refusal if the limit is reached. */
export function countRead(caller: Caller, context: GatewayContext): FhirResponse | undefined {
  const counted = context.changes.take(nameOf(caller), changeWeights.read);
  return typeof counted === 'number' ? rateRefusal('size', undefined, counted, context) : undefined;
}

/** Bytes of a body per further change: a limit of the number alone would let a portal store any amount. */
const PIECE = 65_536;

/** Weight of the size of a body; a chunked body counts by its size as it is forwarded. */
function weightOfSize({ header, body }: FhirRequest): number {
  const isChunked = header('transfer-encoding') !== undefined;
  const length = isChunked ? (JSON.stringify(body) ?? '').length : Number(header('content-length') ?? 0);
  return changeWeights.change * Math.floor(length / PIECE);
}

/**
 * Limits a requestor's changes, per minute and concurrent ones (429); staff are not limited. Repeated changes of one
 * appointment count each, because subscribers are notified of each. A read, a dry run or a refused request counts as a
 * part of a change, and by its size, because the server has stored it for the Bot all the same.
 */
export function limitingChanges(handler: Handler, kind: Counted = 'appointment'): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    if (caller?.role !== 'requestor') {
      return handler(exchange, context);
    }
    const name = nameOf(caller);
    const size = weightOfSize(exchange);
    const count = kind === 'appointment' ? Math.max(1, appointmentsIn(body)) : 1;
    const change = asksForDryRun(body) ? 0 : weights[kind](body);
    const uncount = context.changes.take(name, (change || changeWeights.read * count) + size);
    if (typeof uncount === 'number') {
      return rateRefusal(kind, body, uncount, context);
    }
    const releasePermit = await context.changePermits.take(name);
    if (!releasePermit) {
      uncount();
      const diagnostics = `At most ${context.limits.concurrentChanges} of your changes and operations run at the same time, and too many others wait: wait for responses, then try again.`;
      return changeRefusal(kind, body, diagnostics, 1, context.config);
    }
    const response = await handler(exchange, context).finally(releasePermit);
    if (change > 0 && response.status >= 400 && response.status < 500) {
      uncount(changeWeights.refused * count + size);
    }
    return response;
  };
}
