import type { Extension } from '@medplum/fhirtypes';
import { type Content, type Html, html } from '../../../packages/web/html.ts';
import type { Doctor } from '../clinic/doctors.ts';
import { type BookableSchedule, type BookableService, hasWords, usesWaitlist } from '../clinic/services.ts';
import type { FreeTime } from '../clinic/times.ts';
import type { Reply, Visit } from '../http/visit.ts';
import { formatTime } from '../visit/chosen-time.ts';
import { type Movable, when } from './appointment.ts';
import { payerChoice } from './services.ts';
import { bookingFields } from './taken.ts';

type Query = Readonly<Record<string, string | undefined>>;

/** The content of the page of bookable times. */
interface TimesPage {
  readonly service: BookableService;
  readonly payers: ReadonlyMap<string, Extension>;
  /** The selected Schedule; `undefined`: any. */
  readonly schedule: BookableSchedule | undefined;
  /** Times by local day. */
  readonly days: ReadonlyMap<string, readonly FreeTime[]>;
  readonly day: string | undefined;
  readonly isFirst: boolean;
  /** Practitioners by actor. */
  readonly doctors: ReadonlyMap<string, Doctor>;
  /** Whether the days are shown as months. */
  readonly isMonth: boolean;
  /** The people to choose from, by next bookable time, and the search for their names. */
  readonly people: readonly Person[];
  readonly who: string;
  /** The first days of the shown months. */
  readonly months: readonly string[];
  /** First day of the span, if it is not today. */
  readonly from: string | undefined;
  readonly today: string;
  readonly last: string;
  readonly isComplete: boolean;
  readonly earlier: string | undefined;
  readonly later: string | undefined;
  /** The next bookable time after a span without any. */
  readonly next: FreeTime | undefined;
  /** The appointment to be moved, and its parameters in the URLs of the page. */
  readonly move: (Movable & { readonly query: Query }) | undefined;
}

/** The parameters that all URLs of the page keep. */
const choiceOf = ({ service, schedule, move, isMonth }: TimesPage): Query => ({
  service: service.key,
  payer: service.payer?.valueCoding?.code,
  schedule: schedule?.reference,
  ...move?.query,
  view: isMonth ? 'month' : undefined,
});

function address({ portal }: Visit, page: TimesPage, query: Query): string {
  const all = { ...choiceOf(page), ...query };
  const known = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${portal.options.path}/times?${new URLSearchParams(known).toString()}`;
}

const hiddenFields = (page: TimesPage, query: Query = {}): Content =>
  Object.entries({ ...choiceOf(page), ...query }).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`,
  );

/** Maximum of people with a card, and of those in the list below; the search finds all. */
export const MAX_CARDS = 12;
const MAX_OTHERS = 30;

type Person = { readonly schedule: BookableSchedule; readonly next: FreeTime | undefined };

/** The people of a service whose names match a search, by next bookable time; few of them also by name. */
export function peopleOf({ schedules }: BookableService, times: readonly FreeTime[], who: string): Person[] {
  const first = new Map(times.toReversed().map((time) => [time.schedule.reference, time]));
  return schedules
    .filter(({ name }) => name !== '' && hasWords(name, who))
    .map((schedule) => ({ schedule, next: first.get(schedule.reference) }))
    .toSorted((a, b) => (schedules.length > MAX_CARDS ? 0 : a.schedule.name.localeCompare(b.schedule.name)))
    .toSorted((a, b) => (a.next?.start ?? Number.MAX_VALUE) - (b.next?.start ?? Number.MAX_VALUE));
}

export const withCard = (people: readonly Person[], chosen: BookableSchedule | undefined): BookableSchedule[] => [
  ...people.slice(0, MAX_CARDS).map(({ schedule }) => schedule),
  ...(chosen ? [chosen] : []),
];

function languagesOf({ texts }: Visit, { languages }: Doctor): string {
  const names = new Intl.DisplayNames(texts.locale, { type: 'language' });
  const nameOf = (tag: string): string => (/^[a-z]{2,3}(-[A-Z]{2})?$/.test(tag) ? names.of(tag) : undefined) ?? tag;
  return new Intl.ListFormat(texts.locale).format(languages.map(nameOf));
}

