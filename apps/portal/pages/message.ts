import { type Html, html } from '../../../packages/web/html.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { RefusalReason } from '../texts/texts.ts';
import { when } from './appointment.ts';
import { phoneLine } from './layout.ts';

/** The possible replies to a message of the clinic. */
export const messageAnswers = ['come', 'cancel', 'move', 'stop', 'start'] as const;

type MessageReply = (typeof messageAnswers)[number];

/** The appointment of a message, and the replies that the service accepts. */
export interface RepliableMessage {
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly isCancelled: boolean;
  readonly possible: readonly MessageReply[];
}

/**
 * The page of a message's link. Only its buttons send a reply, so that link scanners send none.
 *
 * @param phone - the clinic's telephone, if the page cannot do what the person needs
 */
export function messagePage(
  visit: Visit,
  { start, end, isCancelled, possible }: RepliableMessage,
  phone: string | undefined,
  done?: { readonly answer: MessageReply | 'moved' } | { readonly refusal: RefusalReason },
): Reply {
  const { texts, portal, id } = visit;
  const { message } = texts;
  const refusal = done && 'refusal' in done ? done.refusal : undefined;
  const answers = { ...message.done, moved: texts.appointment.moved };
  const said = done && 'answer' in done ? answers[done.answer] : undefined;
  const title = said ?? message.title;
  const button = (answer: MessageReply, style: string): Html | false =>
    possible.includes(answer) &&
    html`<button name="answer" value="${answer}" class="${style}">${message.answers[answer]}</button>`;
  const isOpen = possible.includes('come');
  const needsTime = done !== undefined && 'answer' in done && done.answer === 'move';
  const advice = !isOpen ? message.changed : possible.includes('cancel') ? message.otherTime : message.tooLate;
  const isStuck = !isOpen || !possible.includes('cancel') || needsTime;
  // The move button is shown wherever cancelling is possible. If no move is possible, the next page says what to do.
  const move =
    possible.includes('cancel') &&
    html`<button name="answer" value="move" class="secondary">${message.answers.move}</button>`;
  const body = html`<h1 tabindex="-1"${done && html` autofocus`}>${title}</h1>
${refusal && html`<div class="alert" role="alert"><p><strong>${texts.refusals[refusal]}</strong></p></div>`}
<p class="when">${when(visit, { start, end })}${isCancelled && html`<br>${texts.states.cancelled}`}</p>
<form method="post" action="${portal.options.path}/message/${id}">
${(!said || needsTime) && isStuck && html`<p>${advice}</p>${phoneLine(visit, phone)}${needsTime && html`<p><a href="${portal.options.path}/">${texts.book}</a></p>`}`}
${(!said || needsTime) && html`<p class="actions">${!needsTime && html`${button('come', 'primary')}${move}`}${button('cancel', 'danger')}</p>`}
<div id="stop"><h2>${message.stopTitle}</h2>${possible.includes('stop') ? html`<p>${message.stopNote}</p>${button('stop', 'secondary')}` : html`<p>${message.done.stop}</p>${button('start', 'secondary')}`}</div></form>`;
  return { kind: 'page', title, body, ...(refusal && { status: 409, isProblem: true }) };
}
