import { randomUUID } from 'node:crypto';
import type { Appointment } from '@medplum/fhirtypes';
import { isId } from '../../../core/fhir/reference/reference.ts';
import { html } from '../../server/html.ts';
import type { BookableService } from '../clinic/services.ts';
import { refusalOf } from '../clinic/times.ts';
import { isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import {
  actionsPart,
  appointmentPage,
  cancelPage,
  isNews,
  movePage,
  type PersonalLink,
  statePart,
} from '../pages/appointment.ts';
import { appointmentsPage, leavePage, noSessionPage } from '../pages/appointments.ts';
import { failurePage } from '../pages/failure.ts';
import { isEmpty, LINK_AFTER, MOST as MOST_LINKED, sealLink } from '../session/session.ts';
import { type AppointmentView, isHold, patientsOf, viewOf } from '../visit/appointment.ts';
import { fileOf } from '../visit/calendar-file.ts';
import { type ChosenTime, parseTime } from '../visit/chosen-time.ts';
import { emailOf } from '../visit/person.ts';
import { moveRequest } from '../visit/requests.ts';
import { watchOf } from './news.ts';
import { alternativesTo, failureOf, reasonOf, visitorLimit } from './refusals.ts';
import { serviceOf } from './under-way.ts';

/** An appointment of the visitor. */
interface Own {
  readonly appointment: Appointment;
  readonly view: AppointmentView;
}

const MOST = '100';

const mayRead = ({ session }: Pick<Visit, 'session'>, appointment: Appointment): boolean =>
  session.appointments.includes(appointment.id ?? '') ||
  patientsOf(appointment).some((id) => session.patients.includes(id));

/** The appointments that a search finds among those of the visitor. */
export async function search(
  visit: Pick<Visit, 'portal' | 'session'>,
  query: Readonly<Record<string, string>>,
): Promise<Own[] | Refusal> {
  const { portal } = visit;
  const [found, services] = await Promise.all([
    portal.service.search('Appointment', { ...query, _include: 'Appointment:slot', _count: MOST }),
    portal.services(),
  ]);
  if (isRefusal(found)) {
    return found;
  }
  const slots = resourcesIn(found, 'Slot');
  return resourcesIn(found, 'Appointment')
    .filter((appointment) => mayRead(visit, appointment) && !isHold(appointment, portal.options.extensions.heldUntil))
    .map((appointment) => ({
      appointment,
      view: viewOf(appointment, slots, isRefusal(services) ? [] : services, portal.options.extensions, portal.now()),
    }));
}

/** All appointments of the visitor. */
export async function ownAppointments(visit: Visit): Promise<readonly AppointmentView[] | Refusal> {
  const { patients, appointments } = visit.session;
  const [ofPatients, named] = await Promise.all([
    patients.length > 0 ? search(visit, { patient: patients.map((id) => `Patient/${id}`).join(',') }) : [],
    appointments.length > 0 ? search(visit, { _id: appointments.join(',') }) : [],
  ]);
  if (isRefusal(ofPatients)) {
    return ofPatients;
  }
  if (isRefusal(named)) {
    return named;
  }
  return [...new Map([...ofPatients, ...named].map(({ view }) => [view.id, view])).values()];
}

/** `GET /appointments`: those of the visitor. */
export const showAppointments: PageHandler = async (visit) => {
  if (isEmpty(visit.session)) {
    return noSessionPage(visit, visit.query.get('left') === '1');
  }
  const views = await ownAppointments(visit);
  return isRefusal(views) ? failurePage(visit, 'unavailable') : appointmentsPage(visit, views);
};

/** Finds an appointment if it is the visitor's: anyone else's is not found, like one that does not exist. */
export async function findOwn(visit: Visit, id: string): Promise<Own | Reply> {
  if (isEmpty(visit.session)) {
    return noSessionPage(visit, false);
  }
  const found = isId(id) ? await search(visit, { _id: id }) : [];
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found));
  }
  return found[0] ?? failurePage(visit, 'notFound');
}

/** Answers for an appointment of the visitor. */
const forOwn =
  (handler: (visit: Visit, own: Own) => Promise<Reply>): PageHandler =>
  async (visit) => {
    const own = await findOwn(visit, visit.id);
    return 'kind' in own ? own : handler(visit, own);
  };

/** The link to some appointments, valid until two weeks after the last of them. */
async function linkTo({ portal }: Visit, all: readonly AppointmentView[], email: string): Promise<PersonalLink> {
  const { options, seal, now, clinic } = portal;
  const views = all.slice(-MOST_LINKED);
  const end = Math.max(now(), ...views.map((view) => view.end ?? 0));
  const ids = views.map(({ id }) => id);
  const text = await sealLink(seal, ids, end);
  return {
    url: `${options.origin}${options.path}/link?${new URLSearchParams({ t: text }).toString()}`,
    until: end + LINK_AFTER,
    count: views.length,
    email,
    clinic: (await clinic()).name,
  };
}