function personCard(visit: Visit, page: TimesPage, { name, actor }: BookableSchedule, next?: FreeTime): Html {
  const { texts, say, clock, portal } = visit;
  const doctor = page.doctors.get(actor);
  const { id = '', picture, workplace, languages = [] } = doctor ?? {};
  const address = `${portal.options.path}/pictures/Practitioner/${id}?v=${picture?.version}`;
  const time = next && say(texts.times.at, { time: clock.time(next.start), day: clock.shortDay(next.start) });
  return html`${picture && html`<img src="${address}" width="48" height="48" alt="" loading="lazy">`}<span><strong dir="auto">${name}</strong>
${workplace && html`<span class="note">${workplace}</span>`}
${doctor && languages.length > 0 && html`<span class="note">${say(texts.times.speaks, { languages: languagesOf(visit, doctor) })}</span>`}
<span class="note">${time ? say(texts.times.nextFree, { time }) : page.service.schedules.length <= MAX_CARDS && texts.times.notFree}</span></span>`;
}

function personSearch({ texts, portal }: Visit, page: TimesPage): Html | false {
  return (
    page.service.schedules.length > MAX_CARDS &&
    html`<form action="${portal.options.path}/times" class="from">${hiddenFields(page, { schedule: undefined })}<label for="who">${texts.times.find}</label>
<input type="search" id="who" name="who" maxlength="100" value="${page.who}"> <button class="secondary">${texts.times.show}</button></form>`
  );
}

/** The links keep the selected day. */
function personChoice(visit: Visit, page: TimesPage): Html {
  const { texts } = visit;
  const { schedule: chosen, people, from, day, who } = page;
  const option = (schedule: string | undefined, content: Content): Html =>
    html`<li><a href="${address(visit, page, { schedule, from, day })}#people" class="day person"${schedule === chosen?.reference && html` aria-current="true"`}>${content}</a></li>`;
  const cards = new Set(withCard(people, chosen));
  const others = people.filter(({ schedule }) => !cards.has(schedule)).slice(0, MAX_OTHERS);
  const nextOf = (schedule: BookableSchedule) => people.find((person) => person.schedule === schedule)?.next;
  return html`<section id="people" aria-labelledby="people-title" class="people"><h2 id="people-title">${texts.times.withWhom}</h2>
${personSearch(visit, page)}<ul>${option(undefined, texts.times.anyone)}${[...cards].map((schedule) => option(schedule.reference, personCard(visit, page, schedule, nextOf(schedule))))}</ul>
${others.length > 0 && html`<details${who !== '' && html` open`}><summary>${texts.times.more}</summary><ul>${others.map(({ schedule }) => option(schedule.reference, schedule.name))}</ul></details>`}</section>`;
}

/** Number of the earliest times, which are listed if the day has more times than MANY. */
const EARLIEST = 4;
const MANY = 8;

function earliestTimes(visit: Visit, page: TimesPage): Html | false {
  const { texts, say, clock } = visit;
  const { schedule, isFirst, days, day, service } = page;
  const hasMany = service.schedules.length > 1 && (days.get(day ?? '')?.length ?? 0) > MANY;
  const buttons = [...days.values()]
    .flat()
    .slice(0, EARLIEST)
    .map((time) => {
      const label = say(texts.times.at, { time: clock.time(time.start), day: clock.shortDay(time.start) });
      return timeButton(
        time,
        'secondary',
        html`<strong>${label}</strong>${time.schedule.name && html`<br>${time.schedule.name}`}`,
      );
    });
  return (
    schedule === undefined &&
    isFirst &&
    hasMany &&
    html`<section aria-labelledby="earliest-title" class="earliest"><h2 id="earliest-title">${texts.times.earliest}</h2>
${timeForm(visit, page, html`<ul>${buttons}</ul>`)}</section>`
  );
}

const timeButton = (time: FreeTime, style: 'time' | 'secondary', label: Content): Html =>
  html`<li><button name="time" value="${formatTime({ ...time, schedule: time.schedule.reference })}" class="${style}">${label}</button></li>`;

/** The form whose buttons hold a time, or lead to the page that confirms a move. */
function timeForm({ portal }: Visit, { move, service }: TimesPage, content: Content): Html {
  const { path } = portal.options;
  const action = move === undefined ? `${path}/hold` : `${move.own}/move`;
  return html`<form method="${move === undefined ? 'post' : 'get'}" action="${action}">
${bookingFields(service)}
${content}
</form>`;
}

