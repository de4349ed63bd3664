import { type Alternative, problemsIn } from '../../../packages/web/refusal.ts';

/** Medplum or the service has not done what was asked. */
export interface Refusal {
  readonly refused: true;
  /** HTTP status; 0 if there was no answer, so that the outcome is unknown. */
  readonly status: number;
  /** The codes of the booking service (docs/errors.md) that it gives. */
  readonly codes: readonly string[];
  /** What the server says, sentence by sentence. */
  readonly sentences: readonly string[];
  /** Times that could be booked instead. */
  readonly alternatives: readonly Alternative[];
}

/** Whether an answer is a refusal. */
export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer;
}

/**
 * Why something was refused.
 *
 * @param body - the body of the answer, whatever it is
 * @param alternativeUrl - URL of the extension LocalAlternative
 */
export function refusalOf(status: number, body: unknown, alternativeUrl: string): Refusal {
  const problems = problemsIn(body, { alternative: alternativeUrl });
  return {
    refused: true,
    status,
    codes: problems.flatMap(({ code }) => code ?? []),
    sentences: [...new Set(problems.flatMap(({ text }) => text || []))],
    alternatives: problems.flatMap(({ alternatives }) => alternatives),
  };
}

/** What a person has to know about a refusal, and can do about it. */
type Situation = 'signed-out' | 'forbidden' | 'changed' | 'taken' | 'gone' | 'unreachable' | 'busy' | 'refused';

/** Why something was refused, in words, for codes of which a person can make something. */
export const reasonsOf = ({ codes }: Refusal, words: Readonly<Record<string, string>>): string[] => [
  ...new Set(codes.flatMap((code) => words[code] ?? [])),
];

const takenCodes = ['slot-not-free', 'schedule-overbooked', 'hold-expired', 'slot-not-found', 'booking-conflict'];

/** Of what kind a refusal is. */
export function situationOf({ status, codes }: Refusal): Situation {
  if (codes.some((code) => takenCodes.includes(code))) {
    return 'taken';
  }
  const byStatus: Readonly<Record<number, Situation>> = {
    0: 'unreachable',
    401: 'signed-out',
    403: 'forbidden',
    404: 'gone',
    409: 'changed',
    410: 'gone',
    412: 'changed',
    429: 'busy',
  };
  return byStatus[status] ?? (status >= 500 ? 'unreachable' : 'refused');
}
