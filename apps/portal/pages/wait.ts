import { html } from '../../../packages/web/html.ts';
import type { BookableSchedule, BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { QuestionForm } from '../questionnaire/questions.ts';
import type { RefusalReason } from '../texts/texts.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { when } from './appointment.ts';
import { type KnownPatient, personLabels, whoFields } from './details.ts';
import { type FormState, problemSummary, textField } from './fields.ts';
import { questionFields } from './questions.ts';
import { refusalNote } from './taken.ts';

/** The content of the waitlist form. */
export interface WaitPage {
  readonly service: BookableService;
  readonly schedule: BookableSchedule | undefined;
  /** The current appointment, for which an earlier time is wanted. Its patient is not asked for again. */
  readonly current: AppointmentView | undefined;
  readonly known: readonly KnownPatient[];
  /** The clinic's consent text, as a question. */
  readonly questions: QuestionForm | undefined;
  readonly privacy: string | undefined;
  readonly state: FormState;
  readonly refusal?: RefusalReason | undefined;
}

/** The form for a waitlist entry: the days and the person. */
export function waitPage(visit: Visit, page: WaitPage): Reply {
  const { texts, portal, url } = visit;
  const { wait, details } = texts;
  const { service, schedule, current, state, questions, privacy, refusal } = page;
  const title = current ? wait.earlier : wait.title;
  const { first, last } = wait;
  const names: Readonly<Record<string, string>> = {
    ...personLabels(visit),
    first,
    last,
    consent: details.consent,
  };
  const day = (name: 'first' | 'last') =>
    textField(visit, state, { name, label: wait[name], type: 'date', isRequired: true });
  const body = html`<h1>${title}</h1>
${refusalNote(visit, refusal)}
${problemSummary(visit, state, (name) => names[name] ?? name)}
<p class="chosen">${service.name}${schedule?.name && html` · ${schedule.name}`}</p>
${current && html`<p>${texts.appointment.isMoved}: ${when(visit, current)}</p>`}
<p>${wait.lead}${current && html` ${wait.leadEarlier}`}</p>
<form method="post" action="${url}" class="details" data-wait="${details.wait}">
<fieldset class="group"><legend>${wait.days}</legend>${day('first')}${day('last')}</fieldset>
${!current && whoFields(visit, page)}
${questions && questionFields(visit, state, questions.questions)}
${!current && portal.options.messages && html`<p><label><input type="checkbox" name="messages" value="yes"${state.form.get('messages') && html` checked`}> ${details.messages}</label></p>`}
${privacy && html`<p class="note">${details.privacy} <a href="${privacy}" target="_blank" rel="noopener">${texts.privacy}</a></p>`}
<button class="primary">${refusal === 'unknown' ? texts.again : wait.submit}</button>
</form>`;
  const status = refusal ? 409 : state.problems.size > 0 ? 422 : 200;
  return { kind: 'page', title, body, status, isProblem: status !== 200 };
}
