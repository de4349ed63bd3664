import { type Content, type Html, html } from '../../../packages/web/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { RefusalReason, State, Texts } from '../texts/texts.ts';
import { type AppointmentView, openOf } from '../visit/appointment.ts';
import { type ChosenTime, formatTime } from '../visit/chosen-time.ts';
import { bookingFields, chosenSteps, otherTimes, refusalNote } from './taken.ts';

/** A link to a map on another site. */
export const mapLink = ({ texts, isEmbedded }: Visit, map: string | undefined): Content =>
  map && html` <a href="${map}" rel="noreferrer"${isEmbedded && html` target="_blank"`}>${texts.appointment.map}</a>`;

/** Date and time of an appointment, or the period of a waitlist entry. */
export function when(
  { texts, clock, say }: Visit,
  { start, end, wish }: Pick<AppointmentView, 'start' | 'end'> & Partial<Pick<AppointmentView, 'wish'>>,
): Html {
  if (wish) {
    return html`${say(texts.wait.between, { from: clock.longDay(wish.start), to: clock.longDay(wish.end - 1) })}`;
  }
  return start === undefined
    ? html`${texts.appointment.unknownTime}`
    : html`${clock.longDay(start)}, ${clock.time(start)}${end !== undefined && clock.longDay(end) === clock.longDay(start) ? html`–${clock.time(end)}` : end !== undefined && html` – ${clock.longDay(end)}, ${clock.time(end)}`}`;
}

function stepsPart(visit: Visit, { steps, state }: AppointmentView): Html | false {
  const { texts } = visit;
  const items = steps.map(
    (
      step,
    ) => html`<li><strong>${when(visit, step)}</strong>${[step.what, step.withWhom].map((one) => one && html`<br>${one}`)}
${step.where && html`<br>${step.where}${mapLink(visit, step.map)}`}${step.state !== state && html`<br>${texts.states[step.state]}`}</li>`,
  );
  return steps.length > 0 && html`<h2>${texts.visit.steps}</h2><ol>${items}</ol>`;
}

const timesOf = (visit: Visit, views: readonly AppointmentView[]): Html =>
  html`<ol>${views.map((view) => html`<li>${when(visit, view)}</li>`)}</ol>`;

/** The appointments of a series, each with its page. */
function seriesPart(visit: Visit, { id, series }: AppointmentView): Html | false {
  const { texts, portal } = visit;
  const items = series?.all.map(
    (view) =>
      html`<li><a href="${portal.options.path}/appointments/${view.id}"${view.id === id && html` aria-current="true"`}>${when(visit, view)}</a>${view.state !== 'confirmed' && html` · ${texts.states[view.state]}`}</li>`,
  );
  return items !== undefined && html`<section><h2>${texts.series.list}</h2><ol>${items}</ol></section>`;
}

/**
 * The state of an appointment with its details. The script replaces it after a change; `watch` is the URL that reports
 * one.
 */
export function statePart(visit: Visit, view: AppointmentView, watch: string): Html {
  const { texts, clock } = visit;
  const { state } = view;
  const label = view.isByClinic ? 'refused' : state;
  const notes: Readonly<Partial<Record<State | 'refused', string>>> = texts.stateNotes;
  const rows: [string, Content][] = [
    [texts.wait.place, view.position],
    [texts.appointment.what, view.steps.length === 0 && view.what],
    [texts.appointment.withWhom, view.withWhom],
    [texts.appointment.where, view.where && html`${view.where}${mapLink(visit, view.map)}`],
    [texts.appointment.forWhom, view.forWhom],
    [texts.appointment.comment, view.comment],
    [texts.appointment.reason, view.isUnanswered ? texts.appointment.unanswered : view.reason],
    [
      texts.appointment.answerBy,
      view.answerBy !== undefined && `${clock.longDay(view.answerBy)}, ${clock.time(view.answerBy)}`,
    ],
  ];
  const isOpen = state === 'asked' || state === 'confirmed';
  const isWatched = isOpen || state === 'waiting';
  return html`<section id="state" class="card" data-state="${state}"${isWatched && html` data-watch="${visit.portal.options.path}/appointments/${view.id}/state" data-updates="${watch}"`}>
<p class="state ${state}">${texts.states[label]}</p>
${notes[label] && html`<p>${notes[label]}</p>`}
<p class="when"><strong>${when(visit, view)}</strong></p>
${state === 'waiting' && html`<p>${view.isNotified ? texts.wait.notified : texts.wait.hear}</p>`}
<dl>${rows.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${stepsPart(visit, view)}
${(view.notes || (isOpen && view.bring)) && html`<h2>${texts.appointment.notes}</h2><p class="notes">${[view.notes, isOpen && view.bring].filter((one) => one).join('\n\n')}</p>`}
</section>`;
}

