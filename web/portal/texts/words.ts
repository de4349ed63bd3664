import type { Language } from '../../server/language.ts';

/** Why a booking was refused, as far as patients can do something about it. */
export type RefusalReason =
  | 'taken'
  | 'heldOver'
  | 'tooSoon'
  | 'tooFar'
  | 'closed'
  | 'tooManyHolds'
  | 'patientLimit'
  | 'visitorLimit'
  | 'busy'
  | 'cancelTooLate'
  | 'changed'
  | 'unknown'
  | 'other';

/** What is wrong with a field. */
export type FieldProblem =
  | 'missing'
  | 'date'
  | 'dateInFuture'
  | 'email'
  | 'phone'
  | 'contact'
  | 'number'
  | 'long'
  | 'choice'
  | 'url'
  | 'time';

/** How an appointment stands, as patients read it. */
export type State = 'held' | 'asked' | 'confirmed' | 'arrived' | 'over' | 'missed' | 'cancelled' | 'unclear';

/** All words of the portal in one language. */
export interface Texts {
  readonly language: Language;
  /** The name of the language itself. */
  readonly languageName: string;
  readonly switchLanguage: string;
  readonly skip: string;
  readonly navigation: string;
  readonly book: string;
  readonly mine: string;
  readonly leave: string;
  readonly error: string;
  readonly zone: (zone: string, name: string) => string;
  readonly step: (number: number) => string;
  readonly services: { readonly title: string; readonly lead: string; readonly none: string };
  readonly times: {
    readonly title: string;
    readonly moveTitle: string;
    readonly withWhom: string;
    readonly anyone: string;
    readonly show: string;
    readonly days: string;
    readonly free: (count: number) => string;
    readonly earlier: string;
    readonly later: string;
    readonly times: (day: string) => string;
    readonly morning: string;
    readonly afternoon: string;
    readonly evening: string;
    readonly none: string;
    readonly noneAtAll: string;
    readonly noneLater: string;
    readonly next: (day: string) => string;
    readonly incomplete: string;
    readonly request: string;
    readonly otherService: string;
    readonly at: (time: string, day: string, name: string) => string;
  };
  readonly details: {
    readonly title: string;
    readonly your: string;
    readonly heldUntil: (time: string) => string;
    readonly remaining: string;
    readonly minutes: (minutes: number) => string;
    readonly soonOver: string;
    readonly prolong: string;
    readonly prolonged: (time: string) => string;
    readonly notProlonged: string;
    readonly tooEarly: (time: string) => string;
    readonly over: string;
    readonly again: string;
    readonly other: string;
    readonly person: string;
    readonly someoneElse: string;
    readonly given: string;
    readonly family: string;
    readonly birthDate: string;
    readonly contact: string;
    readonly contactHint: string;
    readonly email: string;
    readonly phone: string;
    readonly comment: string;
    readonly questions: string;
    readonly optional: string;
    readonly onlyIf: string;
    readonly choose: string;
    readonly otherAnswer: string;
    readonly yes: string;
    readonly no: string;
    readonly notHere: string;
    readonly submit: string;
    readonly ask: string;
    readonly askNote: string;
    readonly wait: string;
  };
  readonly problems: Readonly<Record<FieldProblem, string>>;
  readonly problemsTitle: string;
  readonly refusals: Readonly<Record<RefusalReason, string>>;
  readonly alternatives: {
    readonly title: string;
    readonly none: string;
    readonly kept: string;
    readonly others: string;
  };
  readonly again: string;
  readonly states: Readonly<Record<State, string>>;
  readonly stateNotes: Readonly<Partial<Record<State, string>>>;
  readonly appointment: {
    readonly title: string;
    readonly booked: string;
    readonly asked: string;
    readonly when: string;
    readonly withWhom: string;
    readonly what: string;
    readonly where: string;
    readonly forWhom: string;
    readonly comment: string;
    readonly notes: string;
    readonly reason: string;
    readonly answerBy: string;
    readonly unanswered: string;
    readonly openUntil: (time: string) => string;
    readonly openNoMore: (time: string) => string;
    readonly unknownTime: string;
    readonly calendar: string;
    readonly move: string;
    readonly moveTo: string;
    readonly moveTitle: string;
    readonly moved: string;
    readonly from: string;
    readonly to: string;
    readonly cancel: string;
    readonly cancelTitle: string;
    readonly cancelQuestion: string;
    readonly cancelYes: string;
    readonly keep: string;
    readonly cancelled: string;
    readonly link: string;
    readonly linkNote: (until: string) => string;
    readonly copy: string;
    readonly copied: string;
    readonly mail: string;
    readonly refresh: string;
    readonly behind: string;
  };
  readonly list: {
    readonly title: string;
    readonly coming: string;
    readonly past: string;
    readonly none: string;
    readonly noSession: string;
    readonly noSessionNote: string;
    readonly open: string;
  };
  readonly failures: Readonly<
    Record<
      | 'notFound'
      | 'linkInvalid'
      | 'linkExpired'
      | 'forged'
      | 'otherBrowser'
      | 'tooMany'
      | 'tooLarge'
      | 'unavailable'
      | 'broken',
      {
        readonly title: string;
        readonly text: string;
      }
    >
  >;
  readonly left: string;
  /** What a link asks that was opened where other appointments are shown. */
  readonly link: {
    readonly title: string;
    readonly note: string;
    readonly ofLink: string;
    readonly here: string;
    readonly only: string;
    readonly both: string;
    readonly neither: string;
  };
}