function monthGrid(visit: Visit, page: TimesPage, first: string): Html {
  const { texts, say, clock } = visit;
  const { days, day, from } = page;
  const start = clock.startOf(first);
  const isOfMonth = (one: string): boolean => one.slice(0, 7) === first.slice(0, 7);
  const dates = Array.from({ length: 31 }, (_, index) => clock.dayOf(clock.startOf(first, index))).filter(isOfMonth);
  const empty = (new Date(`${first}T00:00:00Z`).getUTCDay() + 6) % 7;
  const cell = (one: string | undefined): Html => {
    const times = days.get(one ?? '');
    const noon = one === undefined ? 0 : clock.startOf(one);
    const label = times && `${clock.longDay(noon)}, ${say(texts.times.free, { number: times.length })}`;
    return html`<td>${
      times
        ? html`<a href="${address(visit, page, { from, day: one })}#times" aria-label="${label}"${one === day && html` aria-current="date"`}>${clock.dayOfMonth(noon)}</a>`
        : one && clock.dayOfMonth(noon)
    }</td>`;
  };
  const cells = [...Array.from({ length: empty }, () => undefined), ...dates];
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) =>
    cells.slice(week * 7, week * 7 + 7),
  ).filter((week) => week.some((one) => one !== undefined && one >= page.today));
  return html`<table class="month"><caption>${clock.month(start)}</caption>
<thead><tr>${clock.weekdays.map(([long, narrow]) => html`<th scope="col" aria-label="${long}">${narrow}</th>`)}</tr></thead>
<tbody>${weeks.map((week) => html`<tr>${week.map(cell)}</tr>`)}</tbody></table>`;
}

function dateChoice(visit: Visit, page: TimesPage): Html {
  const { texts, portal } = visit;
  const { isMonth, from, today, last } = page;
  const other = address(visit, page, { from, view: isMonth ? undefined : 'month' });
  return html`<form action="${portal.options.path}/times" class="from">${hiddenFields(page)}<label for="from">${texts.times.from}</label>
<input type="date" id="from" name="from" min="${today}" max="${last}" value="${from ?? today}"> <button class="secondary">${texts.times.show}</button></form>
<p><a href="${other}">${isMonth ? texts.times.twoWeeks : texts.times.month}</a></p>`;
}

function otherDays(visit: Visit, page: TimesPage): Html {
  const { texts } = visit;
  const { earlier, later } = page;
  return html`<p class="pager">${earlier !== undefined && html`<a href="${address(visit, page, { from: earlier })}" rel="prev">${texts.times.earlier}</a>`}
${later !== undefined && html`<a href="${address(visit, page, { from: later })}" rel="next">${texts.times.later}</a>`}</p>
${dateChoice(visit, page)}`;
}

function dayList(visit: Visit, page: TimesPage): Html {
  const { texts, say, clock } = visit;
  const { days, day, from, isMonth, months } = page;
  const items = [...days].map(
    ([
      one,
      times,
    ]) => html`<li><a href="${address(visit, page, { from, day: one })}#times" class="day"${one === day && html` aria-current="date"`}>
<span>${clock.shortDay(times[0]?.start ?? 0)}</span> <span class="note">${say(texts.times.free, { number: times.length })}</span></a></li>`,
  );
  return html`<section aria-labelledby="days-title">
<h2 id="days-title">${texts.times.days}</h2>
${isMonth ? months.map((first) => monthGrid(visit, page, first)) : days.size > 0 && html`<ul class="days">${items}</ul>`}
</section>`;
}

const parts = [
  ['morning', 12],
  ['afternoon', 17],
  ['evening', 24],
] as const;

/** Maximum of times of a day across several Schedules. */
const MAX_TIMES = 40;

const hasPeople = ({ service }: TimesPage): boolean => service.schedules.filter(({ name }) => name !== '').length > 1;

/** Reduces too many times of a day to one per start; if people can be chosen, to a sample of these. */
function shownTimes(page: TimesPage, times: readonly FreeTime[]): readonly FreeTime[] {
  if (page.schedule !== undefined || times.length <= MAX_TIMES) {
    return times;
  }
  const moments = [...Map.groupBy(times, ({ start }) => start).values()];
  const step = hasPeople(page) ? Math.ceil(moments.length / MAX_TIMES) : 1;
  return moments.flatMap((own, index) => (index % step === 0 ? (own[index % own.length] ?? []) : []));
}

