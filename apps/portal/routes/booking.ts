import { randomUUID } from 'node:crypto';
import type { Appointment } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { refusalOf } from '../clinic/times.ts';
import { has, isRefusal, type Refusal } from '../fhir/client.ts';
import { isKept, type Reply, type Visit } from '../http/visit.ts';
import { type DetailsPage, detailsPage, type KnownPatient } from '../pages/details.ts';
import { type FormAnswers, toQuestionnaireResponse } from '../questionnaire/answers.ts';
import type { QuestionForm } from '../questionnaire/questions.ts';
import { type Session, withMore } from '../session/session.ts';
import { type Language, languages } from '../texts/texts.ts';
import { patientsOf } from '../visit/appointment.ts';
import { type ChosenTime, formatTime, lengthOf, parseTime } from '../visit/chosen-time.ts';
import { personIn, toPatient, toRelatedPerson } from '../visit/person.ts';
import { bookRequest, type Submission } from '../visit/requests.ts';
import { addressOf, checked, pageOf } from './details.ts';
import { chooseOther, prolong } from './hold.ts';
import { alternativesTo, reasonOf, visitorLimit } from './refusals.ts';
import { currentHold, forUnderWay, identifierOf, marksOf, type UnderWay } from './under-way.ts';
import { askFor } from './visits.ts';

/** Reuses a Patient only if the visitor selected it: a name and a date of birth prove nothing. */
export function submissionOf(
  { portal, form, texts }: Visit,
  key: string,
  known: KnownPatient | undefined,
  answers: Submission['answers'],
): Submission {
  const person = personIn(form);
  const own = `${portal.options.origin}${portal.options.path}`;
  const identifiers = [
    { system: `${own}/patients`, value: key },
    { system: marksOf(portal), value: randomUUID() },
  ];
  const messages = form.get('messages') ? portal.options.messages : undefined;
  const language = messages === undefined ? undefined : texts.language;
  return {
    patient: known?.id ?? toPatient(person, identifiers, language),
    name: known?.name ?? `${person.given} ${person.family}`,
    relatedPerson: known ? undefined : toRelatedPerson(form, `${own}/related-persons`, key, language),
    comment: form.get('comment'),
    messages,
    answers,
  };
}

/**
 * The access rights that a session gains by a response: the appointment and the created Patient. The patient counts
 * only while the record has the identifier of the request (`knownPatients`), as appointments can be edited.
 */
export function gainedBy(
  { form, session }: Visit,
  { patient, name }: Submission,
  answer: Appointment,
): Partial<Session> {
  const [id] = patientsOf(answer);
  const mark = typeof patient === 'string' ? undefined : patient.identifier?.at(-1)?.value;
  const isSelf = form.get('for') === '' && !session.patients.some((one) => one.isSelf);
  const patients = id && mark ? [{ id, mark, name, email: form.get('email'), isSelf }] : [];
  return { patients, appointments: [answer.id ?? ''] };
}

/** An alternative time needs another identifier than the first choice. */
const bookingKey = ({ time, key }: UnderWay['pending'], chosen: ChosenTime): string =>
  chosen === time ? key : `${key}-${formatInstant(chosen.start)}`;

/** Books the hold. If it was released meanwhile, books the time without it. */
async function bookAtClinic(
  { portal }: Visit,
  { pending, service }: UnderWay,
  chosen: ChosenTime,
  submission: Submission,
): Promise<readonly Appointment[] | Refusal> {
  const isFirst = chosen === pending.time;
  const send = (value: string, holds: readonly string[]): Promise<readonly Appointment[] | Refusal> => {
    const wanted = { time: chosen, service, identifier: identifierOf(portal, value) };
    return askFor(portal, 'book', wanted, (booking) => bookRequest(booking, submission, holds));
  };
  const holds = isFirst && pending.hold !== '' ? pending.hold.split(',') : [];
  const answer = await send(bookingKey(pending, chosen), holds);
  const isGivenBack = holds.length > 0 && isRefusal(answer) && has(answer, 'appointment-closed');
  return isGivenBack ? send(`${pending.key}-again`, []) : answer;
}

