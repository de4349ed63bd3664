import { formatInstant } from '../../../core/fhir/instant.ts';
import { flag, type Html, html } from '../../../packages/web/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import { allQuestions, type QuestionForm } from '../questionnaire/questions.ts';
import type { RefusalReason } from '../texts/texts.ts';
import type { ChosenTime } from '../visit/chosen-time.ts';
import { type PersonField, personFields, relations } from '../visit/person.ts';
import { type FormState, problemSummary, textArea, textField } from './fields.ts';
import { questionFields } from './questions.ts';
import { chosenSteps, otherTimes, refusalNote } from './taken.ts';

/** A patient for whom the visitor may book again. */
export interface KnownPatient {
  readonly id: string;
  readonly name: string;
  /** Whether the visitor booked for this patient as for themselves. */
  readonly isSelf?: boolean | undefined;
}

/** The content of the page for a patient's details. */
export interface DetailsPage {
  readonly service: BookableService;
  readonly time: ChosenTime;
  readonly isRequest: boolean;
  /** End of the hold, in milliseconds since 1970 UTC; `undefined` if it has ended. */
  readonly heldUntil: number | undefined;
  readonly holdNotice: string | undefined;
  readonly questions: QuestionForm | undefined;
  readonly privacy: string | undefined;
  /** Patients whose details need not be entered again. */
  readonly known: readonly KnownPatient[];
  readonly state: FormState;
  readonly sealed: string;
  readonly refusal?:
    | { readonly reason: RefusalReason; readonly alternatives: readonly ChosenTime[] | undefined }
    | undefined;
}

function summary(visit: Visit, { service, time }: DetailsPage): Html {
  const { texts, clock } = visit;
  const schedule = service.schedules.find(({ reference }) => reference === time.schedule);
  return html`<h2 id="summary-title">${texts.details.your}</h2>
<p class="when">${clock.longDay(time.start)}${!time.steps && html`<br><strong>${clock.time(time.start)}–${clock.time(time.end)}</strong>`}</p>
${chosenSteps(visit, time)}
<p>${service.name}${schedule?.name && schedule.name !== service.name && html`<br>${schedule.name}`}</p>`;
}

/** A hold can only be prolonged this long before its end, in milliseconds, because it can be prolonged only once. */
export const LAST_MINUTES = 180_000;

/** The end of the hold and the button to prolong it. The script counts down and warns. */
function holdPanel(visit: Visit, { heldUntil, holdNotice, refusal }: DetailsPage): Html | false {
  const { texts, say, clock, portal } = visit;
  const { details } = texts;
  if (refusal?.alternatives !== undefined) {
    return false;
  }
  if (heldUntil === undefined) {
    return html`<div class="hold over"><p role="status">${details.over}</p>
<button name="action" value="prolong" formnovalidate class="secondary">${details.again}</button></div>`;
  }
  const minutes = Math.max(1, Math.ceil((heldUntil - portal.now()) / 60_000));
  return html`<div class="hold" data-until="${formatInstant(heldUntil)}" data-now="${formatInstant(portal.now())}" data-last="${LAST_MINUTES}" data-locale="${texts.locale}" data-soon="${details.soonOver}" data-over="${details.over}">
<p class="until">${say(details.heldUntil, { time: clock.time(heldUntil) })}</p>
<p class="left">${details.remaining} <span class="remaining">${say(details.minutes, { number: minutes })}</span></p>
<p class="status-line" role="status">${holdNotice}</p>
<button name="action" value="prolong" formnovalidate class="secondary">${details.prolong}</button></div>`;
}

/** The labels of the person fields, by field name. */
export function personLabels({ texts: { details } }: Visit): Readonly<Record<string, string>> {
  const { given, family, birthDate, email, phone, you } = details;
  const own = { ownGiven: `${you}: ${given}`, ownFamily: `${you}: ${family}` };
  return { given, family, birthDate, email, phone, ...own };
}

/**
 * The fields for the person of the appointment. Of known patients only the name is shown. The fields follow the radio
 * buttons, so that CSS alone hides those that do not apply.
 */
