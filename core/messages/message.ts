import type { Address, Appointment, Communication, Identifier, Location, Task } from '@medplum/fhirtypes';
import { endOf, offerReason } from '../booking/appointment/expiry.ts';
import type { BookingConfig, MessageLanguage } from '../config/config.ts';
import { artefactUri } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { mailboxOf } from '../fhir/mailbox.ts';
import { ownerOf } from '../fhir/tags.ts';
import { newRow, rowCodes, rowCoding, rowSearch } from '../rows/row.ts';
import { type CalendarEvent, calendarFile, methodOf } from '../time/calendar-file.ts';
import { isShownTwice } from '../time/time-zone.ts';
import type { Recipient } from './recipient.ts';
import { messageTexts } from './texts.ts';
import { ahead, areCancelled, inOrder, type Known, type KnownStep, type MessageKind, type Thread } from './thread.ts';

/** An e-mail in the format of Medplum's `POST /email/v1/send`: options of nodemailer. */
export interface Mail {
  readonly to: string;
  readonly from: string;
  readonly replyTo: string;
  readonly subject: string;
  readonly text: string;
  /** Every attempt has this id, so that mail servers and clients drop a second copy. */
  readonly messageId?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly icalEvent?: { readonly method: string; readonly filename: string; readonly content: string };
}

export type Message =
  | { readonly medium: 'email'; readonly mail: Mail }
  | { readonly medium: 'sms'; readonly to: string; readonly text: string };

/** The longest text of a client in a message, in characters. */
const MAX_LENGTH = 200;

/** A text of a client for one line of a message: without control characters, and shortened. */
const plain = (text: string | undefined): string =>
  (text ?? '')
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_LENGTH);

/** A text that mail clients do not turn into a link, so that a client's text leads nowhere. */
const unlinked = (text: string): string => text.replace(/(?<=[\p{L}\p{M}\p{N}\p{S}])[.@](?=\p{L})|:(?=\/)/gu, '$& ');

const addressLine = ({ text, line = [], postalCode, city }: Address): string =>
  plain(text ?? [...line, [postalCode, city].filter((part) => part).join(' ')].filter((part) => part).join(', '));

/** The sender in the configuration, such as `Clinic by the lake <appointments@clinic.example>`. */
export function senderOf({ from = '' }: BookingConfig['messages']): {
  readonly name: string;
  readonly address: string;
} {
  const begin = from.indexOf('<');
  const [name, address] = begin < 0 ? ['', from] : [from.slice(0, begin).trim(), from.slice(begin + 1, -1)];
  return { name: name || address.slice(address.indexOf('@') + 1), address };
}

