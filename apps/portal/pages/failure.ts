import { html } from '../../../packages/web/html.ts';
import type { Refusal } from '../fhir/client.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { Texts } from '../texts/texts.ts';

/** The failures that have a page of their own, with their status. */
const failures = {
  notFound: 404,
  linkInvalid: 404,
  linkExpired: 410,
  forged: 403,
  otherBrowser: 403,
  tooMany: 429,
  tooLarge: 413,
  unavailable: 503,
  broken: 500,
} as const satisfies Record<keyof Texts['failures'], number>;

/** A failure that has a page of its own. */
export type Failure = keyof typeof failures;

/** The page for a refusal to show anything: what is not there, or a service that does not answer. */
export function failureOf({ status }: Refusal): Failure {
  return [400, 404, 410].includes(status) ? 'notFound' : status === 429 ? 'tooMany' : 'unavailable';
}

/** The page of a failure: what happened, and what to do. */
export function failurePage({ texts, portal }: Pick<Visit, 'texts' | 'portal'>, failure: Failure): Reply {
  const { title, text } = texts.failures[failure];
  const body = html`<h1>${title}</h1>
<p>${text}</p>
<p><a href="${portal.options.path}/">${texts.book}</a></p>`;
  return { kind: 'page', title, body, status: failures[failure], isProblem: true };
}
