import { randomUUID } from 'node:crypto';
import type { Appointment } from '@medplum/fhirtypes';
import { isId } from '../../../core/fhir/reference.ts';
import { DAY, firstLocalTime } from '../../../core/time/time-zone.ts';
import { currentAppointmentOf, groupOf, isOccurrence, offeredFor } from '../../../packages/web/appointments.ts';
import { extensionIn, listOf } from '../../../packages/web/elements.ts';
import { html } from '../../../packages/web/html.ts';
import type { ChosenStep } from '../../../packages/web/refusal.ts';
import type { BookableService, VisitNeeds } from '../clinic/services.ts';
import { refusalOf } from '../clinic/times.ts';
import { appointmentsIn, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import {
  type AppointmentPage,
  actionsPart,
  appointmentPage,
  cancelPage,
  isOutcome,
  type Movable,
  movePage,
  offerOverPage,
  offersPart,
  type PersonalLink,
  statePart,
} from '../pages/appointment.ts';
import { appointmentsPage, leavePage, noSessionPage } from '../pages/appointments.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import type { RestOfSeries } from '../pages/visits.ts';
import { isEmpty, LINK_AFTER, MAX as MAX_LINKED, sealLink, withMore } from '../session/session.ts';
import { type AppointmentView, comingOf, isHold, openOf, patientsOf, viewOf, visitView } from '../visit/appointment.ts';
import { fileOf } from '../visit/calendar-file.ts';
import { type ChosenTime, lengthOf, parseTime } from '../visit/chosen-time.ts';
import { moveRequest, moveVisitRequest } from '../visit/requests.ts';
import { alternativesTo, reasonOf, visitorLimit } from './refusals.ts';
import { serviceOf } from './under-way.ts';
import { watchOf } from './updates.ts';

/** An appointment of the visitor, or a visit shown as one of its appointments. */
export interface Own {
  readonly appointment: Appointment;
  readonly view: AppointmentView;
  /** The appointments of the visit or series; absent for a single appointment. */
  readonly steps?: readonly Own[];
}

const MAX = '100';

const mayRead = ({ session, portal }: Pick<Visit, 'session' | 'portal'>, appointment: Appointment): boolean =>
  [appointment.id ?? '', ...offeredFor(appointment, portal.options.extensions)].some((id) =>
    session.appointments.includes(id),
  );

/** Searches the appointments that the session has access to. Holds are left out unless they are personal offers. */
export async function search(
  visit: Pick<Visit, 'portal' | 'session'>,
  query: Readonly<Record<string, string>>,
  mayShow: (appointment: Appointment) => boolean = (appointment) => mayRead(visit, appointment),
): Promise<Own[] | Refusal> {
  const { portal } = visit;
  const [found, services] = await Promise.all([
    portal.service.search('Appointment', { ...query, _include: 'Appointment:slot', _count: MAX }),
    portal.services(),
  ]);
  if (isRefusal(found)) {
    return found;
  }
  const slots = resourcesIn(found, 'Slot');
  return resourcesIn(found, 'Appointment')
    .filter(mayShow)
    .map((appointment) => ({
      appointment,
      view: viewOf(appointment, slots, isRefusal(services) ? [] : services, portal.options.extensions, portal.now()),
    }))
    .filter(({ appointment, view }) => view.offer || !isHold(appointment, portal.options.extensions.heldUntil));
}

function occurrence(one: Own, steps: readonly Own[], group: string, services: readonly BookableService[]): Own {
  const { step } = one.view;
  const key = services.find(({ visit }) => visit?.series && visit.service === step?.service)?.key;
  // The waitlist accepts a whole series, not one appointment of it.
  return {
    ...one,
    steps,
    view: { ...one.view, hasWaitlist: false, series: { group, key, all: steps.map(({ view }) => view) } },
  };
}

const byStart = (one: Own, other: Own): number => (one.view.start ?? 0) - (other.view.start ?? 0);

/** Combines visits and adds the rest of a series: access to one includes the others of the same patient. */
async function withVisits(visit: Visit, own: readonly Own[]): Promise<readonly Own[] | Refusal> {
  const { visitGroup: system } = visit.portal.options.extensions;
  const keyOf = ({ appointment }: Pick<Own, 'appointment'>): string | undefined => groupOf(appointment, system);
  const groups = [...new Set(own.flatMap((one) => keyOf(one) ?? []))];
  const isSamePatient = (appointment: Appointment): boolean =>
    own.some(
      (one) =>
        keyOf(one) === keyOf({ appointment }) &&
        patientsOf(one.appointment).some((id) => patientsOf(appointment).includes(id)),
    );
  const identifier = groups.map((group) => `${system}|${group}`).join(',');
  const found = groups.length > 0 ? await search(visit, { identifier }, isSamePatient) : [];
  const known = groups.length > 0 ? await visit.portal.services() : [];
  const services = isRefusal(known) ? [] : known;
  if (isRefusal(found)) {
    return found;
  }
  const shown = new Map<string, Own>();
  for (const one of own) {
    const group = keyOf(one);
    const steps = group === undefined ? [] : found.filter((other) => keyOf(other) === group).toSorted(byStart);
    const isOffered = one.view.offer && steps.every(({ view }) => view.offer);
    if (group !== undefined && isOccurrence(one.appointment) && !isOffered) {
      for (const other of [one, ...steps]) {
        shown.set(other.view.id, occurrence(other, steps, group, services));
      }
      continue;
    }
    const views = steps.map(({ view }) => view);
    const key = steps.length > 1 && group !== undefined ? group : one.view.id;
    shown.set(
      key,
      shown.get(key) ??
        (steps.length > 1 ? { ...one, view: visitView(one.view, views, services, visit.portal.now()), steps } : one),
    );
  }
  return [...shown.values()];
}

/** The personal offers for the visitor, without those for other visitors of the portal. */
async function offersTo(visit: Visit, own: readonly Own[]): Promise<Own[] | Refusal> {
  const waiting = own.filter(({ view }) => view.state === 'waiting' || view.openUntil !== undefined);
  const patients = [...new Set(waiting.flatMap(({ appointment }) => patientsOf(appointment)))];
  const query = { patient: patients.map((id) => `Patient/${id}`).join(','), status: 'proposed' };
  const found = patients.length > 0 ? await search(visit, query) : [];
  return isRefusal(found) ? found : found.filter(({ view }) => view.offer);
}

async function withPosition({ portal }: Visit, { appointment, view }: Own): Promise<AppointmentView> {
  const { extensions, messages } = portal.options;
  const isNotified = listOf(appointment.extension).some(({ url, valueBoolean }) => url === messages && valueBoolean);
  if (view.state !== 'waiting') {
    return { ...view, isNotified };
  }
  const found = await portal.service.wait({ resourceType: 'Appointment', id: view.id });
  const position = isRefusal(found) ? undefined : extensionIn(found.extension, extensions.position);
  return { ...view, position: position?.valuePositiveInt, isNotified };
}

async function allOwn(visit: Visit): Promise<readonly Own[] | Refusal> {
  const { appointments } = visit.session;
  const named = appointments.length > 0 ? await search(visit, { _id: appointments.join(',') }) : [];
  if (isRefusal(named)) {
    return named;
  }
  const offers = await offersTo(visit, named);
  return isRefusal(offers)
    ? offers
    : withVisits(visit, [...new Map([...named, ...offers].map((one) => [one.view.id, one])).values()]);
}

/** All appointments of the visitor, without the personal offers. */
export async function ownAppointments(visit: Visit): Promise<readonly AppointmentView[] | Refusal> {
  const all = await allOwn(visit);
  return isRefusal(all) ? all : all.map(({ view }) => view).filter(({ offer }) => !offer);
}

/** `GET /appointments` */
export const showAppointments: PageHandler = async (visit) => {
  if (isEmpty(visit.session)) {
    return noSessionPage(visit, visit.query.get('left') === '1');
  }
  const all = await allOwn(visit);
  return isRefusal(all)
    ? failurePage(visit, 'unavailable')
    : appointmentsPage(visit, await Promise.all(all.map((one) => withPosition(visit, one))));
};

/** Finds an appointment of the visitor. Other patients' appointments are reported as not found, like missing ones. */
export async function findOwn(visit: Visit, id: string): Promise<Own | Reply> {
  if (isEmpty(visit.session)) {
    return noSessionPage(visit, false);
  }
  const own = isId(id) ? await search(visit, { _id: id }) : [];
  // The session may contain another appointment of the series.
  const found = isRefusal(own) ? own : await (own.length > 0 || !isId(id) ? withVisits(visit, own) : allOwn(visit));
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found));
  }
  return found.find(({ view }) => view.id === id) ?? failurePage(visit, 'notFound');
}

