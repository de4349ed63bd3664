import { createHash } from 'node:crypto';
import type { Appointment } from '@medplum/fhirtypes';
import { DAY } from '../../../core/time/time-zone.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { isDay } from '../clinic/clock.ts';
import { usesWaitlist } from '../clinic/services.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { type WaitPage, waitPage } from '../pages/wait.ts';
import { readAnswers } from '../questionnaire/answers.ts';
import { withMore } from '../session/session.ts';
import type { FieldProblem } from '../texts/texts.ts';
import { patientsOf } from '../visit/appointment.ts';
import { type FormValues, formValues } from '../visit/form.ts';
import { personProblems } from '../visit/person.ts';
import { type Submission, type Waiting, waitRequest } from '../visit/requests.ts';
import { findOwn } from './appointments.ts';
import { gainedBy, responseOf, submissionOf } from './booking.ts';
import { knownPatients, withConsent } from './details.ts';
import { reasonOf, visitorLimit } from './refusals.ts';
import { identifierOf, serviceOf } from './under-way.ts';

/** Maximum of days ahead of a waitlist entry; the service accepts a year. */
const AHEAD = 364;

const PROPOSED = 14;

/** The content of the page, and the current appointment for which an earlier time is wanted. */
interface Asked {
  readonly page: WaitPage;
  readonly current: Appointment | undefined;
}

/** Reads the wanted service from the URL; returns a failure page if it has no waitlist. */
async function askedFor(visit: Visit): Promise<Asked | Reply> {
  const { portal, query, clock } = visit;
  const own = query.get('current') === '' ? undefined : await findOwn(visit, query.get('current'));
  if (own && 'kind' in own) {
    return own;
  }
  const view = own?.view;
  const [key, payer] = view ? [view.serviceKey ?? '', view.payer] : [query.get('service'), query.get('payer')];
  const [service, known, clinic] = await Promise.all([
    serviceOf(visit, key, payer),
    view ? [] : knownPatients(visit),
    portal.clinic(),
  ]);
  if (service && isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  if (!service || !usesWaitlist(service) || view?.isOpen === false) {
    return failurePage(visit, 'notFound');
  }
  const now = portal.now();
  const from = query.get('from');
  const first = isDay(from) ? Math.max(now, clock.startOf(from)) : now;
  const last = view?.start ?? first + PROPOSED * DAY;
  const proposed = new URLSearchParams({ first: clock.dayOf(first), last: clock.dayOf(last) });
  return {
    page: {
      service,
      schedule: service.schedules.find(({ reference }) => reference === query.get('schedule')),
      current: view,
      known,
      // The consent was given with the current appointment.
      questions: view ? undefined : withConsent(visit, undefined, clinic.consent),
      privacy: clinic.privacy,
      state: { form: formValues(proposed.toString()), problems: new Map() },
    },
    current: own?.appointment,
  };
}

/** `before`: the start of the current appointment, whose own time is never offered back. */
function daysIn({ clock, portal }: Visit, form: FormValues, before = Number.POSITIVE_INFINITY) {
  const problems = new Map<string, FieldProblem>();
  const [first, last] = [form.get('first'), form.get('last')];
  for (const [name, day] of Object.entries({ first, last })) {
    if (!isDay(day)) {
      problems.set(name, day === '' ? 'missing' : 'date');
    }
  }
  if (problems.size > 0) {
    return { problems, wish: { start: 0, end: 0 } };
  }
  const now = portal.now();
  const wish = { start: Math.max(now, clock.startOf(first)), end: Math.min(clock.startOf(last, 1), before) };
  if (wish.start >= wish.end || wish.end > now + AHEAD * DAY) {
    problems.set('last', 'days');
  }
  return { problems, wish };
}

function sameAs({ portal }: Visit, current: Appointment, patient: string, name: string | undefined): Submission {
  const { messages } = portal.options;
  const isNotified = listOf(current.extension).some(
    ({ url, valueBoolean }) => url === messages && valueBoolean === true,
  );
  const nothing = { relatedPerson: undefined, comment: current.comment ?? '', answers: undefined };
  return { ...nothing, patient, name: name ?? '', messages: isNotified ? messages : undefined };
}

/** `GET /wait`: the form for a waitlist entry. */
export const showWait: PageHandler = async (visit) => {
  const asked = await askedFor(visit);
  return 'kind' in asked ? asked : { ...waitPage(visit, asked.page), session: withMore(visit.session) };
};

/** `POST /wait`: creates a waitlist entry. The same form from the same browser creates only one. */
export const joinWaitlist: PageHandler = async (visit) => {
  const { portal, form, session, clock, visitor } = visit;
  const asked = session.browser === '' ? failurePage(visit, 'otherBrowser') : await askedFor(visit);
  if ('kind' in asked) {
    return asked;
  }
  const { page, current } = asked;
  const known = page.known.find(({ id }) => id === form.get('for'));
  const days = daysIn(visit, form, page.current?.start);
  const person = current ? [] : personProblems(form, clock.dayOf(portal.now()), known !== undefined);
  const answers = page.questions && readAnswers(page.questions, form, portal.options.timeZone);
  const problems = new Map([...days.problems, ...person, ...(answers?.problems ?? [])]);
  if (problems.size > 0) {
    return waitPage(visit, { ...page, state: { form, problems } });
  }
  const key = createHash('sha256')
    .update(JSON.stringify([session.browser, visit.url, form.text]))
    .digest('hex');
  const patient = current && patientsOf(current)[0];
  const waiting: Waiting = {
    service: page.service,
    identifier: identifierOf(portal, key),
    wish: days.wish,
    actor: page.schedule?.actor ?? '',
    current,
  };
  const submission =
    current && patient !== undefined
      ? sameAs(visit, current, patient, page.current?.forWhom)
      : submissionOf(visit, key, known, responseOf(visit, page.questions, answers));
  const takeBack = portal.shares.take(visitor, key, 0);
  const entry = takeBack ? await portal.service.wait(waitRequest(waiting, submission)) : visitorLimit;
  if (isRefusal(entry)) {
    const refusal = reasonOf(entry);
    if (refusal !== 'unknown') {
      takeBack?.();
    }
    return waitPage(visit, { ...page, state: { form, problems }, refusal });
  }
  const id = entry.id ?? '';
  return {
    kind: 'redirect',
    to: `${portal.options.path}/appointments/${id}?outcome=joined`,
    session: withMore(session, gainedBy(visit, submission, entry)),
  };
};
