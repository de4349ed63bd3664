import type { MessageLanguage } from './recipient.ts';
import type { MessageKind } from './thread.ts';

/** The words of messages in one language. */
interface MessageTexts {
  readonly locale: string;
  readonly subjects: Readonly<Record<MessageKind, (when: string) => string>>;
  readonly leads: Readonly<Record<MessageKind, string>>;
  readonly greeting: string;
  readonly title: string;
  readonly answer: string;
  readonly stop: string;
  readonly automatic: string;
  readonly test: { readonly subject: string; readonly text: string };
}

/** All words of messages. They say when and where, and nothing about why somebody comes. */
export const messageTexts: Readonly<Record<MessageLanguage, MessageTexts>> = {
  en: {
    locale: 'en-GB',
    subjects: {
      confirmation: (when) => `Your appointment on ${when}`,
      acceptance: (when) => `Confirmed: your appointment on ${when}`,
      refusal: (when) => `Not possible: your appointment on ${when}`,
      change: (when) => `Changed: your appointment is now on ${when}`,
      cancellation: (when) => `Cancelled: your appointment on ${when}`,
      reminder: (when) => `Reminder: your appointment on ${when}`,
    },
    leads: {
      confirmation: 'Your appointment is booked.',
      acceptance: 'Your request is confirmed: your appointment is booked.',
      refusal:
        'We are sorry: the appointment that you asked for is not possible. Please choose another time or call us.',
      change: 'Your appointment has changed. It is now:',
      cancellation: 'This appointment is cancelled. If this surprises you, please call us.',
      reminder: 'This is a reminder of your appointment.',
    },
    greeting: 'Hello,',
    title: 'Appointment',
    answer: 'I come, I cannot, or I need another time:',
    stop: 'To get no more messages about appointments, say so here:',
    automatic: 'This message was sent by a program.',
    test: { subject: 'Test message', text: 'This is a test of the messages about appointments. It arrived.' },
  },
  de: {
    locale: 'de-DE',
    subjects: {
      confirmation: (when) => `Ihr Termin am ${when}`,
      acceptance: (when) => `Bestätigt: Ihr Termin am ${when}`,
      refusal: (when) => `Nicht möglich: Ihr Termin am ${when}`,
      change: (when) => `Geändert: Ihr Termin ist jetzt am ${when}`,
      cancellation: (when) => `Abgesagt: Ihr Termin am ${when}`,
      reminder: (when) => `Erinnerung: Ihr Termin am ${when}`,
    },
    leads: {
      confirmation: 'Ihr Termin ist gebucht.',
      acceptance: 'Ihre Anfrage ist bestätigt: Ihr Termin ist gebucht.',
      refusal:
        'Leider ist der Termin, um den Sie gebeten haben, nicht möglich. Bitte wählen Sie eine andere Zeit oder rufen Sie uns an.',
      change: 'Ihr Termin hat sich geändert. Er ist jetzt:',
      cancellation: 'Dieser Termin ist abgesagt. Wenn Sie das überrascht, rufen Sie uns bitte an.',
      reminder: 'Wir erinnern Sie an Ihren Termin.',
    },
    greeting: 'Guten Tag,',
    title: 'Termin',
    answer: 'Ich komme, ich kann nicht, oder ich brauche eine andere Zeit:',
    stop: 'Wenn Sie keine Nachrichten zu Terminen mehr möchten, sagen Sie es hier:',
    automatic: 'Diese Nachricht hat ein Programm gesendet.',
    test: { subject: 'Testnachricht', text: 'Dies ist ein Test der Nachrichten zu Terminen. Er ist angekommen.' },
  },
};
