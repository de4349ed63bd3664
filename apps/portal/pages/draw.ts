import { html } from '../../../packages/web/html.ts';
import { type BookableService, drawOf } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { RefusalReason } from '../texts/texts.ts';
import type { ChosenTime } from '../visit/chosen-time.ts';
import { linkBox, type PersonalLink, when } from './appointment.ts';
import { drawNote, timesAddress } from './taken.ts';
import { waitLink } from './times.ts';

/** What has become of a time that was asked for. */
interface DrawPage {
  readonly service: BookableService;
  readonly time: ChosenTime;
  readonly link: PersonalLink;
  /** Why it was not booked; `undefined`: it may still be. */
  readonly refusal: RefusalReason | undefined;
}

/** The page of a time that was asked for, until it is booked: then the script goes on to the appointment. */
export function drawPage(visit: Visit, { service, time, link, refusal }: DrawPage): Reply {
  const { texts, portal, url } = visit;
  const { draw, appointment } = texts;
  const until = drawOf(service, time.schedule, portal.now());
  const schedule = service.schedules.find(({ reference }) => reference === time.schedule);
  const body = html`<h1 tabindex="-1" autofocus>${service.name}</h1>
<section id="state" class="card" data-state="${refusal ? 'lost' : 'asked'}"${!refusal && html` data-watch="${url}" data-news="${url}"`}>
<p class="state ${refusal ? 'cancelled' : 'asked'}">${refusal ? draw.lost : draw.asked}</p>
<p>${refusal === 'taken' ? draw.taken : refusal ? texts.refusals[refusal] : draw.note}</p>
${until !== undefined && drawNote(visit, until)}
<dl><div><dt>${appointment.when}</dt><dd>${when(visit, time)}</dd></div>
${schedule?.name && html`<div><dt>${appointment.withWhom}</dt><dd>${schedule.name}</dd></div>`}</dl>
</section>
<p role="status" class="news" id="state-news" data-behind="${appointment.behind}"></p>
<div id="actions"><p class="actions"><a href="${timesAddress(visit, service)}" class="button">${texts.alternatives.others}</a></p>
${refusal && waitLink(visit, { service, from: undefined, move: undefined })}</div>
<noscript><p><a href="${url}">${appointment.refresh}</a></p></noscript>
${!refusal && linkBox(visit, link)}`;
  return { kind: 'page', title: service.name, body };
}
