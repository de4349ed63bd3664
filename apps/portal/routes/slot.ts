import { html } from '../../../packages/web/html.ts';
import { timesIn } from '../clinic/times.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler } from '../http/visit.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { bookingFields, takenPage } from '../pages/taken.ts';
import { formatTime } from '../visit/chosen-time.ts';

/** `GET /slots/:id`, for directories. Only a script or the button holds the Slot, so that crawlers hold nothing. */
export const showSlot: PageHandler = async (visit) => {
  const { portal, texts, say, clock } = visit;
  const { path } = portal.options;
  const [services, slot] = await Promise.all([portal.services(), portal.service.read('Slot', visit.id)]);
  if (isRefusal(services)) {
    return failurePage(visit, 'unavailable');
  }
  if (isRefusal(slot)) {
    return slot.status === 404 || slot.status === 410
      ? { kind: 'redirect', to: `${path}/` }
      : failurePage(visit, failureOf(slot));
  }
  const [found] = services.flatMap((service) => {
    const times = timesIn(slot, service);
    return times.length > 0 ? [{ service, times }] : [];
  });
  const [time, ...others] = found?.times ?? [];
  if (!found || !time) {
    return { kind: 'redirect', to: `${path}/` };
  }
  const { service } = found;
  if (slot.status !== 'free' || time.start < portal.now()) {
    return takenPage(visit, service, 'taken', []);
  }
  if (others.length > 0) {
    const query = { service: service.key, schedule: time.schedule.reference, from: clock.dayOf(time.start) };
    return { kind: 'redirect', to: `${path}/times?${new URLSearchParams(query).toString()}` };
  }
  const chosen = { ...time, schedule: time.schedule.reference };
  const label = say(texts.times.at, { time: clock.time(time.start), day: clock.longDay(time.start) });
  const body = html`<p class="step">${say(texts.step, { step: 2, steps: 3 })}</p>
<h1>${service.name}</h1>
${time.schedule.name && html`<p class="chosen">${time.schedule.name}</p>`}
<form method="post" action="${path}/hold" class="hold-now">${bookingFields(service)}
<p><button name="time" value="${formatTime(chosen)}">${label}</button></p></form>
<p><a href="${path}/times?${new URLSearchParams({ service: service.key }).toString()}">${texts.alternatives.others}</a></p>`;
  return { kind: 'page', title: service.name, body };
};