export function whoFields(visit: Visit, { known, state }: Pick<DetailsPage, 'known' | 'state'>): Html {
  const { details } = visit.texts;
  const [isOnly, isOther] = [known.length === 0, known.some(({ isSelf }) => isSelf)];
  const option = (value: string, name: string, kind: 'patient' | 'related' | 'own'): Html =>
    html`<input type="radio" name="for" id="for-${value}" value="${value}" class="${kind}"${flag('checked', state.form.get('for') === value)}>
<label for="for-${value}">${name}</label>`;
  const field = (
    name: PersonField,
    label: string,
    type: 'text' | 'date' | 'email' | 'tel',
    autocomplete: string,
    isRequired: boolean,
  ) =>
    textField(visit, state, {
      name,
      label,
      type,
      isRequired,
      isOptional: false,
      autocomplete,
      ...(type !== 'date' && { maxLength: personFields[name] }),
    });
  // Autofill knows the person at the browser, not the person they book for.
  const isRelated = relations.some((relation) => state.form.get('for') === relation);
  const filled = (token: string): string => (isRelated ? 'off' : token);
  return html`<fieldset class="group known"><legend>${details.person}</legend>
${known.map(({ id, name }) => option(id, name, 'patient'))}${option('', isOther ? details.someoneElse : details.me, 'own')}
${relations.map((relation) => option(relation, details[relation], 'related'))}
<fieldset class="group related"><legend>${details.you}</legend>
${field('ownGiven', details.given, 'text', 'given-name', false)}${field('ownFamily', details.family, 'text', 'family-name', false)}</fieldset>
<div class="person"><fieldset class="group"><legend><span class="for-own">${isOther ? details.patient : details.you}</span><span class="for-child">${details.ofChild}</span><span class="for-care">${details.ofCare}</span></legend>
${field('given', details.given, 'text', filled('given-name'), isOnly)}${field('family', details.family, 'text', filled('family-name'), isOnly)}${field('birthDate', details.birthDate, 'date', filled('bday'), isOnly)}</fieldset>
<fieldset class="group"><legend>${details.contact}</legend><p class="note">${details.contactHint}</p>
${field('email', details.email, 'email', 'email', false)}${field('phone', details.phone, 'tel', 'tel', false)}</fieldset></div></fieldset>`;
}

export function detailsPage(visit: Visit, page: DetailsPage): Reply {
  const { texts, say, portal } = visit;
  const { details } = texts;
  const { service, questions, state, isRequest, refusal, sealed } = page;
  const labels = new Map(questions ? allQuestions(questions.questions).map(({ field, text }) => [field, text]) : []);
  const person: Readonly<Record<string, string>> = { ...personLabels(visit), comment: details.comment };
  const submit = isRequest ? details.ask : details.submit;
  const others = refusal?.alternatives;
  const action = `${portal.options.path}/details?${new URLSearchParams({ b: sealed }).toString()}`;
  const body = html`<p class="step">${say(texts.step, { step: 3, steps: 3 })}</p>
<h1>${details.title}</h1>
<form method="post" action="${action}" id="details" class="columns details" data-wait="${details.wait}">
<section class="aside card" aria-labelledby="summary-title">
${summary(visit, page)}${holdPanel(visit, page)}
<button name="action" value="other" formnovalidate class="quiet">${details.other}</button>
</section>
<div class="fields">
${refusalNote(visit, refusal?.reason, others && otherTimes(visit, others, service, html`<p>${texts.alternatives.kept}</p>`))}
${problemSummary(visit, state, (name) => person[name] ?? labels.get(name) ?? name)}
${whoFields(visit, page)}
${
  questions &&
  html`<fieldset class="group"><legend>${questions.title ?? details.questions}</legend>${questionFields(visit, state, questions.questions)}</fieldset>`
}
${textArea(visit, state, 'comment', details.comment, false, personFields.comment)}
${portal.options.messages && html`<p><label><input type="checkbox" name="messages" value="yes"${state.form.get('messages') && html` checked`}> ${details.messages}</label></p>`}
${isRequest && html`<p class="note">${details.askNote}</p>`}
${page.privacy && html`<p class="note">${details.privacy} <a href="${page.privacy}" target="_blank" rel="noopener">${texts.privacy}</a></p>`}
${!others && html`<button class="primary">${refusal?.reason === 'unknown' ? texts.again : submit}</button>`}
</div>
</form>`;
  const status = refusal ? 409 : state.problems.size > 0 ? 422 : 200;
  return {
    kind: 'page',
    title: details.title,
    body,
    status,
    isProblem: status !== 200,
    ...(!others && { form: 'details' }),
  };
}
