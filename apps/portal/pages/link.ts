import { type Html, html } from '../../../packages/web/html.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { when } from './appointment.ts';

/** Asks before a link is opened in a session with other appointments; lists both. */
export function linkPage(visit: Visit, ofLink: readonly AppointmentView[], here: readonly AppointmentView[]): Reply {
  const { texts, portal } = visit;
  const { link } = texts;
  const list = (views: readonly AppointmentView[]): Html =>
    html`<ul>${views.map((view) => html`<li>${view.forWhom && html`<strong>${view.forWhom}</strong>, `}${when(visit, view)}${view.what && html`, ${view.what}`}</li>`)}</ul>`;
  const body = html`<h1>${link.title}</h1>
<p>${link.note}</p>
<h2>${link.ofLink}</h2>${list(ofLink)}
<h2>${link.here}</h2>${list(here)}
<form method="post" action="${portal.options.path}/link" class="actions">
<button name="show" value="only" class="primary">${link.only}</button>
<button name="show" value="both" class="secondary">${link.both}</button>
<button name="show" value="none" class="secondary">${link.neither}</button></form>`;
  return { kind: 'page', title: link.title, body };
}