const forOwn =
  (handler: (visit: Visit, own: Own) => Promise<Reply>): PageHandler =>
  async (visit) => {
    const own = await findOwn(visit, visit.id);
    return 'kind' in own ? own : handler(visit, own);
  };

/** Creates the personal link to appointments, valid until two weeks after the last one. */
async function linkTo({ portal }: Visit, all: readonly AppointmentView[], email: string): Promise<PersonalLink> {
  const { options, seal, now, clinic } = portal;
  // One appointment of a series gives access to all of it.
  const isFirst = ({ series }: AppointmentView, index: number): boolean =>
    !series || all.findIndex((view) => view.series?.group === series.group) === index;
  const linked = all.filter(isFirst).slice(-MAX_LINKED);
  const views = all.filter(
    (view) => linked.includes(view) || linked.some(({ series }) => series && series.group === view.series?.group),
  );
  const end = Math.max(now(), ...views.map(({ end, wish }) => end ?? wish?.end ?? 0));
  const ids = linked.map(({ id }) => id);
  const text = await sealLink(seal, ids, end);
  return {
    url: `${options.origin}${options.path}/link?${new URLSearchParams({ t: text }).toString()}`,
    until: end + LINK_AFTER,
    count: views.filter(({ wish }) => !wish).length || 1,
    email,
    clinic: (await clinic()).name,
  };
}