/** A personal link to appointments. */
export interface PersonalLink {
  readonly url: string;
  /** Milliseconds since 1970 UTC. */
  readonly until: number;
  readonly count: number;
  /** E-mail address of the patient; empty if unknown. */
  readonly email: string;
  readonly clinic: string;
}

/** The personal link, with buttons to copy and send it. */
export function linkBox({ texts, say, clock }: Visit, { url, until, count, email, clinic }: PersonalLink): Html {
  const { appointment } = texts;
  const mail = `mailto:${encodeURIComponent(email)}?${new URLSearchParams({ subject: `${appointment.title}, ${clinic}`, body: url }).toString().replaceAll('+', '%20')}`;
  return html`<section class="card" aria-labelledby="link-title"><h2 id="link-title">${appointment.link}</h2>
<p>${say(appointment.linkNote, { number: count, until: clock.longDay(until) })}</p>
<p class="link" dir="ltr">${url}</p>
<p class="actions"><button type="button" class="secondary" data-copy="${url}" data-copied="${appointment.copied}" hidden>${appointment.copy}</button>
<a href="${mail}">${email ? say(appointment.mailTo, { address: email }) : appointment.mail}</a></p><p role="status" class="status-line"></p></section>`;
}

/** The result of an action, for the title of the page. */
type AppointmentOutcome = 'booked' | 'asked' | 'moved' | 'cancelled' | 'joined' | 'left';

export function isOutcome(text: string): text is AppointmentOutcome {
  return ['booked', 'asked', 'moved', 'cancelled', 'joined', 'left'].includes(text);
}

/** The actions that the appointment allows. The script replaces them together with the state. */
export function actionsPart({ texts, say, clock, portal }: Visit, view: AppointmentView): Html {
  const { book, wait } = texts;
  const [isVisit, isSeries] = [view.steps.length > 0, openOf(view).length > 0];
  const appointment = { ...texts.appointment, ...(isVisit && texts.visit) };
  const own = `${portal.options.path}/appointments/${view.id}`;
  const move =
    view.serviceKey &&
    `${portal.options.path}/times?${new URLSearchParams({ service: view.serviceKey, move: view.id }).toString()}`;
  const { openUntil, start } = view;
  const isLimited = openUntil !== undefined && openUntil !== start;
  const limit = isLimited && `${clock.longDay(openUntil)}, ${clock.time(openUntil)}`;
  return html`<div id="actions"><p class="actions">
${view.start !== undefined && view.state !== 'cancelled' && !view.offer && html`<a href="${own}/calendar.ics" class="button${view.isOpen && ' primary'}" download>${appointment.calendar}</a>`}
${view.isOpen && move && html`<a href="${move}" class="button">${appointment.move}</a>`}
${isSeries && view.isOpen && view.series?.key && html`<a href="${portal.options.path}/times?${new URLSearchParams({ service: view.series.key, move: view.id, all: 'usual' }).toString()}" class="button">${texts.visit.moveSeries}</a>`}
${view.isOpen && html`<a href="${own}/cancel" class="button">${appointment.cancel}</a>`}
${isSeries && html`<a href="${own}/cancel?all=1" class="button">${texts.series.cancel}</a>`}
${view.isOpen && view.hasWaitlist && html`<a href="${portal.options.path}/wait?current=${view.id}" class="button">${wait.earlier}</a>`}
${view.state === 'waiting' && html`<a href="${own}/cancel" class="button">${wait.leave}</a>`}
${view.state === 'cancelled' && !view.wish && html`<a href="${portal.options.path}/${view.serviceKey && `times?${new URLSearchParams({ service: view.serviceKey }).toString()}`}" class="button">${book}</a>`}
</p>${limit && html`<p class="note">${say(view.isOpen ? appointment.openUntil : appointment.openNoMore, { time: limit })}</p>`}${view.isOpen && isVisit && !move && html`<p class="note">${texts.visit.noMove}</p>`}</div>`;
}

