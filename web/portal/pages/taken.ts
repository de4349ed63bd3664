import { html } from '../../server/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { RefusalReason } from '../texts/en.ts';
import { type ChosenTime, formatTime } from '../visit/chosen-time.ts';

/** The page for a time that was gone before it could be held: the next best, each held with one click. */
export function takenPage(
  { texts, clock, portal }: Visit,
  service: BookableService,
  reason: RefusalReason,
  alternatives: readonly ChosenTime[],
): Reply {
  const { path } = portal.options;
  const times = `${path}/times?${new URLSearchParams({ service: service.key }).toString()}`;
  const buttons = alternatives.map((time) => {
    const name = service.schedules.find(({ reference }) => reference === time.schedule)?.name ?? '';
    const label = texts.times.at(clock.time(time.start), clock.longDay(time.start), name);
    return html`<li><button name="time" value="${formatTime(time)}" class="secondary">${label}</button></li>`;
  });
  const body = html`<p class="step">${texts.step(2)}</p>
<h1>${service.name}</h1>
<div class="alert" role="alert" tabindex="-1" autofocus><p><strong>${texts.refusals[reason]}</strong></p></div>
${
  buttons.length > 0 &&
  html`<h2>${texts.alternatives.title}</h2>
<form method="post" action="${path}/hold"><input type="hidden" name="service" value="${service.key}">
<ul class="alternatives">${buttons}</ul></form>`
}
<p><a href="${times}">${texts.alternatives.others}</a></p>`;
  return { kind: 'page', title: service.name, body, status: 409, isProblem: true };
}
