import { type Html, html } from '../../server/html.ts';
import type { BookableSchedule, BookableService } from '../clinic/services.ts';
import type { FreeTime } from '../clinic/times.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { formatTime } from '../visit/chosen-time.ts';
import { when } from './appointment.ts';

/** What the page of free times shows. */
export interface TimesPage {
  readonly service: BookableService;
  /** The calendar that was chosen; `undefined`: any. */
  readonly schedule: BookableSchedule | undefined;
  /** The free times of the span, by their local day. */
  readonly days: ReadonlyMap<string, readonly FreeTime[]>;
  readonly day: string | undefined;
  /** The first day of the span, if it is not today. */
  readonly from: string | undefined;
  readonly isComplete: boolean;
  /** The first day of the span before, and of the one after. */
  readonly earlier: string | undefined;
  readonly later: string | undefined;
  /** The next free time after a span that has none. */
  readonly next: FreeTime | undefined;
  /** The appointment that is being moved. */
  readonly move: AppointmentView | undefined;
}

type Query = Readonly<Record<string, string | undefined>>;

function address({ portal }: Visit, { service, schedule, move }: TimesPage, query: Query): string {
  const all = { service: service.key, schedule: schedule?.reference, move: move?.id, ...query };
  const known = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${portal.options.path}/times?${new URLSearchParams(known).toString()}`;
}

/** With whom: the day that was looked at stays. */
function personChoice(visit: Visit, page: TimesPage): Html | false {
  const { texts } = visit;
  const { service, from, day } = page;
  const named = service.schedules.filter(({ name }) => name !== '');
  const option = (schedule: string | undefined, name: string): Html =>
    html`<li><a href="${address(visit, page, { schedule, from, day })}" class="day"${schedule === page.schedule?.reference && html` aria-current="true"`}>${name}</a></li>`;
  return (
    named.length > 1 &&
    html`<section aria-labelledby="people-title" class="people"><h2 id="people-title">${texts.times.withWhom}</h2>
<ul>${option(undefined, texts.times.anyone)}${named.map(({ reference, name }) => option(reference, name))}</ul></section>`
  );
}

function dayList(visit: Visit, page: TimesPage): Html {
  const { texts, say, clock } = visit;
  const { days, day, from, earlier, later } = page;
  const items = [...days].map(
    ([
      one,
      times,
    ]) => html`<li><a href="${address(visit, page, { from, day: one })}#times" class="day"${one === day && html` aria-current="date"`}>
<span>${clock.shortDay(times[0]?.start ?? 0)}</span> <span class="note">${say(texts.times.free, { number: times.length })}</span></a></li>`,
  );
  return html`<section aria-labelledby="days-title">
<h2 id="days-title">${texts.times.days}</h2>
${days.size > 0 && html`<ul class="days">${items}</ul>`}
<p class="pager">${earlier !== undefined && html`<a href="${address(visit, page, { from: earlier })}" rel="prev">${texts.times.earlier}</a>`}
${later !== undefined && html`<a href="${address(visit, page, { from: later })}" rel="next">${texts.times.later}</a>`}</p>
</section>`;
}

/** The parts of a day, by the hour in which they end. */
const parts = [
  ['morning', 12],
  ['afternoon', 17],
  ['evening', 24],
] as const;

function groupsOf({ texts, clock }: Visit, { service }: TimesPage, times: readonly FreeTime[]): [string, FreeTime[]][] {
  if (service.schedules.length > 1) {
    const bySchedule = Map.groupBy(times, ({ schedule }) => schedule);
    return [...bySchedule].map(([{ name }, own]) => [name, own]);
  }
  const hourOf = ({ start }: FreeTime): number => Number(clock.time(start).slice(0, 2));
  const partOf = (time: FreeTime) => parts.find(([, end]) => hourOf(time) < end)?.[0] ?? 'evening';
  return [...Map.groupBy(times, partOf)].map(([part, own]) => [texts.times[part], own]);
}

function timeList(visit: Visit, page: TimesPage): Html | false {
  const { texts, say, clock, portal } = visit;
  const { path } = portal.options;
  const times = page.days.get(page.day ?? '') ?? [];
  const [first] = times;
  if (!first) {
    return false;
  }
  const action = page.move === undefined ? `${path}/hold` : `${path}/appointments/${page.move.id}/move`;
  const groups = groupsOf(visit, page, times).map(([name, own], index) => {
    const buttons = own.map((time) => {
      const value = formatTime({ ...time, schedule: time.schedule.reference });
      return html`<li><button name="time" value="${value}" class="time">${clock.time(time.start)}</button></li>`;
    });
    return html`<h3 id="group-${index}">${name}</h3><ul class="times" aria-labelledby="group-${index}">${buttons}</ul>`;
  });
  const isRequest = times.some(({ schedule }) => schedule.isRequest);
  return html`<section id="times" aria-labelledby="times-title">
<h2 id="times-title">${say(texts.times.times, { day: clock.longDay(first.start) })}</h2>
${isRequest && html`<p class="note">${texts.times.request}</p>`}
<form method="${page.move === undefined ? 'post' : 'get'}" action="${action}">
<input type="hidden" name="service" value="${page.service.key}">
${groups}
</form>
</section>`;
}

/** The page of free times: the days of two weeks, and the times of one of them. */
export function timesPage(visit: Visit, page: TimesPage): Reply {
  const { texts, say, clock, portal } = visit;
  const { next, move, days, earlier, isComplete } = page;
  const title = move === undefined ? texts.times.title : texts.times.moveTitle;
  const nothing = next
    ? html`<p>${texts.times.none}</p><p><a href="${address(visit, page, { from: clock.dayOf(next.start) })}">${say(texts.times.next, { day: clock.longDay(next.start) })}</a></p>`
    : html`<p>${earlier === undefined ? texts.times.noneAtAll : texts.times.noneLater}</p>`;
  const body = html`${move === undefined && html`<p class="step">${say(texts.step, { step: 2, steps: 3 })}</p>`}
<h1>${title}</h1>
<p class="chosen">${page.service.name}${move === undefined && html` <a href="${portal.options.path}/">${texts.times.otherService}</a>`}</p>
${move && html`<p>${texts.appointment.isMoved}: ${when(visit, move)}</p>`}
${personChoice(visit, page)}
${days.size === 0 && nothing}
${!isComplete && html`<p class="note">${texts.times.incomplete}</p>`}
<div class="columns">
${dayList(visit, page)}
${timeList(visit, page)}
</div>`;
  return { kind: 'page', title, body, isPublic: move === undefined };
}