/** The link to an appointment includes the visitor's others, so that the most recent link is sufficient. */
async function linkOf(visit: Visit, { appointment, view }: Own): Promise<PersonalLink> {
  const { session } = visit;
  // A link may have been opened by another person. Only the browser in which the e-mail address was entered shows it.
  const who = session.patients.find(({ id }) => patientsOf(appointment).includes(id));
  const all = session.appointments.length > 1 ? await ownAppointments(visit) : [];
  const others = isRefusal(all) ? [] : all.filter(({ id }) => id !== view.id);
  return linkTo(visit, [...others, view], who?.email ?? '');
}

/** Divides the open appointments of a series. An appointment at another time of the week than most of them stays. */
export function restOfSeries({ view, steps = [] }: Own, { series }: VisitNeeds, timeZone: string): RestOfSeries {
  const open = steps.map((one) => one.view).filter(({ isOpen, step }) => isOpen && step);
  const every = series ? series.length / (series.count - 1) / DAY : 0;
  const usual = ({ start = 0, step }: AppointmentView): number =>
    firstLocalTime(start, step?.name ?? '', every, timeZone);
  const byTime = [...Map.groupBy(open, usual).values()].toSorted((one, other) => other.length - one.length);
  const [most = [view]] = byTime;
  const isClear = most.length > (byTime[1]?.length ?? 0);
  return { moved: isClear ? most : open, stays: isClear ? open.filter((one) => !most.includes(one)) : [] };
}

