import { appointmentsIn, asksForDryRun } from '../../core/booking/request/request.ts';
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

function tooMany(of: Counted, body: unknown, seconds: number, { config }: GatewayContext): FhirResponse {
  const { maxBookingsPerMinute: most } = config.requestors;
  const retry = { 'retry-after': String(seconds) };
  if (of !== 'appointment') {
    const subscriptions = Math.max(1, Math.floor((most * changeWeights.change) / changeWeights.subscription));
    const diagnostics = `You can change Subscriptions at most ${subscriptions} times a minute, and send at most ${most * changeWeights.change} requests that change nothing: wait and try again.`;
    return problem('too-many-requests', diagnostics, retry);
  }
  const diagnostics = `You can book, hold or change appointments at most ${most} times a minute. Each 64 KB that you send count once more: wait and try again.`;
  const expression = isResource(body, 'Patient') ? 'Patient' : 'Appointment';
  const { headers, ...refused } = refusal([{ code: 'too-many-bookings', diagnostics, expression }], config);
  return { ...refused, headers: { ...headers, ...retry } };
}

/** Counts a read of the Bots for a requestor; returns the refusal if the limit is reached. */
export function countRead(caller: Caller, context: GatewayContext): FhirResponse | undefined {
  const taken = context.changes.take(nameOf(caller), changeWeights.read);
  return typeof taken === 'number' ? tooMany('size', undefined, taken, context) : undefined;
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
 * Limits a requestor's changes, per minute and concurrent ones. Repeated changes of one appointment count each, because
 * subscribers are notified of each. A read, a dry run or a refused request counts as a part of a change, and by its
 * size, because the server has stored it for the Bot all the same.
 */
export function limitingChanges(handler: Handler, of: Counted = 'appointment'): Handler {
  return async (exchange, context) => {
    const { caller, body } = exchange;
    if (caller?.role !== 'requestor') {
      return handler(exchange, context);
    }
    const name = nameOf(caller);
    const size = weightOfSize(exchange);
    const count = of === 'appointment' ? Math.max(1, appointmentsIn(body)) : 1;
    const change = asksForDryRun(body) ? 0 : weights[of](body);
    const taken = context.changes.take(name, (change || changeWeights.read * count) + size);
    if (typeof taken === 'number') {
      return tooMany(of, body, taken, context);
    }
    const leave = await context.changePermits.take(name);
    if (!leave) {
      taken();
      return tooMany(of, body, 1, context);
    }
    const response = await handler(exchange, context).finally(leave);
    if (change > 0 && response.status >= 400 && response.status < 500) {
      taken(changeWeights.refused * count + size);
    }
    return response;
  };
}
