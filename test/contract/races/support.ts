import { eventually } from '../../lib/until.ts';
import { book } from '../fixtures.ts';
import { type Answer, request } from '../http.ts';
import { base } from '../installation.ts';

/** How many requests take part in a race. */
export const RUNNERS = 50;

/** Books asynchronously and gives what has come of it. */
export async function bookLater(body: unknown): Promise<Answer> {
  const accepted = await book(body, 'portal-a', { prefer: 'respond-async' });
  const path = (accepted.headers.get('content-location') ?? '').slice(base.length);
  return accepted.status === 202
    ? eventually(() => request('portal-a', 'GET', path)).is(({ status }) => status !== 202)
    : accepted;
}

/** How often each status was answered: `{ 201: 1, 409: 49 }`. */
export function counts(answers: readonly Answer[]): Record<number, number> {
  const found: Record<number, number> = {};
  for (const { status } of answers) {
    found[status] = (found[status] ?? 0) + 1;
  }
  return found;
}
