import { randomUUID } from 'node:crypto';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference/reference.ts';
import type { BookableService } from '../clinic/services.ts';
import { has, isRefusal, type Refusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { type DetailsPage, detailsPage } from '../pages/details.ts';
import { failurePage } from '../pages/failure.ts';
import { takenPage } from '../pages/taken.ts';
import { readAnswers, toQuestionnaireResponse } from '../questionnaire/answers.ts';
import { type QuestionForm, questionForm } from '../questionnaire/questions.ts';
import { joined } from '../session/session.ts';
import { patientsOf } from '../visit/appointment.ts';
import { type ChosenTime, formatTime, parseTime } from '../visit/chosen-time.ts';
import { type FormValues, prefilled } from '../visit/form.ts';
import { isSamePerson, personIn, personOf, personProblems, toPatient } from '../visit/person.ts';
import { bookRequest, holdRequest, type Submission } from '../visit/requests.ts';
import { alternativesTo, failureOf, reasonOf } from './refusals.ts';

/** A booking that is under way, as it is sealed into the address of its page. */
interface Pending {
  readonly service: string;
  readonly time: ChosenTime;
  /** The id of the hold; empty if the time could not be held. */
  readonly hold: string;
  /** The value of the booking's identifier. */
  readonly key: string;
}

/** How long a form may be filled in, in milliseconds. The time itself is held shorter. */
const FORM_LENGTH = 24 * 3_600_000;

const identifierOf = ({ options }: Visit['portal'], value: string) => ({
  system: `${options.origin}${options.path}/bookings`,
  value,
});

/** A time that is not the first choice has an identifier of its own: nothing else was asked for with it. */
const identifierFor = (portal: Visit['portal'], { key, time }: Pending, chosen: ChosenTime) =>
  identifierOf(portal, chosen === time ? key : `${key}-${formatInstant(chosen.start)}`);

async function seal({ seal, now }: Visit['portal'], pending: Pending): Promise<string> {
  return seal.close('booking', { ...pending, time: formatTime(pending.time) }, now() + FORM_LENGTH);
}

async function unseal({ portal, query }: Visit): Promise<Pending | undefined> {
  const content = await portal.seal.open('booking', query.get('b'));
  if (typeof content === 'string') {
    return undefined;
  }
  const { service, time, hold, key } = content;
  const parsed = typeof time === 'string' ? parseTime(time) : undefined;
  return parsed && typeof service === 'string' && typeof key === 'string' && (hold === '' || isId(hold))
    ? { service, time: parsed, hold, key }
    : undefined;
}

function heldUntil({ options }: Visit['portal'], hold: Appointment): number | undefined {
  const { extension, status } = hold;
  const found = (Array.isArray(extension) ? extension : []).find(({ url }) => url === options.extensions.heldUntil);
  return status === 'proposed' ? parseInstant(found?.valueInstant) : undefined;
}

async function serviceOf({ portal }: Visit, key: string): Promise<BookableService | Refusal | undefined> {
  const services = await portal.services();
  return isRefusal(services) ? services : services.find((service) => service.key === key);
}

const timesAddress = ({ portal }: Visit, service: string): string =>
  `${portal.options.path}/times?${new URLSearchParams({ service }).toString()}`;

/** `POST /hold`: holds a time, and goes on to the details. */
export const holdTime: PageHandler = async (visit) => {
  const { portal, form } = visit;
  const time = parseTime(form.get('time'));
  const service = await serviceOf(visit, form.get('service'));
  if (!time || !service) {
    return failurePage(visit, 'notFound');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  const key = randomUUID();
  const held = await portal.service.hold(holdRequest({ time, service, identifier: identifierOf(portal, key) }));
  const pending: Pending = { service: service.key, time, key, hold: isRefusal(held) ? '' : (held.id ?? '') };
  const sealed = await seal(portal, pending);
  // A time that cannot be held because so many are can still be booked.
  if (!isRefusal(held) || ['tooManyHolds', 'busy'].includes(reasonOf(held))) {
    return { kind: 'redirect', to: `${portal.options.path}/details?${new URLSearchParams({ b: sealed }).toString()}` };
  }
  const alternatives = await alternativesTo(portal, held, service, time);
  return takenPage(visit, service, reasonOf(held), alternatives ?? []);
};

async function questionsOf({ portal }: Visit, service: BookableService): Promise<QuestionForm | undefined | Refusal> {
  const found = await portal.questionnaire(service);
  return found && !isRefusal(found) ? questionForm(found) : found;
}

async function pageOf(
  visit: Visit,
  pending: Pending,
  service: BookableService,
  form: FormValues,
  held?: number,
): Promise<DetailsPage | Reply> {
  const questions = await questionsOf(visit, service);
  if (questions && isRefusal(questions)) {
    return failurePage(visit, failureOf(questions));
  }
  const schedule = service.schedules.find(({ reference }) => reference === pending.time.schedule);
  return {
    service,
    time: pending.time,
    isRequest: (schedule ?? service.schedules[0])?.isRequest ?? false,
    heldUntil: held,
    holdNews: undefined,
    questions,
    state: { form, problems: new Map() },
    sealed: visit.query.get('b'),
  };
}

/** The patients that this visitor may see, newest first. */
async function knownPatients({ portal, session }: Visit): Promise<Patient[]> {
  const ids = session.patients.slice(-3).toReversed();
  const found = await Promise.all(ids.map((id) => portal.service.read('Patient', id)));
  return found.flatMap((patient) => (isRefusal(patient) ? [] : [patient]));
}

async function currentHold({ portal }: Visit, { hold }: Pending): Promise<number | undefined> {
  const found = hold === '' ? undefined : await portal.service.read('Appointment', hold);
  const until = found && !isRefusal(found) ? heldUntil(portal, found) : undefined;
  return until !== undefined && until > portal.now() ? until : undefined;
}

/** `GET /details`: the form for a time that is held. */
export const showDetails: PageHandler = async (visit) => {
  const pending = await unseal(visit);
  const service = pending && (await serviceOf(visit, pending.service));
  if (!pending || !service) {
    return failurePage(visit, 'notFound');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  const [[patient], until] = await Promise.all([knownPatients(visit), currentHold(visit, pending)]);
  const form = visit.draft ?? prefilled(patient ? { ...personOf(patient) } : {});
  const page = await pageOf(visit, pending, service, form, until);
  return 'kind' in page ? page : detailsPage(visit, page);
};

/** Holds the time longer, or again; what was typed stays. */
async function prolong(visit: Visit, pending: Pending, service: BookableService): Promise<Reply> {
  const { portal, texts, clock, form } = visit;
  const identifier = identifierOf(portal, pending.key);
  const held = await portal.service.hold(
    holdRequest({ time: pending.time, service, identifier }, pending.hold || undefined),
  );
  const until = isRefusal(held) ? await currentHold(visit, pending) : heldUntil(portal, held);
  const news =
    isRefusal(held) || until === undefined ? texts.details.notProlonged : texts.details.prolonged(clock.time(until));
  if (visit.isScript) {
    const line = until === undefined ? '' : texts.details.heldUntil(clock.time(until));
    const times: Record<string, string> =
      until === undefined ? {} : { until: formatInstant(until), now: formatInstant(portal.now()) };
    return { kind: 'data', data: { news, line, ...times } };
  }
  const page = await pageOf(visit, pending, service, form, until);
  return 'kind' in page ? page : detailsPage(visit, { ...page, holdNews: news });
}

/** Gives the time back, and keeps what was typed for another one. */
async function chooseOther(visit: Visit, { hold, service }: Pending): Promise<Reply> {
  const { portal, form } = visit;
  const held = hold === '' ? undefined : await portal.service.read('Appointment', hold);
  if (held && !isRefusal(held) && heldUntil(portal, held) !== undefined) {
    await portal.service.cancel(held);
  }
  return { kind: 'redirect', to: timesAddress(visit, service), draft: form };
}

async function submissionOf(visit: Visit, pending: Pending, answers: Submission['answers']): Promise<Submission> {
  const { portal, form } = visit;
  const person = personIn(form);
  const known = (await knownPatients(visit)).find((patient) => isSamePerson(patient, person));
  const system = `${portal.options.origin}${portal.options.path}/patients`;
  const name = `${person.given} ${person.family}`;
  return {
    patient: known?.id ?? toPatient(person, system, pending.key),
    name,
    comment: form.get('comment'),
    answers,
  };
}

/** Books: the hold first, and the time without it if the hold was given back. */
async function book(
  { portal }: Visit,
  pending: Pending,
  service: BookableService,
  chosen: ChosenTime,
  submission: Submission,
): Promise<Appointment | Refusal> {
  const booking = { time: chosen, service, identifier: identifierFor(portal, pending, chosen) };
  const hold = chosen === pending.time ? pending.hold : '';
  const answer = await portal.service.book(bookRequest(booking, submission, hold || undefined));
  const isGivenBack = hold !== '' && isRefusal(answer) && has(answer, 'appointment-closed');
  if (!isGivenBack) {
    return answer;
  }
  const anew = { ...booking, identifier: identifierOf(portal, `${pending.key}-again`) };
  return portal.service.book(bookRequest(anew, submission));
}

/** `POST /details`: books, or holds longer, or goes back to the times. */
export const sendDetails: PageHandler = async (visit) => {
  const { portal, form, texts, clock } = visit;
  const pending = await unseal(visit);
  const service = pending && (await serviceOf(visit, pending.service));
  if (!pending || !service) {
    return failurePage(visit, 'notFound');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  const actions: Readonly<Record<string, () => Promise<Reply>>> = {
    prolong: () => prolong(visit, pending, service),
    other: () => chooseOther(visit, pending),
  };
  const action = actions[form.get('action')];
  if (action) {
    return action();
  }
  const page = await pageOf(visit, pending, service, form, await currentHold(visit, pending));
  if ('kind' in page) {
    return page;
  }
  const answers = page.questions && readAnswers(page.questions, form, portal.options.timeZone);
  const problems = new Map([...personProblems(form, clock.dayOf(portal.now())), ...(answers?.problems ?? [])]);
  const chosen = parseTime(form.get('time')) ?? pending.time;
  if (problems.size > 0) {
    return detailsPage(visit, { ...page, state: { form, problems } });
  }
  const { yes, no } = texts.details;
  const response =
    page.questions &&
    answers &&
    toQuestionnaireResponse(page.questions, answers, [yes, no], formatInstant(portal.now()));
  const submission = await submissionOf(visit, pending, response);
  const booked = await book(visit, pending, service, chosen, submission);
  if (isRefusal(booked)) {
    const alternatives = await alternativesTo(portal, booked, service, chosen);
    return detailsPage(visit, { ...page, refusal: { reason: reasonOf(booked), alternatives } });
  }
  const session = joined(visit.session, { patients: patientsOf(booked), appointments: [booked.id ?? ''] });
  const news = booked.status === 'pending' ? 'asked' : 'booked';
  return {
    kind: 'redirect',
    to: `${portal.options.path}/appointments/${booked.id}?news=${news}`,
    session,
    draft: null,
  };
};