/** The personal offers for an appointment or a waitlist entry; appointments of one visit are combined. */
async function offersFor(visit: Visit, own: Own): Promise<AppointmentView[]> {
  const { extensions } = visit.portal.options;
  const found = await offersTo(visit, [own]);
  const isHere = ({ appointment }: Own): boolean =>
    [own.view, ...own.view.steps].some(({ id }) => offeredFor(appointment, extensions).includes(id));
  const offers = Map.groupBy(
    isRefusal(found) ? [] : found.filter(isHere),
    ({ appointment }) => groupOf(appointment, extensions.visitGroup) ?? appointment.id,
  );
  return [...offers.values()].flatMap(([first, ...others]) =>
    first && others.length > 0
      ? visitView(
          first.view,
          [first, ...others].map(({ view }) => view),
          [],
          visit.portal.now(),
        )
      : (first?.view ?? []),
  );
}

async function pageOf(
  visit: Visit,
  own: Own,
  more: Pick<AppointmentPage, 'outcome' | 'isAll' | 'refusal'>,
): Promise<Reply> {
  const [link, watch, view, offers] = await Promise.all([
    linkOf(visit, own),
    watchOf(visit, own.view),
    withPosition(visit, own),
    offersFor(visit, own),
  ]);
  return appointmentPage(visit, view, { link, watch, offers, ...more });
}

/** Whether a request is about the whole series of its appointment. */
const isAll = ({ query }: Visit): boolean => query.get('all') !== '';

/** `GET /appointments/:id` */
export const showAppointment = forOwn((visit, own) => {
  const outcome = visit.query.get('outcome');
  return pageOf(visit, own, {
    outcome: isOutcome(outcome) ? outcome : undefined,
    isAll: isAll(visit) && own.view.series !== undefined,
  });
});

/** `POST /appointments/:id/accept`: books a personal offer. */
export const accept: PageHandler = async (visit) => {
  const { portal, session, id } = visit;
  const own = await findOwn(visit, id);
  if ('kind' in own) {
    return own.kind === 'page' && own.status === 404 ? offerOverPage(visit) : own;
  }
  const to = `${portal.options.path}/appointments/${id}`;
  const seen = withMore(session, { appointments: [id] });
  // Some steps of a visit may be offered again; the others are not changed.
  const offered = (own.steps ?? [own]).filter(({ view }) => view.offer);
  const wanted = offered.map(({ appointment, view: { start = 0, end = 0 } }) => {
    const slots = listOf(appointment.slot).flatMap(({ reference }) => reference?.split('/')[1] ?? []);
    return [appointment, { name: '', slots, start, end }] as const;
  });
  if (wanted.length === 0) {
    return { kind: 'redirect', to, session: seen };
  }
  const booked = await portal.service.book(wanted.length > 1 ? 'Bundle' : 'Appointment', moveVisitRequest(wanted));
  if (isRefusal(booked)) {
    return pageOf(visit, own, { refusal: reasonOf(booked) });
  }
  const [first] = appointmentsIn(booked);
  const outcome = first?.status === 'pending' ? 'asked' : 'booked';
  return { kind: 'redirect', to: `${to}?outcome=${outcome}`, session: seen };
};

/** `GET /leave`: asks before the session is removed from the device, and shows the link back. */
export const askLeave: PageHandler = async (visit) => {
  const views = isEmpty(visit.session) ? [] : await ownAppointments(visit);
  return isRefusal(views)
    ? failurePage(visit, 'unavailable')
    : leavePage(visit, views.length > 0 ? await linkTo(visit, views, '') : undefined);
};

/** `GET /appointments/:id/state`: the parts of the page that its script replaces after an update. */
export const showState = forOwn(async (visit, own) => {
  const [view, watch, offers] = await Promise.all([
    withPosition(visit, own),
    watchOf(visit, own.view),
    offersFor(visit, own),
  ]);
  const body = html`${offersPart(visit, [view, ...offers])}${statePart(visit, view, watch)}${actionsPart(visit, view)}`;
  return { kind: 'part', body };
});

