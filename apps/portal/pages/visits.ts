import { type Html, html } from '../../../packages/web/html.ts';
import type { ChosenStep } from '../../../packages/web/refusal.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { type ChosenTime, formatTime } from '../visit/chosen-time.ts';
import { when } from './appointment.ts';
import { bookingFields } from './taken.ts';
import { waitLink } from './times.ts';

/** A bookable visit. */
export interface ProposedVisit {
  readonly time: ChosenTime;
  readonly steps: readonly (ChosenStep & {
    readonly what: string | undefined;
    readonly withWhom: readonly string[];
    /** The regular time of the series, if it was not free. */
    readonly before: number | undefined;
  })[];
}

/** The appointments of a series that are moved together, and the others. */
export interface RestOfSeries {
  readonly moved: readonly AppointmentView[];
  readonly stays: readonly AppointmentView[];
}

/** The content of the page of visits. */
interface VisitsPage {
  readonly service: BookableService;
  readonly visits: readonly ProposedVisit[];
  /** Whether the search was incomplete. */
  readonly isCutShort: boolean;
  /** Names of steps. */
  readonly optional: readonly string[];
  readonly without: readonly string[];
  readonly today: string;
  readonly last: string;
  readonly from: string | undefined;
  readonly earlier: string | undefined;
  readonly later: string | undefined;
  /** The start after which the later visits begin, if the page has no room for all of its span. */
  readonly after: number | undefined;
  readonly next: number | undefined;
  readonly move: AppointmentView | undefined;
  readonly rest: RestOfSeries | undefined;
}

const allOf = (rest: RestOfSeries | undefined): string | undefined =>
  rest && (rest.stays.length > 0 ? 'usual' : 'stays');

function address(
  { portal }: Visit,
  { service, move, without, rest }: VisitsPage,
  from: string | undefined,
  all = allOf(rest),
  after?: number,
): string {
  const known = {
    service: service.key,
    payer: service.payer?.valueCoding?.code,
    move: move?.id,
    all,
    from,
    after: after?.toString(),
  };
  const named = Object.entries(known).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const left = without.map((name): [string, string] => ['without', name]);
  return `${portal.options.path}/times?${new URLSearchParams([...named, ...left]).toString()}`;
}

function stepLine({ clock }: Visit, { start }: ChosenTime, step: ProposedVisit['steps'][number], isSeries: boolean) {
  const isOtherDay = isSeries || clock.dayOf(step.start) !== clock.dayOf(start);
  const time = `${isOtherDay ? `${clock.shortDay(step.start)}, ` : ''}${clock.time(step.start)}–${clock.time(step.end)}`;
  const what = isSeries ? undefined : (step.what ?? step.name);
  return [time, what, ...step.withWhom].filter((one) => one).join(' · ');
}

/** Number of appointments of a series at their regular time, and the alternatives to the others. */
function seriesNotes({ texts, say, clock }: Visit, { steps }: ProposedVisit, count: number): Html {
  const { visit } = texts;
  const moved = steps.flatMap(({ before, start }) => (before === undefined ? [] : [{ before, start }]));
  const missing = count - steps.length;
  const fitting = steps.length - moved.length;
  const time = (at: number): string => `${clock.shortDay(at)}, ${clock.time(at)}`;
  return html`<p><strong>${say(visit.fit, { number: fitting, all: count })}</strong></p>
${moved.map(({ before, start }) => html`<p>${say(visit.instead, { before: time(before), after: time(start) })}</p>`)}
${missing > 0 && html`<p>${say(visit.missing, { number: missing })}</p>`}`;
}

function proposalCard(visit: Visit, { service, rest }: VisitsPage, proposal: ProposedVisit): Html {
  const { texts, say, clock } = visit;
  const { time, steps } = proposal;
  const series = service.visit?.series;
  const label = say(texts.times.at, { time: clock.time(time.start), day: clock.longDay(time.start) });
  return html`<li class="card"><h2>${label}</h2>${series && seriesNotes(visit, proposal, rest?.moved.length ?? series.count)}
<ol>${steps.map((step) => html`<li>${stepLine(visit, time, step, series !== undefined)}</li>`)}</ol>
<p><button name="time" value="${formatTime(time)}" class="secondary" aria-label="${texts.visit.choose}: ${label}">${texts.visit.choose}</button></p></li>`;
}

function wishForm({ texts, portal }: Visit, page: VisitsPage): Html {
  const { service, move, rest, optional, without, today, last, from } = page;
  const hidden = Object.entries({
    service: service.key,
    payer: service.payer?.valueCoding?.code,
    move: move?.id,
    all: allOf(rest),
  }).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`);
  const boxes = optional.map(
    (name) =>
      html`<label><input type="checkbox" name="without" value="${name}"${without.includes(name) && html` checked`}> ${name}</label>`,
  );
  return html`<form action="${portal.options.path}/times" class="from">${hidden}
${boxes.length > 0 && html`<fieldset class="group"><legend>${texts.visit.without}</legend>${boxes}</fieldset>`}
<label for="from">${texts.times.from}</label>
<input type="date" id="from" name="from" min="${today}" max="${last}" value="${from ?? today}"> <button class="secondary">${texts.times.show}</button></form>`;
}

/** The page of visits, each with its appointments and one button. */
export function visitsPage(visit: Visit, page: VisitsPage): Reply {
  const { texts, say, clock, portal } = visit;
  const { path } = portal.options;
  const { service, visits, isCutShort, earlier, later, next, move, rest } = page;
  const title = move === undefined ? texts.visit.chooseTitle : texts.times.moveTitle;
  const nothing = next
    ? html`<p>${texts.visit.none}</p><p><a href="${address(visit, page, clock.dayOf(next))}">${say(texts.times.next, { day: clock.longDay(next) })}</a></p>`
    : html`<p>${isCutShort ? texts.visit.tooMany : texts.visit.none}</p>`;
  const action = move === undefined ? `${path}/hold` : `${path}/appointments/${move.id}/move`;
  const body = html`${move === undefined && html`<p class="step">${say(texts.step, { step: 2, steps: 3 })}</p>`}
<h1>${title}</h1>
<p class="chosen">${service.name}${move === undefined && html` <a href="${path}/">${texts.times.otherService}</a>`}</p>
${move && html`<p>${texts.appointment.isMoved}: ${rest ? html`${rest.moved.map((view, index) => html`${index > 0 && html`; `}${when(visit, view)}`)}` : when(visit, move)}</p>`}
${
  rest &&
  rest.stays.length > 0 &&
  html`<p>${texts.visit.stays}</p><ul>${rest.stays.map((view) => html`<li>${when(visit, view)}</li>`)}</ul>
<p><a href="${address(visit, page, page.from, 'stays')}">${texts.visit.moveStays}</a></p>`
}
${
  visits.length > 0
    ? html`<form method="${move === undefined ? 'post' : 'get'}" action="${action}">${bookingFields(service)}
<ul class="cards">${visits.map((proposedVisit) => proposalCard(visit, page, proposedVisit))}</ul></form>
${isCutShort && html`<p class="note">${texts.visit.tooMany}</p>`}`
    : nothing
}
<p class="pager">${earlier !== undefined && html`<a href="${address(visit, page, earlier)}" rel="prev">${texts.times.earlier}</a>`}
${later !== undefined && html`<a href="${address(visit, page, later, undefined, page.after)}" rel="next">${texts.times.later}</a>`}</p>
${wishForm(visit, page)}
${waitLink(visit, page)}`;
  return { kind: 'page', title, body, isPublic: move === undefined };
}
