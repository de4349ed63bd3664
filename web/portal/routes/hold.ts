import { randomUUID } from 'node:crypto';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { detailsPage } from '../pages/details.ts';
import { failurePage } from '../pages/failure.ts';
import { takenPage } from '../pages/taken.ts';
import { parseTime } from '../visit/chosen-time.ts';
import { type Pending, sealPending } from '../visit/pending.ts';
import { holdRequest } from '../visit/requests.ts';
import { pageOf } from './details.ts';
import { alternativesTo, reasonOf } from './refusals.ts';
import { currentHold, heldUntil, identifierOf, serviceOf, type UnderWay } from './under-way.ts';

/** `POST /hold`: holds a time, and goes on to the details. */
export const holdTime: PageHandler = async (visit) => {
  const { portal, form } = visit;
  const time = parseTime(form.get('time'));
  const service = await serviceOf(visit, form.get('service'));
  if (!time || !service) {
    return failurePage(visit, 'notFound');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  const key = randomUUID();
  const held = await portal.service.hold(holdRequest({ time, service, identifier: identifierOf(portal, key) }));
  const pending: Pending = { service: service.key, time, key, hold: isRefusal(held) ? '' : (held.id ?? '') };
  const sealed = await sealPending(portal.seal, pending, portal.now());
  // A time that cannot be held because too many are held, or because the service is busy, can still be booked.
  if (!isRefusal(held) || ['tooManyHolds', 'busy'].includes(reasonOf(held))) {
    return { kind: 'redirect', to: `${portal.options.path}/details?${new URLSearchParams({ b: sealed }).toString()}` };
  }
  const alternatives = await alternativesTo(portal, held, service, time);
  return takenPage(visit, service, reasonOf(held), alternatives ?? []);
};

/** Holds the time longer, or again; what was typed stays. */
export async function prolong(visit: Visit, booking: UnderWay): Promise<Reply> {
  const { portal, texts, clock, form } = visit;
  const { pending, service } = booking;
  const identifier = identifierOf(portal, pending.key);
  const held = await portal.service.hold(
    holdRequest({ time: pending.time, service, identifier }, pending.hold || undefined),
  );
  const until = isRefusal(held) ? await currentHold(visit, pending) : heldUntil(portal, held);
  const news =
    isRefusal(held) || until === undefined ? texts.details.notProlonged : texts.details.prolonged(clock.time(until));
  if (visit.isScript) {
    const line = until === undefined ? '' : texts.details.heldUntil(clock.time(until));
    const times: Record<string, string> =
      until === undefined ? {} : { until: formatInstant(until), now: formatInstant(portal.now()) };
    return { kind: 'data', data: { news, line, ...times } };
  }
  const page = await pageOf(visit, booking, form, until);
  return 'kind' in page ? page : detailsPage(visit, { ...page, holdNews: news });
}

/** Gives the time back, and keeps what was typed for another one. */
export async function chooseOther(visit: Visit, { pending: { hold, service } }: UnderWay): Promise<Reply> {
  const { portal, form } = visit;
  const held = hold === '' ? undefined : await portal.service.read('Appointment', hold);
  if (held && !isRefusal(held) && heldUntil(portal, held) !== undefined) {
    await portal.service.cancel(held);
  }
  const query = new URLSearchParams({ service }).toString();
  return { kind: 'redirect', to: `${portal.options.path}/times?${query}`, draft: form };
}
