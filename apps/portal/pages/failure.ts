import { html } from '../../../packages/web/html.ts';
import type { Refusal } from '../fhir/client.ts';
import type { Reply, Visit } from '../http/visit.ts';
import type { Texts } from '../texts/texts.ts';

/** The HTTP status of each failure page. */
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

export type Failure = keyof typeof failures;

/** Maps a refused read to a failure page. */
export function failureOf({ status }: Refusal): Failure {
  return [400, 404, 410].includes(status) ? 'notFound' : status === 429 ? 'tooMany' : 'unavailable';
}

export function failurePage({ texts, portal }: Pick<Visit, 'texts' | 'portal'>, failure: Failure): Reply {
  const { title, text } = texts.failures[failure];
  const body = html`<h1>${title}</h1>
<p>${text}</p>
<p><a href="${portal.options.path}/">${texts.book}</a></p>`;
  return { kind: 'page', title, body, status: failures[failure], isProblem: true };
}
