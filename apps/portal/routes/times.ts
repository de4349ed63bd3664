import { DAY } from '../../../core/time/time-zone.ts';
import { colourSheet } from '../clinic/clinic.ts';
import { isDay } from '../clinic/clock.ts';
import { type BookableService, payersOf, servicesFor } from '../clinic/services.ts';
import { type FreeTime, readTimes } from '../clinic/times.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Visit } from '../http/visit.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { servicesPage } from '../pages/services.ts';
import { MAX_CARDS, peopleOf, timesPage, withCard } from '../pages/times.ts';
import { findOwn, restOfSeries } from './appointments.ts';
import { movedBy } from './message.ts';
import { showVisits } from './visits.ts';

/** Days on a page, and days in which the next free time is searched. */
const SPAN = 14;
const AHEAD = 400;

/** `GET /`: the bookable services. */
export const showServices: PageHandler = async (visit) => {
  const services = await visit.portal.services();
  return isRefusal(services)
    ? failurePage(visit, 'unavailable')
    : servicesPage(visit, servicesFor(services, visit.query.get('payer')), payersOf(services));
};

/** `GET /pictures/{type}/:id`: the picture of a practitioner, or the clinic's logo. */
export const showPicture =
  (type: 'Practitioner' | 'Organization'): PageHandler =>
  async (visit) => {
    const { portal, query, id } = visit;
    const picture = await portal.picture(type, id, query.get('v'), portal.service);
    return picture
      ? { kind: 'asset', mediaType: picture.mediaType, content: picture.bytes }
      : failurePage(visit, 'notFound');
  };

/** `GET /colour.css`: the clinic's colour with sufficient contrast. */
export const showColour: PageHandler = async (visit) => {
  const colour = visit.query.get('c');
  return /^[0-9a-f]{6}$/.test(colour)
    ? { kind: 'asset', mediaType: 'text/css; charset=utf-8', content: colourSheet(colour) }
    : failurePage(visit, 'notFound');
};

/**
 * Script for sites that show the portal in a frame. It requests the height of the page, accepts messages only from the
 * portal's origin, and scrolls to the top of a new page.
 */
const embedScript = `(() => {
  const { origin } = new URL(document.currentScript.src);
  for (const frame of document.querySelectorAll(\`iframe[src^="\${origin}/"]\`)) {
    let pages = 0;
    const ask = () => frame.contentWindow.postMessage('portal-height', origin);
    frame.addEventListener('load', () => {
      ask();
      if (pages++ && frame.getBoundingClientRect().top < 0) frame.scrollIntoView();
    });
    addEventListener('message', ({ origin: from, source, data }) => {
      const height = Number(data?.portalHeight);
      if (from === origin && source === frame.contentWindow && height > 0 && height < 50000)
        frame.style.height = \`\${Math.ceil(height)}px\`;
    });
    ask();
  }
})();
`;

/** `GET /embed.js` */
export const showEmbedScript: PageHandler = async (visit) =>
  (visit.portal.options.embeddedIn ?? []).length > 0
    ? { kind: 'embed', script: embedScript }
    : failurePage(visit, 'notFound');

/** Groups times by day. Lanes of a Schedule with the same start are one choice. */
function byDay({ clock }: Visit, times: readonly FreeTime[]): Map<string, FreeTime[]> {
  const different = new Map(times.map((time) => [`${time.schedule.reference} ${time.start}`, time]));
  return Map.groupBy(different.values(), ({ start }) => clock.dayOf(start));
}

async function nextTime(
  { portal }: Visit,
  service: BookableService,
  schedules: BookableService['schedules'],
  from: number,
) {
  const found = await readTimes(
    portal.service,
    service,
    schedules,
    [from, from + AHEAD * DAY],
    service.payer ? 500 : 1,
  );
  return isRefusal(found) ? undefined : found.times[0];
}

/** The first day of the month of `day`, some months later. */
const monthOf = (day: string, later = 0): string =>
  new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + later, 1)).toISOString().slice(0, 10);

