import { randomUUID } from 'node:crypto';
import type { Appointment } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import type { BookableService } from '../clinic/services.ts';
import { refusalOf } from '../clinic/times.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { detailsPage, LAST_MINUTES } from '../pages/details.ts';
import { failurePage } from '../pages/failure.ts';
import { takenPage } from '../pages/taken.ts';
import { withMore } from '../session/session.ts';
import { type ChosenTime, lengthOf, parseTime } from '../visit/chosen-time.ts';
import { type Pending, sealPending } from '../visit/pending.ts';
import { holdRequest } from '../visit/requests.ts';
import { pageOf } from './details.ts';
import { alternativesTo, reasonOf } from './refusals.ts';
import { currentHold, heldUntil, identifierOf, serviceOf, type UnderWay } from './under-way.ts';
import { askFor } from './visits.ts';

/** Assumed duration of a hold if the clinic does not name its end, in milliseconds. */
const ASSUMED_HOLD = 600_000;

/** The refusal if the visitor's quota of holds is exhausted. */
const enough: Refusal = { refused: true, status: 429, problems: [{ code: 'too-many-holds', alternatives: [] }] };

/**
 * Requests a hold within the visitor's quota. It counts until it ends.
 *
 * @param before - the hold that is prolonged, as `Pending.hold`
 */
async function hold(
  { portal, visitor }: Visit,
  key: string,
  service: BookableService,
  time: ChosenTime,
  before = '',
): Promise<readonly Appointment[] | Refusal> {
  const until = portal.now() + ASSUMED_HOLD;
  const takeBack = portal.shares.take(visitor, key, lengthOf(time), until);
  if (!takeBack) {
    return enough;
  }
  const ids = before === '' ? [] : before.split(',');
  const wanted = { time, service, identifier: identifierOf(portal, key) };
  const held = await askFor(portal, 'hold', wanted, (booking) => holdRequest(booking, ids));
  if (!isRefusal(held)) {
    const [first] = held;
    portal.shares.take(visitor, key, lengthOf(time), (first && heldUntil(portal, first)) ?? until);
  } else if (reasonOf(held) !== 'unknown') {
    takeBack();
  }
  return held;
}

/** `POST /hold`: holds a time and redirects to the details. */
export const holdTime: PageHandler = async (visit) => {
  const { portal, form } = visit;
  const time = parseTime(form.get('time'));
  const service = await serviceOf(visit, form.get('service'), form.get('payer'));
  if (!time || !service) {
    return failurePage(visit, 'notFound');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  // The times of a visit are validated by the clinic's service.
  const problem = time.steps ? undefined : await refusalOf(portal.service, service, time);
  const key = randomUUID();
  const held = problem ?? (await hold(visit, key, service, time));
  // Without a hold because of a limit, the time can still be booked.
  if (!isRefusal(held) || (!problem && ['tooManyHolds', 'busy'].includes(reasonOf(held)))) {
    const session = withMore(visit.session);
    const id = isRefusal(held) ? '' : held.map((appointment) => appointment.id ?? '').join(',');
    const payer = service.payer?.valueCoding?.code ?? '';
    const pending: Pending = { browser: session.browser, service: service.key, payer, time, key, hold: id };
    const sealed = await sealPending(portal.seal, pending, portal.now());
    const to = `${portal.options.path}/details?${new URLSearchParams({ b: sealed }).toString()}`;
    return { kind: 'redirect', to, session };
  }
  const alternatives = await alternativesTo(visit, held, service, time);
  return takenPage(visit, service, reasonOf(held), alternatives ?? []);
};

/** Prolongs or renews a hold; keeps the input. */
export async function prolong(visit: Visit, booking: UnderWay): Promise<Reply> {
  const { portal, texts, say, clock, form } = visit;
  const { pending, service } = booking;
  const before = await currentHold(visit, pending);
  const isEarly = before !== undefined && before - portal.now() >= LAST_MINUTES;
  const held = isEarly ? undefined : await hold(visit, pending.key, service, pending.time, pending.hold);
  const [first] = held && !isRefusal(held) ? held : [];
  const until = first ? heldUntil(portal, first) : before;
  const notice = isEarly
    ? say(texts.details.tooEarly, { time: clock.time(before) })
    : held === undefined || isRefusal(held) || until === undefined
      ? texts.details.notProlonged
      : say(texts.details.prolonged, { time: clock.time(until) });
  if (visit.isScript) {
    const line = until === undefined ? '' : say(texts.details.heldUntil, { time: clock.time(until) });
    const times: Record<string, string> =
      until === undefined ? {} : { until: formatInstant(until), now: formatInstant(portal.now()) };
    return { kind: 'data', data: { notice, line, ...times } };
  }
  const page = await pageOf(visit, booking, form, until);
  return 'kind' in page ? page : detailsPage(visit, { ...page, holdNotice: notice });
}

/** Releases the hold, and keeps the input for another time. */
export async function chooseOther(visit: Visit, { pending }: UnderWay): Promise<Reply> {
  const { portal, form, visitor } = visit;
  const { service, payer, key } = pending;
  // Cancelling the first step may cancel the whole visit. If it does not, the other steps are still held.
  for (const id of pending.hold === '' ? [] : pending.hold.split(',')) {
    const held = await portal.service.read('Appointment', id);
    if (!isRefusal(held) && heldUntil(portal, held) !== undefined) {
      const ended = await portal.service.cancel(held);
      if (!isRefusal(ended)) {
        portal.shares.end(visitor, key);
      }
    }
  }
  const query = new URLSearchParams({ service, ...(payer && { payer }) }).toString();
  return { kind: 'redirect', to: `${portal.options.path}/times?${query}`, draft: form };
}
