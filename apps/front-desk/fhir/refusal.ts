import { type Alternative, problemsIn } from '../../../packages/web/refusal.ts';

/** A request that Medplum or the service refused or did not complete. */
export interface Refusal {
  readonly refused: true;
  /** HTTP status; 0 without a response, so that the outcome is unknown. */
  readonly status: number;
  /** Codes of the booking service (docs/errors.md). */
  readonly codes: readonly string[];
  readonly sentences: readonly string[];
  /** Bookable times in place of the refused one. */
  readonly alternatives: readonly Alternative[];
}

/** Whether a response is a refusal. */
export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer;
}

/** The reasons of a refusal. `body` is not validated; `alternativeUrl` is that of the extension LocalAlternative. */
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

type RefusalKind = 'signed-out' | 'forbidden' | 'changed' | 'taken' | 'gone' | 'unreachable' | 'busy' | 'refused';

/** The reasons of a refusal in words, for codes that people understand. */
export const reasonsOf = ({ codes }: Refusal, words: Readonly<Record<string, string>>): string[] => [
  ...new Set(codes.flatMap((code) => words[code] ?? [])),
];

const takenCodes = ['slot-not-free', 'schedule-overbooked', 'hold-expired', 'slot-not-found', 'booking-conflict'];

/** The kind of a refusal. */
export function refusalKindOf({ status, codes }: Refusal): RefusalKind {
  if (codes.some((code) => takenCodes.includes(code))) {
    return 'taken';
  }
  const byStatus: Readonly<Record<number, RefusalKind>> = {
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