/** The appointment to be moved: the visitor's, or that of a message. */
async function movedIn(visit: Visit) {
  const { query, portal } = visit;
  const [move, message] = [query.get('move'), query.get('message')];
  if (move !== '') {
    const own = await findOwn(visit, move);
    const address = `${portal.options.path}/appointments/${move}`;
    return 'kind' in own ? own : { ...own.view, own: address, query: { move }, isOwn: true, found: own };
  }
  const moved = message === '' ? undefined : await movedBy(visit, message);
  return moved && !('kind' in moved) ? { ...moved, query: { message }, isOwn: false, payer: undefined } : moved;
}

/** `GET /times`: the bookable times of a service, two weeks or a month at a time. */
export const showTimes: PageHandler = async (visit) => {
  const { portal, query, clock } = visit;
  const services = await portal.services(query.get('service'));
  if (isRefusal(services)) {
    return failurePage(visit, 'unavailable');
  }
  const move = await movedIn(visit);
  if (move && 'kind' in move) {
    return move;
  }
  const payer = move?.isOwn ? move.payer : query.get('payer');
  const service = servicesFor(services, payer).find(({ key }) => key === query.get('service'));
  if (!service) {
    return failurePage(visit, 'notFound');
  }
  const own = move && 'id' in move ? move : undefined;
  // An appointment of a series moves alone unless `all` is set. The appointment of a message always moves alone.
  const needs = service.visit;
  const rest = needs?.series && own && query.get('all') !== '' ? own.found : undefined;
  if (needs && (rest || !(move && (needs.series || !own)))) {
    return showVisits(visit, service, own, rest && restOfSeries(rest, needs, portal.options.timeZone));
  }
  const schedule = service.schedules.find(({ reference }) => reference === query.get('schedule'));
  const schedules = schedule ? [schedule] : service.schedules;
  const [now, today] = [portal.now(), clock.dayOf(portal.now())];
  const asked = query.get('from');
  const last = clock.dayOf(now + AHEAD * DAY);
  const from = isDay(asked) && asked > today && asked < last ? asked : today;
  const isMonth = query.get('view') === 'month';
  const start = isMonth && monthOf(from) > today ? monthOf(from) : isMonth ? today : from;
  // The end of a month has few days: the next one is shown, too.
  const isEnding = isMonth && clock.startOf(monthOf(start, 1)) - clock.startOf(start) < SPAN * DAY;
  const months = isEnding ? [monthOf(start), monthOf(start, 1)] : [monthOf(start)];
  const end = isMonth ? clock.startOf(monthOf(start, months.length)) : clock.startOf(from, SPAN);
  // Of few people, the next time of each is shown, whoever is chosen.
  const read = service.schedules.length <= MAX_CARDS ? service.schedules : schedules;
  const found = await readTimes(portal.service, service, read, [Math.max(now, clock.startOf(start)), end]);
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found));
  }
  const who = query.get('who').slice(0, 100);
  const people = peopleOf(service, found.times, who);
  const shown = withCard(people, schedule);
  const key = shown
    .map(({ reference }) => reference)
    .toSorted()
    .join(' ');
  const doctors = await portal.doctors({ ...service, key, schedules: shown }, portal.service);
  const days = byDay(
    visit,
    found.times.filter((time) => schedules.includes(time.schedule)),
  );
  const dates = [...days.keys()];
  const day = dates.find((date) => date >= query.get('day')) ?? dates[0];
  const before = isMonth ? monthOf(from, -1) : clock.dayOf(clock.startOf(from, -SPAN));
  return timesPage(visit, {
    service,
    payers: move ? new Map() : payersOf(services.filter(({ key }) => key === service.key)),
    schedule,
    days,
    day,
    doctors,
    people,
    who,
    isMonth,
    months,
    isFirst: query.get('day') === '',
    today,
    last,
    from: start > today ? start : undefined,
    isComplete: found.isComplete,
    earlier: start > today ? (before > today ? before : today) : undefined,
    later: days.size > 0 && clock.dayOf(end) < last ? clock.dayOf(end) : undefined,
    next: days.size > 0 ? undefined : await nextTime(visit, service, schedules, end),
    move,
  });
};