/** The link to an appointment and all others of the visitor: the last one that was sent is enough to come back. */
async function linkOf(visit: Visit, { appointment, view }: Own): Promise<PersonalLink> {
  const { session, portal } = visit;
  // Who came by a link may be somebody else: only the browser in which it was typed shows an address.
  const patient = patientsOf(appointment).find((id) => session.patients.includes(id));
  const [all, who] = await Promise.all([
    session.appointments.length > 1 ? ownAppointments(visit) : [],
    patient === undefined ? undefined : portal.service.read('Patient', patient),
  ]);
  const others = isRefusal(all) ? [] : all.filter(({ id }) => id !== view.id);
  return linkTo(visit, [...others, view], who && !isRefusal(who) ? emailOf(who) : '');
}

/** `GET /appointments/:id` */
export const showAppointment = forOwn(async (visit, own) => {
  const news = visit.query.get('news');
  const [link, watch] = await Promise.all([linkOf(visit, own), watchOf(visit, own.view)]);
  return appointmentPage(visit, own.view, { link, watch }, isNews(news) ? news : undefined);
});

/** `GET /leave`: asks before the appointments are forgotten on this device, and names the way back to them. */
export const askLeave: PageHandler = async (visit) => {
  const views = isEmpty(visit.session) ? [] : await ownAppointments(visit);
  return isRefusal(views)
    ? failurePage(visit, 'unavailable')
    : leavePage(visit, views.length > 0 ? await linkTo(visit, views, '') : undefined);
};

/** `GET /appointments/:id/state`: what the script of the page asks for when there may be news. */
export const showState = forOwn(async (visit, { view }) => ({
  kind: 'part',
  body: html`${statePart(visit, view, await watchOf(visit, view))}${actionsPart(visit, view)}`,
}));

/** `GET /appointments/:id/calendar.ics` */
export const showCalendarFile = forOwn(async (visit, { appointment, view }) => {
  const { options } = visit.portal;
  const text = fileOf(view, visit.texts, {
    clinic: (await visit.portal.clinic()).name,
    host: new URL(options.origin).hostname,
    url: `${options.origin}${options.path}/appointments/${view.id}`,
    changed: Date.parse(appointment.meta?.lastUpdated ?? '') || visit.portal.now(),
  });
  return text === undefined
    ? failurePage(visit, 'notFound')
    : { kind: 'file', name: 'appointment.ics', mediaType: 'text/calendar; charset=utf-8', text };
});

/** `GET /appointments/:id/cancel`: asks first. */
export const askCancel = forOwn(async (visit, { view }) => cancelPage(visit, view));

/** `POST /appointments/:id/cancel`. One that is cancelled already stays so. */
export const cancel = forOwn(async (visit, { appointment, view }) => {
  const to = `${visit.portal.options.path}/appointments/${view.id}?news=cancelled`;
  if (view.state === 'cancelled') {
    return { kind: 'redirect', to };
  }
  const answer = await visit.portal.service.cancel(appointment);
  if (isRefusal(answer)) {
    return cancelPage(visit, view, reasonOf(answer));
  }
  // The clinic's service tells the portal nothing of what it has done itself.
  visit.portal.news.note(view.id);
  return { kind: 'redirect', to };
});

/** `GET /appointments/:id/move`: asks first. */
export const askMove = forOwn(async (visit, { view }) => {
  const time = parseTime(visit.query.get('time'));
  return time ? movePage(visit, view, time) : failurePage(visit, 'notFound');
});

/** What stands for an answer of the service where the portal does not know what it offers. */
const unavailable: Refusal = { refused: true, status: 503, problems: [] };

/** Moves to a time that is offered, which counts as a booking. */
async function moveTo(
  { portal, visitor }: Visit,
  appointment: Appointment,
  service: BookableService,
  time: ChosenTime,
): Promise<Appointment | Refusal> {
  const problem = await refusalOf(portal.service, service, time);
  if (problem) {
    return problem;
  }
  const takeBack = portal.shares.take(visitor, randomUUID(), time.end - time.start);
  if (!takeBack) {
    return visitorLimit;
  }
  const moved = await portal.service.book(moveRequest(appointment, time));
  if (isRefusal(moved) && reasonOf(moved) !== 'unknown') {
    takeBack();
  }
  return moved;
}

/** `POST /appointments/:id/move` */
export const move = forOwn(async (visit, { appointment, view }) => {
  const { portal, form } = visit;
  const time = parseTime(form.get('time'));
  if (!time) {
    return failurePage(visit, 'notFound');
  }
  const found = await serviceOf(visit, view.serviceKey ?? '', view.payer);
  const service = found && !isRefusal(found) ? found : undefined;
  const answer = service ? await moveTo(visit, appointment, service, time) : unavailable;
  if (!isRefusal(answer)) {
    portal.news.note(view.id);
    return { kind: 'redirect', to: `${portal.options.path}/appointments/${view.id}?news=moved` };
  }
  const alternatives = await alternativesTo(portal, answer, service, time);
  return movePage(visit, view, time, { reason: reasonOf(answer), alternatives });
});