async function book(
  visit: Visit,
  booking: UnderWay,
  chosen: ChosenTime,
  submission: Submission,
): Promise<readonly Appointment[] | Refusal> {
  const { portal, visitor } = visit;
  const { pending, service } = booking;
  const problem =
    chosen === pending.time || chosen.steps ? undefined : await refusalOf(portal.service, service, chosen);
  if (problem) {
    return problem;
  }
  const takeBack = portal.shares.take(visitor, `${pending.key} ${formatTime(chosen)}`, lengthOf(chosen));
  if (!takeBack) {
    return visitorLimit;
  }
  const booked = await bookAtClinic(visit, booking, chosen, submission);
  if (!isRefusal(booked)) {
    portal.shares.end(visitor, pending.key);
  } else if (reasonOf(booked) !== 'unknown') {
    takeBack();
  }
  return booked;
}

/** The QuestionnaireResponse of the answers. */
export function responseOf(
  { portal, texts }: Visit,
  questions: QuestionForm | undefined,
  answers: FormAnswers | undefined,
) {
  const { yes, no } = texts.details;
  return questions && answers && toQuestionnaireResponse(questions, answers, [yes, no], formatInstant(portal.now()));
}

async function bookFrom(visit: Visit, booking: UnderWay, page: DetailsPage): Promise<Reply> {
  const { portal, form } = visit;
  const { answers, known, problems } = checked(visit, page, form);
  const chosen = parseTime(form.get('time')) ?? booking.pending.time;
  if (problems.size > 0) {
    // Post/redirect/get: the back button must not ask to submit the form again.
    return isKept(form)
      ? { kind: 'redirect', to: addressOf(visit, { check: '1' }), draft: form }
      : detailsPage(visit, { ...page, state: { form, problems } });
  }
  const submission = submissionOf(visit, booking.pending.key, known, responseOf(visit, page.questions, answers));
  const booked = await book(visit, booking, chosen, submission);
  if (isRefusal(booked)) {
    const alternatives = await alternativesTo(visit, booked, booking.service, chosen);
    return detailsPage(visit, { ...page, refusal: { reason: reasonOf(booked), alternatives } });
  }
  // One appointment gives access to the whole visit or series.
  const [first] = booked;
  const id = first?.id ?? '';
  const gained = first ? gainedBy(visit, submission, first) : {};
  const session = withMore(visit.session, { ...gained, booked: { [booking.pending.key]: id } });
  const outcome = booked.some(({ status }) => status === 'pending') ? 'asked' : 'booked';
  const isSeries = booked.length > 1 && booking.service.visit?.series !== undefined;
  return {
    kind: 'redirect',
    to: `${portal.options.path}/appointments/${id}?outcome=${outcome}${isSeries ? '&all=1' : ''}`,
    session,
    draft: null,
  };
}

const inLanguage =
  (language: Language) =>
  async (visit: Visit): Promise<Reply> => ({
    kind: 'redirect',
    to: addressOf(visit, {}),
    language,
    draft: visit.form,
  });

/** Other actions of the form's buttons, by their value. */
const actions: ReadonlyMap<string, (visit: Visit, booking: UnderWay) => Promise<Reply>> = new Map([
  ['prolong', prolong],
  ['other', chooseOther],
  ...languages.map((language) => [language, inLanguage(language)] as const),
]);

/** `POST /details`: books, prolongs the hold, goes back to the times, or switches the language. */
export const sendDetails = forUnderWay(async (visit, booking) => {
  const action = actions.get(visit.form.get('action'));
  if (action) {
    return action(visit, booking);
  }
  const page = await pageOf(visit, booking, visit.form, await currentHold(visit, booking.pending));
  return 'kind' in page ? page : bookFrom(visit, booking, page);
});