/** A personal offer with its deadline, and the buttons to accept or decline it. */
export function offerPart(visit: Visit, view: AppointmentView): Html | false {
  const { texts, say, clock, portal } = visit;
  const own = `${portal.options.path}/appointments/${view.id}`;
  const { offer } = view;
  const what = [view.what, view.withWhom, view.forWhom].filter((one) => one).join(' · ');
  return (
    offer !== undefined &&
    html`<section class="card offer"><h2>${offer.isForAbsence ? texts.offer.absenceTitle : texts.offer.title}</h2>
<p class="when">${when(visit, view)}<br>${what}</p>
${stepsPart(visit, view)}
<p>${say(texts.offer.until, { time: `${clock.longDay(offer.until)}, ${clock.time(offer.until)}` })}${offer.isForAbsence ? html` ${texts.offer.absenceInstead}` : offer.isInstead && html` ${texts.offer.instead}`}</p>
<form method="post" action="${own}/accept" class="actions" data-wait="${texts.details.wait}"><button class="primary">${texts.offer.accept}</button>
<a href="${own}/cancel" class="button">${texts.offer.decline}</a></form></section>`
  );
}

/** The personal offers for an appointment or waitlist entry. The script replaces them together with the state. */
export const offersPart = (visit: Visit, offers: readonly AppointmentView[]): Html =>
  html`<div id="offers">${offers.map((view) => offerPart(visit, view))}</div>`;

/** The content of an appointment's page besides the appointment. */
export interface AppointmentPage {
  readonly link: PersonalLink;
  readonly watch: string;
  readonly offers: readonly AppointmentView[];
  readonly outcome?: AppointmentOutcome | undefined;
  /** Whether the outcome is about the whole series. */
  readonly isAll?: boolean;
  readonly refusal?: RefusalReason | undefined;
}

export function appointmentPage(
  visit: Visit,
  view: AppointmentView,
  { link, watch, offers, outcome, isAll, refusal }: AppointmentPage,
): Reply {
  const { texts, portal } = visit;
  const { appointment } = texts;
  const own = `${portal.options.path}/appointments/${view.id}`;
  const title = outcome
    ? { ...appointment, ...texts.wait, ...(view.steps.length > 0 && texts.visit), ...(isAll && texts.series) }[outcome]
    : view.wish
      ? texts.wait.list
      : appointment.title;
  const body = html`<h1 tabindex="-1"${outcome && html` autofocus`} data-later="${appointment.title}">${title}</h1>
${(outcome === 'booked' || outcome === 'asked') && html`<p>${view.isNotified ? appointment.notified : appointment.notNotified}</p>`}
${refusalNote(visit, refusal)}
${offersPart(visit, [view, ...offers])}
${statePart(visit, view, watch)}
<p role="status" class="status-line" id="state-status" data-behind="${appointment.behind}"></p>
${actionsPart(visit, view)}
${seriesPart(visit, view)}
<noscript><p><a href="${own}">${appointment.refresh}</a></p></noscript>
${linkBox(visit, link)}`;
  return { kind: 'page', title, body, ...(refusal && { status: 409, isProblem: true }) };
}

/** The page for a personal offer that has ended. */
export function offerOverPage(visit: Visit): Reply {
  const { texts, portal } = visit;
  const body = html`<h1>${texts.list.title}</h1>
${refusalNote(visit, 'heldOver')}
<p><a href="${portal.options.path}/appointments">${texts.mine}</a></p>`;
  return { kind: 'page', title: texts.list.title, body, status: 409, isProblem: true };
}

/** Reasons after which the same request may succeed later. */
const passing: readonly RefusalReason[] = ['unknown', 'busy', 'changed', 'visitorLimit'];

function questionOf(
  { appointment, wait, offer, visit }: Texts,
  { state, offer: offered, steps }: AppointmentView,
  all: Texts['series'] | undefined,
) {
  if (state === 'waiting') {
    return { cancelTitle: wait.leaveTitle, cancelQuestion: wait.leaveQuestion, yes: wait.leaveYes };
  }
  return state === 'offered'
    ? {
        cancelTitle: offer.declineTitle,
        cancelQuestion: offered?.isForAbsence ? offer.absenceQuestion : offer.declineQuestion,
        yes: offer.decline,
      }
    : { ...appointment, ...(steps.length > 0 && visit), ...all, yes: appointment.cancelYes };
}

