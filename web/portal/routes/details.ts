import type { Patient } from '@medplum/fhirtypes';
import type { BookableService } from '../clinic/services.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import type { Reply, Visit } from '../http/visit.ts';
import { type DetailsPage, detailsPage } from '../pages/details.ts';
import { failurePage } from '../pages/failure.ts';
import { type QuestionForm, questionForm } from '../questionnaire/questions.ts';
import { type FormValues, prefilled } from '../visit/form.ts';
import { personOf } from '../visit/person.ts';
import { failureOf } from './refusals.ts';
import { currentHold, forUnderWay, type UnderWay } from './under-way.ts';

async function questionsOf({ portal }: Visit, service: BookableService): Promise<QuestionForm | undefined | Refusal> {
  const found = await portal.questionnaire(service);
  return found && !isRefusal(found) ? questionForm(found) : found;
}

/** The patients that this visitor may see, newest first. */
export async function knownPatients({ portal, session }: Visit): Promise<Patient[]> {
  const ids = session.patients.slice(-3).toReversed();
  const found = await Promise.all(ids.map((id) => portal.service.read('Patient', id)));
  return found.flatMap((patient) => (isRefusal(patient) ? [] : [patient]));
}

/**
 * What the page for a booking's details shows, or the page that says why it cannot be shown.
 *
 * @param form - what was typed
 * @param held - until when the time is held
 */
export async function pageOf(
  visit: Visit,
  { pending, service }: UnderWay,
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

/** `GET /details`: the form for a time that is held. */
export const showDetails = forUnderWay(async (visit, booking) => {
  const [[patient], until] = await Promise.all([knownPatients(visit), currentHold(visit, booking.pending)]);
  const form = visit.draft ?? prefilled(patient ? { ...personOf(patient) } : {});
  const page = await pageOf(visit, booking, form, until);
  return 'kind' in page ? page : detailsPage(visit, page);
});