/** `GET /appointments/:id/calendar.ics` */
export const showCalendarFile = forOwn(async (visit, { appointment, view, steps = [] }) => {
  const { options } = visit.portal;
  const times = [appointment, ...steps.map((one) => one.appointment)].map(({ meta }) => meta?.lastUpdated ?? '');
  const changed = times.map((time) => Date.parse(time)).filter((time) => time > 0);
  const all = view.series?.all ?? view.steps;
  const text = fileOf(all.length > 0 ? all : [view], visit.texts, {
    clinic: (await visit.portal.clinic()).name,
    host: new URL(options.origin).hostname,
    url: `${options.origin}${options.path}/appointments/${view.id}`,
    changed: changed.length > 0 ? Math.max(...changed) : visit.portal.now(),
  });
  return text === undefined
    ? failurePage(visit, 'notFound')
    : { kind: 'file', name: 'appointment.ics', mediaType: 'text/calendar; charset=utf-8', text };
});

/** `GET /appointments/:id/cancel`: asks first, or says that it is too late. */
export const askCancel = forOwn(async (visit, { view }) =>
  cancelPage(
    visit,
    view,
    view.openUntil !== undefined && !view.isOpen && !isAll(visit) ? 'cancelTooLate' : undefined,
    isAll(visit) ? openOf(view) : [],
  ),
);

/**
 * Cancels an appointment, all open steps of a visit, or `all` of a series. The first step comes first, because its cancellation period
 * ends first. The service may cancel the other steps with it; the remaining ones are cancelled one by one.
 */
async function cancelAll(
  { portal, session }: Visit,
  { appointment, view, steps = [] }: Own,
  all: readonly AppointmentView[],
): Promise<Refusal | undefined> {
  const ids = (all.length > 0 ? all : comingOf(view.steps, portal.now())).map(({ id }) => id);
  const [first = appointment] = steps.filter((one) => one.view.id === ids[0]).map((one) => one.appointment);
  const response = await portal.service.cancel(first);
  if (isRefusal(response)) {
    return response;
  }
  const others = ids.slice(1);
  const mayShow = ({ id = '', status }: Appointment): boolean => others.includes(id) && status !== 'cancelled';
  const left = others.length > 0 ? await search({ portal, session }, { _id: others.join(',') }, mayShow) : [];
  if (isRefusal(left)) {
    return left;
  }
  for (const one of left) {
    const more = await portal.service.cancel(one.appointment);
    if (isRefusal(more)) {
      return more;
    }
  }
  return undefined;
}

/** Ends the waiting for something earlier than a cancelled appointment, and the personal offers in its place. */
async function endDependents(visit: Visit, appointment: Appointment, ids: readonly string[]): Promise<void> {
  const { portal } = visit;
  const isDependent = (one: Appointment): boolean =>
    [currentAppointmentOf(one), ...offeredFor(one, portal.options.extensions)].some((id) => id && ids.includes(id));
  const patient = patientsOf(appointment).join(',');
  const found = patient === '' ? [] : await search(visit, { patient, status: 'waitlist,proposed' }, isDependent);
  for (const dependent of isRefusal(found) ? [] : found) {
    await portal.service.cancel(dependent.appointment);
  }
}

/** `POST /appointments/:id/cancel`. Repeating it has no effect. */
export const cancel = forOwn(async (visit, found) => {
  const { view } = found;
  const own = `${visit.portal.options.path}/appointments`;
  const all = isAll(visit) ? openOf(view) : [];
  const outcome = view.wish ? 'left' : `cancelled${isAll(visit) ? '&all=1' : ''}`;
  const to = view.offer ? own : `${own}/${view.id}?outcome=${outcome}`;
  const ids = [view, ...view.steps, ...all].map(({ id }) => id);
  if (isAll(visit) ? all.length === 0 : view.state === 'cancelled') {
    await endDependents(visit, found.appointment, ids);
    return { kind: 'redirect', to };
  }
  const refusal = await cancelAll(visit, found, all);
  if (refusal) {
    return cancelPage(visit, view, reasonOf(refusal), all);
  }
  // The portal is not notified of its own changes.
  for (const id of ids) {
    visit.portal.updates.note(id);
  }
  await endDependents(visit, found.appointment, ids);
  return { kind: 'redirect', to };
});

