import { type Content, type Html, html } from '../../../packages/web/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { RefusalReason } from '../texts/texts.ts';
import { type ChosenTime, formatTime } from '../visit/chosen-time.ts';

/** The reason of a refusal, with focus, and possible remedies. */
export const refusalNote = ({ texts }: Visit, reason: RefusalReason | undefined, more?: Content): Content =>
  reason &&
  html`<div class="alert" role="alert" tabindex="-1" autofocus><p><strong>${texts.refusals[reason]}</strong></p>
${more}</div>`;

/** The times of a chosen visit's steps. */
export function chosenSteps({ clock }: Visit, { start: first, steps = [] }: ChosenTime): Html | false {
  const items = steps.map(({ start, end, name }) => {
    const day = clock.dayOf(start) === clock.dayOf(first) ? '' : `${clock.shortDay(start)}, `;
    // The steps of a series are named by numbers, which the list shows already.
    const what = /^\d+$/.test(name) ? '' : ` · ${name}`;
    return html`<li>${day}${clock.time(start)}–${clock.time(end)}${what}</li>`;
  });
  return items.length > 0 && html`<ol>${items}</ol>`;
}

/** Buttons for the alternative times, or a note that there are none. */
export function otherTimes(visit: Visit, times: readonly ChosenTime[], service?: BookableService, note?: Html): Html {
  const { texts, say, clock } = visit;
  const buttons = times.map((time) => {
    const name = service?.schedules.find(({ reference }) => reference === time.schedule)?.name;
    const label = say(texts.times.at, { time: clock.time(time.start), day: clock.longDay(time.start) });
    return html`<li><button name="time" value="${formatTime(time)}" class="secondary">${label}${name && html` · ${name}`}</button>${chosenSteps(visit, time)}</li>`;
  });
  return buttons.length > 0
    ? html`<h2>${texts.alternatives.title}</h2>${note}<ul class="alternatives">${buttons}</ul>`
    : html`<p>${texts.alternatives.none}</p>`;
}

/** The hidden fields that name the service of a form. */
export const bookingFields = ({ key, payer }: BookableService): Html =>
  html`<input type="hidden" name="service" value="${key}">${payer && html`<input type="hidden" name="payer" value="${payer.valueCoding?.code}">`}`;

function timesAddress({ portal }: Visit, { key, payer }: BookableService): string {
  const code = payer?.valueCoding?.code;
  const query = new URLSearchParams({ service: key, ...(code && { payer: code }) });
  return `${portal.options.path}/times?${query.toString()}`;
}

/** The page for a time that could not be held, with alternatives. */
export function takenPage(
  visit: Visit,
  service: BookableService,
  reason: RefusalReason,
  alternatives: readonly ChosenTime[],
): Reply {
  const { texts, say, portal } = visit;
  const { path } = portal.options;
  const body = html`<p class="step">${say(texts.step, { step: 2, steps: 3 })}</p>
<h1>${service.name}</h1>
${refusalNote(visit, reason)}
${
  alternatives.length > 0 &&
  html`<form method="post" action="${path}/hold">${bookingFields(service)}
${otherTimes(visit, alternatives, service)}</form>`
}
<p><a href="${timesAddress(visit, service)}">${texts.alternatives.others}</a></p>`;
  return { kind: 'page', title: service.name, body, status: 409, isProblem: true };
}