/** The time of an appointment in the clinic's time zone: short for a subject, long for a text. */
function timesOf({ start, end }: Pick<KnownStep, 'start' | 'end'>, language: MessageLanguage, timeZone: string) {
  const { locale } = messageTexts[language];
  const format = (time: number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat(locale, { timeZone, ...options }).format(time);
  const clock = (time: number): string =>
    format(time, {
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      ...(isShownTwice(timeZone, time) && { timeZoneName: 'short' }),
    });
  const short = format(start, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
  return {
    short: `${short}, ${clock(start)}`,
    long: `${format(start, { dateStyle: 'full' })}, ${clock(start)}–${clock(end)}`,
  };
}

/** The details that the clinic allows besides time and location: service, practitioner and patient. */
function detailsOf({ serviceType, participant }: Appointment, { reference }: Recipient): string[] {
  const nameOf = (type: string) =>
    participant.find(({ actor }) => actor?.reference?.startsWith(`${type}/`))?.actor?.display;
  const [first] = serviceType ?? [];
  const what = first?.text ?? first?.coding?.[0]?.display;
  return [what, nameOf('Practitioner'), reference.startsWith('Patient/') ? undefined : nameOf('Patient')]
    .map((text) => unlinked(plain(text)))
    .filter((one) => one !== '');
}

interface Subject {
  readonly kind: MessageKind;
  readonly thread: Thread & { readonly known: Known };
  readonly row: string;
  /** The stored appointments: one, or all of a visit; none if they were deleted. */
  readonly appointments: readonly Appointment[];
  readonly locations: readonly Location[];
  readonly recipient: Recipient;
  /** Other appointments of the series in the same message, which has a link for each. */
  readonly members: readonly Member[];
  /** The address of the last message if the portal has changed it since. It is notified of the change. */
  readonly former?: string | undefined;
  readonly now: number;
}

/** An appointment of a series, with the messages about it. */
export interface Member {
  readonly appointment: Appointment;
  readonly thread: Thread & { readonly known: Known };
  readonly row: Task;
}

function joined<T extends Pick<Subject, 'thread' | 'appointments' | 'members'>>(subject: T): T {
  const { thread, appointments, members } = subject;
  const steps = [thread, ...members.map((member) => member.thread)].flatMap(({ known }) => known.steps).sort(inOrder);
  const all = [...appointments, ...members.map(({ appointment }) => appointment)];
  return { ...subject, appointments: all, thread: { ...thread, known: { ...thread.known, steps } } };
}

const inCalendar: readonly MessageKind[] = ['confirmation', 'acceptance', 'change', 'cancellation'];

/** The identifier of a message, the same for every attempt. */
export const messageNumber = ({ appointment, count }: Thread): string => `${appointment}/${count}`;

/** The page for replies to a message. */
const pageOf = (row: string | undefined, { key }: Thread, { messages }: BookingConfig): string | undefined =>
  messages.page && `${messages.page}/message/${row}.${key}`;

interface ShownStep {
  readonly step: KnownStep;
  readonly appointment: Appointment | undefined;
  readonly what: readonly string[];
  readonly where: readonly string[];
  readonly page: string | undefined;
}

/** The details of an appointment in a message. Names are shown only if the clinic permits `details`. */
function shownStep(
  step: KnownStep,
  { appointments, locations, recipient, thread, row, members }: Subject,
  config: BookingConfig,
): ShownStep {
  const { messages } = config;
  const member = members.find((one) => one.appointment.id === step.appointment);
  const appointment = appointments.find(({ id }) => id === step.appointment);
  const place = locations.find(({ id }) => `Location/${id}` === step.location);
  const where = [messages.details ? plain(place?.name) : '', place?.address ? addressLine(place.address) : ''];
  return {
    step,
    appointment,
    what: messages.details && appointment ? detailsOf(appointment, recipient) : [],
    where: where.filter((one) => one !== ''),
    page: member ? pageOf(member.row.id, member.thread, config) : pageOf(row, thread, config),
  };
}

/** The cancelled steps of a visit with other open steps. */
function cancelledSteps({ appointments, thread: { known }, now }: Subject): KnownStep[] {
  return appointments.flatMap((one) => {
    const [appointment = '', start, end] = [one.id, parseInstant(one.start), parseInstant(one.end)];
    const isOver = !areCancelled([one]) || start === undefined || end === undefined || start <= now;
    return isOver || known.steps.some((step) => step.appointment === appointment)
      ? []
      : [{ appointment, start, end, location: '' }];
  });
}

/** The largest number of times in an SMS about a visit or series. The others are counted. */
const MAX_TIMES = 3;

/** Writes a message. It contains time and location, and details only if the clinic allows them. */
export function messageOf(about: Subject, config: BookingConfig): Message {
  const subject = joined(about);
  const { kind, thread, appointments, recipient, members, now } = subject;
  const { known } = thread;
  const { language, medium, address } = recipient;
  const texts = messageTexts[language];
  const sender = senderOf(config.messages);
  const [clinic, page] = [plain(sender.name), pageOf(subject.row, thread, config)];
  const { steps } = ahead(known, now);
  const shown = (steps.length > 0 ? steps : known.steps).map((step) => shownStep(step, subject, config));
  const times = (one: Pick<KnownStep, 'start' | 'end'>) => timesOf(one, language, config.timeZone);
  const isForAbsence = appointments.some((appointment) => offerReason(appointment, config) === 'absence');
  const textKind = kind === 'offer' && isForAbsence ? 'absence' : kind;
  const all = shown.map(({ step }) => times(step).short);
  const titled = (...when: readonly string[]): string =>
    texts.subjects[textKind].replace('{when}', () => when.join(', '));
  const title = titled(...all.slice(0, 1));
  const offers = known.status === 'offered' ? appointments : [];
  const [offerEnd] = offers.flatMap((appointment) => endOf('offer', appointment, config) ?? []);
  const replyBy = offerEnd ?? (kind === 'reminder' ? thread.answerBy : undefined);
  const by = replyBy && times({ start: replyBy, end: replyBy }).short;
  const limit = by ? [(offerEnd ? texts.until : texts.answerBy).replace('{when}', () => by)] : [];
  if (medium === 'sms') {
    const more = all.length > MAX_TIMES ? [`+${all.length - MAX_TIMES}`] : [];
    const said = [`${clinic}: ${titled(...all.slice(0, MAX_TIMES), ...more)}.`, ...limit].join(' ');
    return { medium, to: address, text: page ? `${said} ${page}` : said };
  }
  const isOff = known.status === 'cancelled';
  // A series of personal offers has one common reply.
  const isSeries = members.length > 0 && !isOff && known.status !== 'offered';
  const text = [
    texts.greeting,
    texts.leads[textKind],
    ...shown.map(({ step, what, where, page: own }) =>
      [times(step).long, ...what, ...where, ...(own && isSeries ? [texts.answer, own] : [])].join('\n'),
    ),
    ...limit,
    ...(page && !isOff && !isSeries ? [`${texts.answer}\n${page}`] : []),
    clinic,
    [texts.automatic, ...(page ? [`${texts.stop}\n${page}#stop`] : [])].join('\n'),
  ].join('\n\n');
  const host = config.messages.page ? new URL(config.messages.page).hostname : sender.address.replace(/^.*@/, '');
  const eventOf = ({ step, appointment, what, where, page: own }: ShownStep, isGone: boolean): CalendarEvent => ({
    id: step.appointment,
    status: isGone ? 'cancelled' : 'confirmed',
    start: step.start,
    end: step.end,
    summary: [...(what.length > 0 ? what : [texts.title]), clinic].join(', '),
    at: where.join(', ') || clinic,
    description: own && !isGone ? `${texts.answer} ${own}` : '',
    changed: Date.parse(appointment?.meta?.lastUpdated ?? '') || now,
    count: thread.count,
  });
  const events = [
    ...shown.map((one) => eventOf(one, isOff)),
    ...cancelledSteps(subject).map((step) => eventOf(shownStep(step, subject, config), true)),
  ];
  const event = inCalendar.includes(kind) && {
    method: methodOf(events),
    filename: 'appointment.ics',
    content: calendarFile({ host, clinic, language, sent: { from: sender.address, to: address } }, events),
  };
  return {
    medium,
    mail: {
      to: address,
      from: config.messages.from ?? '',
      replyTo: sender.address,
      subject: `${title} – ${clinic}`,
      text: `${text}\n`,
      messageId: `<${thread.appointment}.${thread.count}@${host}>`,
      headers: {
        'Auto-Submitted': 'auto-generated',
        'X-Auto-Response-Suppress': 'All',
        ...(page && { 'List-Unsubscribe': `<${page}#stop>` }),
      },
      ...(event && { icalEvent: event }),
    },
  };
}

const addressNumber = (address: string): string => `to/${mailboxOf(address)}`;

const portalNumber = (portal: string): string => `sms/${portal}`;

/** The limit of messages per address and day. Anybody can submit any address to a portal, so that it prevents abuse. */
const MAX_PER_DAY = 20;

/** Messages that were sent or may have been: not every attempt gets a response. */
const sent = 'status=in-progress,completed,unknown&_sort=-_lastUpdated';

/** The searches that enforce the daily limits: each has a result if its limit is reached. */
export const fullDaySearches = (
  addresses: readonly string[],
  { medium, owner }: Pick<Recipient, 'medium'> & { readonly owner: string | undefined },
  since: number,
  config: BookingConfig,
): string[] => {
  const { smsPerPortalAndDay } = config.messages;
  return [
    ...addresses.map((one) => [addressNumber(one), MAX_PER_DAY] as const),
    ...(medium === 'sms' && owner !== undefined ? [[portalNumber(owner), smsPerPortalAndDay] as const] : []),
  ].map(
    ([number, most]) =>
      `${numberSearch(number, config)}&${sent}&_lastUpdated=ge${formatInstant(since)}&_offset=${most - 1}&_count=1`,
  );
};

export const lastToSearch = (reference: string, config: BookingConfig): string =>
  `Communication?${new URLSearchParams({ recipient: reference, category: rowCodes(['message'], config) })}&${sent}&_count=2`;

const media = { email: 'EMAILWRIT', sms: 'SMSWRIT' } as const;

/** The Communication of a message that is about to be sent: its kind and recipient, but not the text. */
export function communicationOf(subject: Omit<Subject, 'row'>, config: BookingConfig): Communication {
  const { kind, thread, recipient, members, former, appointments } = joined(subject);
  const { reference, medium, language, address } = recipient;
  const [first] = appointments;
  const portal = medium === 'sms' && first ? ownerOf(first, config) : undefined;
  return {
    resourceType: 'Communication',
    identifier: [
      ...[thread, ...members.map((member) => member.thread)].map(messageNumber),
      ...[address, ...(former === undefined ? [] : [former])].map(addressNumber),
      ...(portal === undefined ? [] : [portalNumber(portal)]),
    ].map((value) => ({ system: artefactUri(config, 'LocalSentMessage'), value })),
    status: 'in-progress',
    category: [{ coding: [rowCoding('message', config)] }],
    medium: [
      { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationMode', code: media[medium] }] },
    ],
    ...(thread.patient && { subject: { reference: thread.patient } }),
    about: thread.known.steps.map(({ appointment }) => ({ reference: `Appointment/${appointment}` })),
    topic: { text: kind },
    language,
    recipient: [{ reference, display: address }],
  };
}

export const numberSearch = (number: string, config: BookingConfig): string =>
  `Communication?identifier=${encodeURIComponent(`${artefactUri(config, 'LocalSentMessage')}|${number}`)}`;

export const communicationSearch = (thread: Thread, config: BookingConfig): string =>
  numberSearch(messageNumber(thread), config);

const refusalNumber = (hash: string, config: BookingConfig): Identifier => ({
  system: artefactUri(config, 'LocalSentMessage'),
  value: `no/${hash}`,
});

/** The row of an address that wants no messages (`accepted`), or wants them again. It contains a keyed hash only. */
export const refusalRow = (hash: string, isRefused: boolean, config: BookingConfig, stored?: Task): Task => {
  const status = isRefused ? ('accepted' as const) : ('cancelled' as const);
  return newRow('refusal', { status, identifier: [refusalNumber(hash, config)] }, config, stored);
};

export const refusalSearch = (hashes: readonly string[], config: BookingConfig): string => {
  const numbers = hashes.map((one) => refusalNumber(one, config));
  return rowSearch(
    ['refusal'],
    { identifier: numbers.map(({ system, value }) => `${system}|${value}`).join() },
    config,
  );
};

export type Ending = 'sent' | 'given-up' | 'unknown' | 'stopped';

const endings: Readonly<Record<Ending, Communication['status']>> = {
  sent: 'completed',
  'given-up': 'not-done',
  unknown: 'unknown',
  stopped: 'stopped',
};

export const endedCommunication = (
  communication: Communication,
  ending: Ending,
  now: number,
  reason: string | undefined,
): Communication => ({
  ...communication,
  status: endings[ending],
  ...(ending === 'sent' && { sent: formatInstant(now) }),
  ...(reason !== undefined && { statusReason: { text: reason } }),
});

export const addressOf = ({ recipient }: Communication): string | undefined => recipient?.[0]?.display;

/** The message to an address that is no longer used. It contains nothing about the appointment. */
export function movedMessage(
  to: string,
  { thread, recipient }: Pick<Subject, 'thread' | 'recipient'>,
  config: BookingConfig,
): Message {
  const { moved, greeting, automatic } = messageTexts[recipient.language];
  const { name, address } = senderOf(config.messages);
  const clinic = plain(name);
  if (!to.includes('@')) {
    return { medium: 'sms', to, text: `${clinic}: ${moved.text}` };
  }
  return {
    medium: 'email',
    mail: {
      to,
      from: config.messages.from ?? '',
      replyTo: address,
      subject: `${moved.subject} – ${clinic}`,
      text: `${[greeting, moved.text, clinic, automatic].join('\n\n')}\n`,
      messageId: `<${thread.appointment}.${thread.count}.moved@${address.replace(/^.*@/, '')}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    },
  };
}

export function testMail(to: string, { messages }: BookingConfig): Mail {
  const { subject, text } = messageTexts[messages.language].test;
  const { name, address } = senderOf(messages);
  return {
    to,
    from: messages.from ?? '',
    replyTo: address,
    subject: `${subject} – ${plain(name)}`,
    text: `${text}\n`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}
