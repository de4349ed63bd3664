import type { Appointment } from '@medplum/fhirtypes';
import type { ChannelType } from '../../../core/notifications/subscription/channel.ts';
import type { TopicName } from '../../../core/notifications/subscription/topics.ts';
import type { Language } from '../../server/language.ts';
import type { Step } from '../appointment/history.ts';
import type { StatusStep } from '../appointment/status-steps.ts';
import type { Unplaced } from '../day/entries.ts';
import type { Kind } from '../day/kinds.ts';
import type { Situation } from '../fhir/refusal.ts';
import type { Weekday } from '../hours/weekly-rows.ts';
import type { DeliveryAction, DeliveryState } from '../notifications/deliveries.ts';

/** Words, by their names. */
type Words<Name extends string> = Readonly<Record<Name, string>>;

/** What was done. */
export type Done =
  | 'confirmed'
  | 'declined'
  | 'cancelled'
  | 'changed'
  | 'moved'
  | 'booked'
  | 'requested'
  | 'blocked'
  | 'unblocked';

/** The words about one appointment. */
type AppointmentWords = Words<
  | 'title'
  | 'patient'
  | 'noPatient'
  | 'birthDate'
  | 'phone'
  | 'email'
  | 'service'
  | 'time'
  | 'status'
  | 'asked'
  | 'deadline'
  | 'heldUntil'
  | 'comment'
  | 'reason'
  | 'answers'
  | 'noAnswers'
  | 'history'
  | 'unknown'
  | 'actions'
  | 'decline'
  | 'cancel'
  | 'cancelSure'
  | 'declineReason'
  | 'unsent'
  | 'declineReasonHelp'
  | 'back'
  | 'move'
  | 'movingHelp'
  | 'moveHere'
  | 'stopMoving'
> & {
  readonly step: Words<Step['what']>;
  readonly to: Words<StatusStep>;
  readonly done: Words<Done>;
  readonly moving: (name: string) => string;
  readonly moveTo: (from: string, to: string) => string;
};

/** The words of a booking by telephone. */
type BookingWords = Words<
  | 'who'
  | 'existing'
  | 'fresh'
  | 'find'
  | 'findHelp'
  | 'none'
  | 'unnamed'
  | 'given'
  | 'family'
  | 'birthDate'
  | 'phone'
  | 'email'
  | 'comment'
  | 'commentHelp'
  | 'start'
  | 'minutes'
  | 'book'
  | 'required'
  | 'choose'
  | 'alternatives'
> & {
  readonly found: (count: number) => string;
  readonly take: (time: string) => string;
};

/** The words of opening hours. */
type HoursWords = Words<
  | 'title'
  | 'of'
  | 'closedDays'
  | 'never'
  | 'byHand'
  | 'start'
  | 'end'
  | 'add'
  | 'duration'
  | 'bufferBefore'
  | 'bufferAfter'
  | 'missing'
  | 'missingDays'
  | 'show'
  | 'save'
  | 'saving'
  | 'saved'
  | 'preview'
  | 'noSchedule'
  | 'noClosed'
  | 'reopen'
  | 'closeDays'
  | 'closedReason'
  | 'services'
  | 'service'
  | 'noService'
  | 'own'
  | 'ownHelp'
  | 'ownMustStay'
  | 'lengthsHelp'
  | 'until'
  | 'holidays'
  | 'country'
  | 'state'
  | 'wholeCountry'
  | 'year'
  | 'findHolidays'
  | 'noHolidays'
  | 'leaveOut'
> & {
  readonly asService: (minutes: number) => string;
  readonly untilHelp: (weeks: number) => string;
  readonly foundHolidays: (count: number) => string;
  readonly leaveOutDay: (day: string) => string;
  readonly weekday: Words<Weekday>;
  readonly closedField: Words<'start' | 'end' | 'reason'>;
  readonly line: (number: number) => string;
  readonly remove: (number: number) => string;
  readonly looking: (done: number, all: number) => string;
  readonly wouldChange: (published: number, withdrawn: number) => string;
  readonly come: (count: number) => string;
  readonly go: (count: number) => string;
  readonly outside: (count: number) => string;
  readonly reopenDay: (day: string) => string;
};

/** The words of notifications. */
type NotificationsWords = Words<
  | 'title'
  | 'help'
  | 'none'
  | 'unnamed'
  | 'unknownTopic'
  | 'progress'
  | 'lastSent'
  | 'never'
  | 'attempts'
  | 'nextAttempt'
  | 'reason'
  | 'filters'
  | 'events'
  | 'noEvents'
  | 'appointment'
> & {
  readonly state: Words<DeliveryState>;
  readonly meaning: Words<DeliveryState>;
  readonly topic: Words<TopicName>;
  readonly channel: Words<ChannelType>;
  readonly action: Words<DeliveryAction>;
  readonly done: Words<DeliveryAction>;
  readonly counts: Words<'eventDelivered' | 'eventWaits'>;
  readonly summary: (failed: number, waiting: number) => string;
  readonly of: (delivered: number, events: number) => string;
};

/** All words of the front desk in one language. */
export interface Texts
  extends Words<'languageName' | 'title' | 'loading' | 'close' | 'reload' | 'serverSays' | 'behind'> {
  readonly language: Language;
  readonly session: Words<'signIn' | 'signInWhy' | 'signOut' | 'failed' | 'expired' | 'expiredWhy'> & {
    readonly signedInAs: (name: string) => string;
  };
  readonly nav: Words<'label' | 'calendar' | 'requests' | 'hours' | 'notifications' | 'skip'>;
  readonly day: Words<
    | 'previous'
    | 'next'
    | 'today'
    | 'date'
    | 'span'
    | 'day'
    | 'week'
    | 'calendars'
    | 'noCalendars'
    | 'nothing'
    | 'legend'
    | 'unplaced'
    | 'closed'
    | 'help'
  > & { readonly updated: (time: string) => string; readonly weekFrom: (day: string) => string };
  readonly kind: Words<Kind>;
  readonly status: Words<Appointment['status']>;
  readonly why: Words<Unplaced['why']>;
  readonly problem: Readonly<Record<Situation, Words<'title' | 'next'>>>;
  /** Of a page that cannot be drawn. */
  readonly broken: Words<'title' | 'next'>;
  readonly appointment: AppointmentWords;
  readonly slot: Words<
    | 'book'
    | 'block'
    | 'blockTime'
    | 'blockWhat'
    | 'blockThis'
    | 'blockOther'
    | 'blockAnyway'
    | 'blockReason'
    | 'blockReasonHelp'
    | 'from'
    | 'to'
    | 'missingTime'
    | 'coveredWhy'
    | 'unblock'
    | 'closedDay'
    | 'takenWhy'
    | 'bufferWhy'
    | 'gone'
  > & { readonly covered: (count: number) => string };
  readonly booking: BookingWords;
  readonly requests: Words<
    'title' | 'none' | 'gone' | 'help' | 'urgent' | 'noDeadline' | 'over' | 'noTime' | 'inCalendar'
  > & {
    readonly until: (time: string) => string;
  };
  readonly hours: HoursWords;
  readonly notifications: NotificationsWords;
}