function groupsOf({ texts, clock }: Visit, isByPerson: boolean, times: readonly FreeTime[]): [string, FreeTime[]][] {
  if (isByPerson) {
    const bySchedule = Map.groupBy(times, ({ schedule }) => schedule);
    return [...bySchedule].map(([{ name }, own]) => [name, own]);
  }
  const partOf = ({ start }: FreeTime) => parts.find(([, end]) => clock.hourOf(start) < end)?.[0] ?? 'evening';
  return [...Map.groupBy(times, partOf)].map(([part, own]) => [texts.times[part], own]);
}

function timeList(visit: Visit, page: TimesPage): Html | false {
  const { texts, say, clock } = visit;
  const freeTimes = page.days.get(page.day ?? '') ?? [];
  const times = shownTimes(page, freeTimes);
  const [first] = times;
  if (!first) {
    return false;
  }
  const isSome = times.length < freeTimes.length;
  const isByPerson = page.service.schedules.length > 1 && !isSome;
  const label = ({ start, schedule: { name } }: FreeTime): Content =>
    isSome && name !== '' ? html`${clock.time(start)}<br><small dir="auto">${name}</small>` : clock.time(start);
  const groups = groupsOf(visit, isByPerson, times).map(([name, own], index) => {
    const buttons = own.map((time) => timeButton(time, 'time', label(time)));
    return html`<h3 id="group-${index}">${name}</h3><ul class="times${isSome && ' named'}" aria-labelledby="group-${index}">${buttons}</ul>`;
  });
  const isRequest = times.some(({ schedule }) => schedule.isRequest);
  return html`<section id="times" aria-labelledby="times-title">
<h2 id="times-title">${say(texts.times.times, { day: clock.longDay(first.start) })}</h2>
${isRequest && html`<p class="note">${texts.times.request}</p>`}
${((isSome && hasPeople(page)) || !page.isComplete) && html`<p class="note">${texts.times.incomplete}</p>`}
${timeForm(visit, page, groups)}
</section>`;
}

/** A link to the waitlist, if the service has one. */
export function waitLink(
  { texts, portal }: Visit,
  {
    service,
    schedule,
    move,
    from,
  }: Pick<TimesPage, 'service' | 'from'> & { schedule?: TimesPage['schedule']; move: unknown },
): Html | false {
  const all = { service: service.key, payer: service.payer?.valueCoding?.code, schedule: schedule?.reference, from };
  const known = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const isKept = schedule ? schedule.hasWaitlist : usesWaitlist(service);
  return (
    isKept &&
    move === undefined &&
    html`<p><a href="${portal.options.path}/wait?${new URLSearchParams(known).toString()}">${texts.wait.title}</a></p>`
  );
}

/** The page of bookable times: the days of a span, and the times of one day. */
export function timesPage(visit: Visit, page: TimesPage): Reply {
  const { texts, say, clock, portal } = visit;
  const { next, move, days, earlier, service } = page;
  const title = move === undefined ? texts.times.title : texts.times.moveTitle;
  const nothing = next
    ? html`<p>${texts.times.none}</p><p><a href="${address(visit, page, { from: clock.dayOf(next.start) })}">${say(texts.times.next, { day: clock.longDay(next.start) })}</a></p>`
    : html`<p>${earlier === undefined ? texts.times.noneAtAll : texts.times.noneLater}</p>`;
  const calendar = html`${earliestTimes(visit, page)}${days.size === 0 ? html`<div>${nothing}</div>` : html`${dayList(visit, page)}${timeList(visit, page)}`}`;
  const more = html`<section>${otherDays(visit, page)}${waitLink(visit, page)}</section>`;
  const body = html`${move === undefined && html`<p class="step">${say(texts.step, { step: 2, steps: 3 })}</p>`}
<h1>${title}</h1>
<p class="chosen">${page.service.name}${move === undefined && html` <a href="${portal.options.path}/${service.payer && `?payer=${encodeURIComponent(service.payer.valueCoding?.code ?? '')}`}">${texts.times.otherService}</a>`}</p>
${move && html`<p>${texts.appointment.isMoved}: ${when(visit, move)}</p>`}
${payerChoice(visit, page.payers, service.payer, (payer) => address(visit, page, { payer }))}
${
  hasPeople(page)
    ? html`<div class="columns">${personChoice(visit, page)}<div>${calendar}${more}</div></div>`
    : html`<div class="columns">${calendar}</div>${more}`
}`;
  return { kind: 'page', title, body, isPublic: move === undefined };
}
