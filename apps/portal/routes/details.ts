import { listOf } from '../../../packages/web/elements.ts';
import type { BookableService } from '../clinic/services.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import type { Reply, Visit } from '../http/visit.ts';
import { type DetailsPage, detailsPage, type KnownPatient } from '../pages/details.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { readAnswers } from '../questionnaire/answers.ts';
import { type Question, type QuestionForm, questionForm } from '../questionnaire/questions.ts';
import { emptyForm, type FormValues } from '../visit/form.ts';
import { personProblems } from '../visit/person.ts';
import { currentHold, forUnderWay, marksOf, type UnderWay } from './under-way.ts';

async function questionsOf({ portal }: Visit, service: BookableService): Promise<QuestionForm | undefined | Refusal> {
  const found = await portal.questionnaire(service);
  return found && !isRefusal(found) ? questionForm(found) : found;
}

/** Adds the clinic's consent text to its questions. The QuestionnaireResponse contains the text itself as proof. */
export function withConsent(
  { texts }: Visit,
  asked: QuestionForm | undefined,
  consent: string | undefined,
): QuestionForm | undefined {
  if (!consent) {
    return asked;
  }
  const question: Question = {
    field: 'consent',
    linkId: 'consent',
    text: texts.details.consent,
    control: 'choice',
    isRequired: true,
    isRepeated: true,
    maxLength: 1,
    options: [{ label: consent, answer: { valueString: consent } }],
    enableWhen: { conditions: [], behavior: 'all' },
    questions: [],
  };
  const { canonical, title, questions = [] } = asked ?? {};
  return { canonical, title, questions: [...questions, question] };
}

/** The patients whose records the session created, newest first, by the names that were entered. */
export async function knownPatients({ portal, session }: Visit): Promise<KnownPatient[]> {
  const own = session.patients.toReversed();
  const found = await Promise.all(own.map(({ id }) => portal.service.read('Patient', id)));
  const system = marksOf(portal);
  return own.filter(({ mark }, index) => {
    const record = found[index];
    const isUsable = record && !isRefusal(record) && record.active !== false;
    return (
      isUsable &&
      listOf(record.identifier).some((identifier) => identifier.system === system && identifier.value === mark)
    );
  });
}

/**
 * Reads the content of the details page; returns a failure page if the questions cannot be read.
 *
 * @param held - end of the hold, in milliseconds since 1970 UTC
 */
export async function pageOf(
  visit: Visit,
  { pending, service }: UnderWay,
  form: FormValues,
  held?: number,
): Promise<DetailsPage | Reply> {
  const [asked, known, clinic] = await Promise.all([
    questionsOf(visit, service),
    knownPatients(visit),
    visit.portal.clinic(),
  ]);
  if (asked && isRefusal(asked)) {
    return failurePage(visit, failureOf(asked));
  }
  const questions = withConsent(visit, asked, clinic.consent);
  const schedule = service.schedules.find(({ reference }) => reference === pending.time.schedule);
  return {
    service,
    time: pending.time,
    isRequest: (schedule ?? service.schedules[0])?.isRequest ?? false,
    heldUntil: held,
    holdNotice: undefined,
    questions,
    privacy: clinic.privacy,
    known,
    state: { form, problems: new Map() },
    sealed: visit.query.get('b'),
  };
}

export function addressOf({ portal, query }: Visit, more: Readonly<Record<string, string>>): string {
  return `${portal.options.path}/details?${new URLSearchParams({ b: query.get('b'), ...more }).toString()}`;
}

/** Reads and validates a form. */
export function checked({ portal, clock }: Visit, { questions, known: offered }: DetailsPage, form: FormValues) {
  const answers = questions && readAnswers(questions, form, portal.options.timeZone);
  const known = offered.find(({ id }) => id === form.get('for'));
  const person = personProblems(form, clock.dayOf(portal.now()), known !== undefined);
  return { answers, known, problems: new Map([...person, ...(answers?.problems ?? [])]) };
}

/** `GET /details`: the form for a held time, with the draft, and its problems if it was submitted. */
export const showDetails = forUnderWay(async (visit, booking) => {
  const page = await pageOf(visit, booking, visit.draft ?? emptyForm, await currentHold(visit, booking.pending));
  if ('kind' in page) {
    return page;
  }
  const isChecked = visit.draft !== undefined && visit.query.get('check') === '1';
  const state = isChecked
    ? { form: page.state.form, problems: checked(visit, page, page.state.form).problems }
    : page.state;
  return detailsPage(visit, { ...page, state });
});