/**
 * Asks before an appointment is cancelled, a waitlist entry is removed or a personal offer is declined.
 *
 * @param all - the appointments of a series that are cancelled together
 */
export function cancelPage(
  visit: Visit,
  view: AppointmentView,
  refusal: RefusalReason | undefined,
  all: readonly AppointmentView[],
): Reply {
  const { texts, portal } = visit;
  const { appointment } = texts;
  const {
    cancelTitle: title,
    cancelQuestion: question,
    yes,
  } = questionOf(texts, view, all.length > 0 ? texts.series : undefined);
  const own = `${portal.options.path}/appointments/${view.id}`;
  // Only a temporary refusal leaves the button for another attempt.
  const isPossible = refusal === undefined || passing.includes(refusal);
  const body = html`<h1>${title}</h1>
${refusalNote(visit, refusal)}
${all.length > 0 ? timesOf(visit, all) : html`<p class="when">${when(visit, view)}${view.what && html`<br>${view.what}`}</p>`}
${!refusal && html`<p>${question}</p>`}
<form method="post" action="${own}/cancel${all.length > 0 && '?all=1'}" class="actions" data-wait="${texts.details.wait}">
${isPossible && html`<button class="danger">${refusal ? texts.again : yes}</button>`}
<a href="${own}" class="button">${isPossible && !view.offer ? appointment.keep : appointment.title}</a></form>`;
  return { kind: 'page', title, body, ...(refusal && { status: 409, isProblem: true }) };
}

/** The appointment to be moved. */
export interface Movable
  extends Pick<AppointmentView, 'start' | 'end'>,
    Partial<Pick<AppointmentView, 'what' | 'withWhom' | 'steps' | 'series'>> {
  readonly own: string;
  readonly service?: BookableService | undefined;
}

/** Asks before an appointment is moved; shows alternatives if the new time is no longer free. */
export function movePage(
  visit: Visit,
  view: Movable,
  time: ChosenTime,
  refusal?: { readonly reason: RefusalReason; readonly alternatives: readonly ChosenTime[] | undefined },
): Reply {
  const { texts } = visit;
  const { own, service, steps = [] } = view;
  const isSeries = time.steps && steps.length === 0;
  const { moveTitle } = time.steps ? texts.visit : texts.appointment;
  const appointment = { ...texts.appointment, moveTitle: isSeries ? texts.visit.moveSeriesTitle : moveTitle };
  const what = [view.what, view.withWhom].filter((one) => one).join(', ');
  const schedule = service?.schedules.find(({ reference }) => reference === time.schedule);
  const moved = isSeries
    ? view.series?.all.filter(({ step }) => time.steps?.some(({ name }) => name === step?.name))
    : undefined;
  const others = refusal?.alternatives;
  const isPossible = refusal === undefined || refusal.alternatives !== undefined || passing.includes(refusal.reason);
  const body = html`<h1>${appointment.moveTitle}</h1>
${refusalNote(visit, refusal?.reason)}
<form method="post" action="${own}/move" data-wait="${texts.details.wait}">${service && bookingFields(service)}
<dl>${what && html`<div><dt>${appointment.what}</dt><dd>${what}</dd></div>`}
<div><dt>${appointment.from}</dt><dd>${moved ? timesOf(visit, moved) : when(visit, view)}</dd></div>
${!others && html`<div><dt>${appointment.to}</dt><dd>${!isSeries && html`<strong>${when(visit, time)}</strong>`}${schedule?.name && html`<br>${schedule.name}`}${chosenSteps(visit, time)}</dd></div>`}</dl>
${!others && schedule?.isRequest && html`<p class="note">${texts.details.askNote}</p>`}
${others && otherTimes(visit, others, service)}
<p class="actions">${isPossible && !others && html`<button name="time" value="${formatTime(time)}" class="primary">${refusal ? texts.again : appointment.moveTo}</button>`}
<a href="${own}" class="button">${isPossible ? appointment.keep : appointment.title}</a></p></form>`;
  return { kind: 'page', title: appointment.moveTitle, body, ...(refusal && { status: 409, isProblem: true }) };
}
