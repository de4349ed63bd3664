import { type Html, html } from '../../server/html.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { when } from './appointment.ts';

function list(visit: Visit, title: string, views: readonly AppointmentView[]): Html | false {
  const { texts, portal } = visit;
  const items = views.map(
    (
      view,
    ) => html`<li><a href="${portal.options.path}/appointments/${view.id}" class="card"><span class="name">${when(visit, view)}</span>
<span>${[view.what, view.withWhom, view.forWhom].filter((one) => one).join(' · ')}</span>
<span class="state ${view.state}">${texts.states[view.state]}</span></a></li>`,
  );
  return views.length > 0 && html`<h2>${title}</h2><ul class="cards">${items}</ul>`;
}

/** The page of a patient's appointments. */
export function appointmentsPage(visit: Visit, views: readonly AppointmentView[]): Reply {
  const { texts, portal } = visit;
  const isPast = ({ start, state }: AppointmentView): boolean =>
    state === 'cancelled' || (start !== undefined && start < portal.now());
  const coming = views.filter((view) => !isPast(view)).toSorted((a, b) => (a.start ?? 0) - (b.start ?? 0));
  const past = views.filter(isPast).toSorted((a, b) => (b.start ?? 0) - (a.start ?? 0));
  const body = html`<h1>${texts.list.title}</h1>
${views.length === 0 && html`<p>${texts.list.none}</p><p><a href="${portal.options.path}/">${texts.book}</a></p>`}
${list(visit, texts.list.coming, coming)}${list(visit, texts.list.past, past)}`;
  return { kind: 'page', title: texts.list.title, body };
}

/** What a visitor without a session sees in place of appointments. */
export function noSessionPage({ texts, portal }: Visit, hasLeft: boolean): Reply {
  const body = html`<h1>${texts.list.noSession}</h1>
${hasLeft && html`<p role="status">${texts.left}</p>`}
<p>${texts.list.noSessionNote}</p><p><a href="${portal.options.path}/">${texts.book}</a></p>`;
  return { kind: 'page', title: texts.list.noSession, body, ...(!hasLeft && { status: 403 }) };
}