const movableOf = ({ portal }: Visit, view: AppointmentView): Movable => ({
  ...view,
  own: `${portal.options.path}/appointments/${view.id}`,
});

/** `GET /appointments/:id/move`: asks first. */
export const askMove = forOwn(async (visit, { view }) => {
  const time = parseTime(visit.query.get('time'));
  const found = await serviceOf(visit, view.serviceKey ?? '', view.payer);
  const service = found && !isRefusal(found) ? found : undefined;
  return time ? movePage(visit, { ...movableOf(visit, view), service }, time) : failurePage(visit, 'notFound');
});

const unavailable: Refusal = { refused: true, status: 503, problems: [] };

/** The refusal if the chosen steps are not those of the visit. */
const apart: Refusal = { refused: true, status: 422, problems: [{ code: 'visit-mismatch', alternatives: [] }] };

/** Moves to a bookable time. A move counts as a booking in the visitor's quota. */
async function moveTo<T extends object>(
  { portal, visitor }: Visit,
  service: BookableService,
  time: ChosenTime,
  send: () => Promise<T | Refusal>,
): Promise<T | Refusal> {
  // The times of a visit are validated by the clinic's service.
  const problem = time.steps ? undefined : await refusalOf(portal.service, service, time);
  if (problem) {
    return problem;
  }
  const takeBack = portal.shares.take(visitor, randomUUID(), lengthOf(time));
  if (!takeBack) {
    return visitorLimit;
  }
  const moved = await send();
  if (isRefusal(moved) && reasonOf(moved) !== 'unknown') {
    takeBack();
  }
  return moved;
}

/**
 * Moves to the time in the form with `send`, and returns the page for the outcome: `done` after a success.
 *
 * @param key - key of the service
 */
export async function moveBy<T extends object>(
  visit: Visit,
  movable: Movable,
  [key, payer]: readonly [string, string | undefined],
  send: (time: ChosenTime) => Promise<T | Refusal>,
  done: (moved: T) => Reply | Promise<Reply>,
): Promise<Reply> {
  const { form } = visit;
  const time = parseTime(form.get('time'));
  if (!time) {
    return failurePage(visit, 'notFound');
  }
  const found = await serviceOf(visit, key, payer);
  const service = found && !isRefusal(found) ? found : undefined;
  const answer = service ? await moveTo(visit, service, time, () => send(time)) : unavailable;
  if (!isRefusal(answer)) {
    return done(answer);
  }
  const alternatives = await alternativesTo(visit, answer, service, time);
  return movePage(visit, { ...movable, service }, time, { reason: reasonOf(answer), alternatives });
}

/** `POST /appointments/:id/move` */
export const move = forOwn((visit, { appointment, view, steps = [] }) => {
  const { portal } = visit;
  const sendVisit = async (chosen: readonly ChosenStep[]): Promise<object | Refusal> => {
    const pairs = chosen.flatMap((step) =>
      steps
        .filter((one) => one.view.step?.name === step.name && one.view.openUntil !== undefined)
        .map((one) => [one.appointment, step] as const),
    );
    return pairs.length === chosen.length ? portal.service.book('Bundle', moveVisitRequest(pairs)) : apart;
  };
  const movable = movableOf(visit, view);
  const isWhole = parseTime(visit.form.get('time'))?.steps !== undefined;
  const key = (isWhole ? view.series?.key : undefined) ?? view.serviceKey;
  return moveBy(
    visit,
    movable,
    [key ?? '', view.payer],
    async (time): Promise<object | Refusal> =>
      time.steps ? sendVisit(time.steps) : portal.service.book('Appointment', moveRequest(appointment, time)),
    () => {
      // The portal is not notified of its own changes.
      for (const one of [view, ...steps.map((step) => step.view)]) {
        portal.updates.note(one.id);
      }
      return { kind: 'redirect', to: `${movable.own}?outcome=moved${isWhole && view.series ? '&all=1' : ''}` };
    },
  );
});
