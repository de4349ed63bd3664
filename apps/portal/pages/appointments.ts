import { type Html, html } from '../../../packages/web/html.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { linkBox, offerPart, type PersonalLink, when } from './appointment.ts';

/** The day is only named if it differs from the first step's. */
function stepLine({ clock }: Visit, { start: first = 0 }: AppointmentView, step: AppointmentView): string {
  const { start, what, withWhom, where } = step;
  const isLater = start !== undefined && clock.longDay(start) !== clock.longDay(first);
  const at = start !== undefined && [...(isLater ? [clock.longDay(start)] : []), clock.time(start)].join(', ');
  return [at, what, withWhom, where].filter((one) => one).join(' · ');
}

function list(visit: Visit, title: string, views: readonly AppointmentView[]): Html | false {
  const { texts, portal } = visit;
  const items = views.map(
    (
      view,
    ) => html`<li><a href="${portal.options.path}/appointments/${view.id}" class="card"><span class="name">${when(visit, view)}</span>
<span>${[view.steps.length === 0 && view.what, view.withWhom, view.forWhom].filter((one) => one).join(' · ')}</span>
${view.steps.map((step) => html`<span>${stepLine(visit, view, step)}</span>`)}
${view.position && html`<span>${texts.wait.place}: ${view.position}</span>`}
<span class="state ${view.state}">${texts.states[view.isByClinic ? 'refused' : view.state]}</span></a></li>`,
  );
  return views.length > 0 && html`<h2>${title}</h2><ul class="cards">${items}</ul>`;
}

/** The page of a patient's appointments, without cancelled waitlist entries. */
export function appointmentsPage(visit: Visit, all: readonly AppointmentView[]): Reply {
  const { texts, portal } = visit;
  const views = all.filter(({ state, wish }) => !(wish && state === 'cancelled'));
  const isPast = ({ start, state }: AppointmentView): boolean =>
    state === 'cancelled' || (start !== undefined && start < portal.now());
  const waiting = views.filter(({ state }) => state === 'waiting');
  const coming = views
    .filter((view) => !isPast(view) && !view.wish && !view.offer)
    .toSorted((a, b) => (a.start ?? 0) - (b.start ?? 0));
  const past = views.filter(isPast).toSorted((a, b) => (b.start ?? 0) - (a.start ?? 0));
  const body = html`<h1>${texts.list.title}</h1>
${views.map((view) => offerPart(visit, view))}
${views.length === 0 && html`<p>${texts.list.none}</p><p><a href="${portal.options.path}/">${texts.book}</a></p>`}
${list(visit, texts.list.coming, coming)}${list(visit, texts.wait.list, waiting)}${list(visit, texts.list.past, past)}`;
  return { kind: 'page', title: texts.list.title, body };
}

/** The page for a visitor without a session. */
export function noSessionPage({ texts, portal }: Visit, hasLeft: boolean): Reply {
  const body = html`<h1>${texts.list.noSession}</h1>
${hasLeft && html`<p role="status">${texts.leave.done}</p>`}
<p>${texts.list.noSessionNote}</p><p><a href="${portal.options.path}/">${texts.book}</a></p>`;
  return { kind: 'page', title: texts.list.noSession, body, ...(!hasLeft && { status: 403 }) };
}

/** Asks before the session and the input are removed from the device. */
export function leavePage(visit: Visit, link: PersonalLink | undefined): Reply {
  const { texts, portal } = visit;
  const { note, typed, yes, ...leave } = texts.leave;
  const title = link ? leave.title : leave.forget;
  const { path } = portal.options;
  const body = html`<h1>${title}</h1>
<p>${link ? note : typed}</p>
${link && linkBox(visit, link)}
<form method="post" action="${path}/leave" class="actions"><button class="danger">${yes}</button>
<a href="${path}/appointments" class="button">${texts.appointment.keep}</a></form>`;
  return { kind: 'page', title, body };
}
