import type { MessageLanguage } from '../config/config.ts';
import arabic from './texts/ar.json' with { type: 'json' };
import german from './texts/de.json' with { type: 'json' };
import plainGerman from './texts/de-simple.json' with { type: 'json' };
import russian from './texts/ru.json' with { type: 'json' };
import turkish from './texts/tr.json' with { type: 'json' };
import ukrainian from './texts/uk.json' with { type: 'json' };
import type { MessageKind } from './thread.ts';

/** The texts of messages in one language; `{when}` is a placeholder. */
interface MessageTexts {
  readonly locale: string;
  /** `absence`: a personal offer that replaces an appointment during an absence of staff. */
  readonly subjects: Readonly<Record<MessageKind | 'absence', string>>;
  readonly leads: Readonly<Record<MessageKind | 'absence', string>>;
  readonly greeting: string;
  readonly title: string;
  readonly answer: string;
  readonly until: string;
  readonly answerBy: string;
  readonly stop: string;
  readonly automatic: string;
  /** The message to an address that was replaced by another. */
  readonly moved: { readonly subject: string; readonly text: string };
  readonly test: { readonly subject: string; readonly text: string };
}

const english: MessageTexts = {
  locale: 'en-GB',
  subjects: {
    confirmation: 'Your appointment on {when}',
    acceptance: 'Confirmed: your appointment on {when}',
    refusal: 'Not possible: your appointment on {when}',
    change: 'Changed: your appointment is now on {when}',
    cancellation: 'Cancelled: your appointment on {when}',
    reminder: 'Reminder: your appointment on {when}',
    offer: 'Free for you: {when}',
    assistant: 'Do you agree? {when}',
    absence: 'Another appointment for you: {when}',
  },
  leads: {
    confirmation: 'Your appointment is booked.',
    acceptance: 'Your request is confirmed: your appointment is booked.',
    refusal: 'We are sorry: the appointment that you asked for is not possible. Please choose another time or call us.',
    change: 'Your appointment has changed. It is now:',
    cancellation: 'This appointment is cancelled. If this surprises you, please call us.',
    reminder: 'This is a reminder of your appointment.',
    offer:
      'A time that you wait for has become free and is kept for you. If an appointment of yours stands until something earlier is free, this one takes its place.',
    assistant:
      'A digital assistant has asked us for this appointment in your name. Nothing is booked unless you say so: open the page below and answer. If you know nothing of it, do nothing.',
    absence:
      'Your appointment cannot take place, because the clinic is absent then. This one is kept for you instead; accept it, and it takes its place. If you decline it, the one that you had ends, too.',
  },
  greeting: 'Hello,',
  title: 'Appointment',
  answer: 'I come, I cannot, or I need another time:',
  until: 'It is kept for you until {when}.',
  answerBy: 'Please answer by {when}. Without an answer your appointment is given to somebody else.',
  stop: 'To get no more messages about appointments, say so here:',
  automatic: 'This message was sent by a program.',
  moved: {
    subject: 'Another address was given',
    text: 'Messages about your appointments go to another address from now on, because one was given. If you know nothing of it, please call us.',
  },
  test: { subject: 'Test message', text: 'This is a test of the messages about appointments. It arrived.' },
};

/** The texts of all messages. They contain no reason for an appointment. */
export const messageTexts: Readonly<Record<MessageLanguage, MessageTexts>> = {
  en: english,
  de: german,
  'de-simple': plainGerman,
  tr: turkish,
  ar: arabic,
  uk: ukrainian,
  ru: russian,
};
