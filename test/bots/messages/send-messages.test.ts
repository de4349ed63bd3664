import '../config.ts';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BotEvent } from '@medplum/core';
import type {
  Appointment,
  Bot,
  Communication,
  Location,
  Parameters,
  Patient,
  Project,
  RelatedPerson,
  Slot,
  Task,
} from '@medplum/fhirtypes';
import { handler as guard } from '../../../bots/booking/validate-appointment.ts';
import { handler as answer } from '../../../bots/messages/answer-message.ts';
import { handler } from '../../../bots/messages/send-messages.ts';
import { newAffected, withStatus } from '../../../core/absence/rows.ts';
import { offerExtensions } from '../../../core/booking/appointment/expiry.ts';
import type { MessageSettings } from '../../../core/config/config.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { backport } from '../../../core/fhir/backport.ts';
import { RECURRENCE_ID, requestorTag } from '../../../core/fhir/tags.ts';
import { dueThreads } from '../../../core/messages/thread.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { atEnd } from '../../lib/at-end.ts';
import { type MailServer, mailSecrets, startMailServer } from '../../lib/mail-server.ts';
import { aSchedule, booked, eventOf, policy } from '../booking/fixtures.ts';
import { later } from '../clock.ts';
import { config, configured } from '../config.ts';
import { subscribe } from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
let mail: MailServer;
let secrets: BotEvent['secrets'] = {};

const messages = {
  ...config.messages,
  from: 'Klinik am See <appointments@clinic.example>',
  page: 'https://portal.example/portal',
  language: 'en' as const,
  details: false,
} satisfies MessageSettings;

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

beforeAll(async () => {
  mail = await startMailServer(1_000);
  const [project] = await medplum().find<Project>('Project');
  await medplum().change(project as Project, { secret: mailSecrets(mail.port) });
});

beforeEach(async () => {
  await medplum().clear(['Appointment', 'Task', 'Communication', 'Patient', 'Slot', 'Schedule', 'Subscription']);
  mail.mails.length = 0;
  mail.offered.length = 0;
  mail.behaviour = 'accept';
  secrets = {};
});

const run = (input: Bot | Parameters = { resourceType: 'Bot' }, more: Partial<MessageSettings> = {}) =>
  configured({ messages: { ...messages, ...more }, timeZone: 'Europe/Berlin' }, () =>
    handler(medplum().medplum, { ...eventOf(input), secrets }),
  );

/** A run that dies after so many requests. */
async function dieAfter(most: number): Promise<void> {
  let count = 0;
  medplum().interfere(() => {
    count += 1;
    if (count > most) {
      throw new Error('killed');
    }
    return undefined;
  });
  await run().catch(() => undefined);
  medplum().interfere(() => undefined);
}

const several = (count: number) => Promise.allSettled(Array.from({ length: count }, () => run()));

/** Noon in Berlin so many days after today. */
const noon = (days: number): number => Math.floor(Date.now() / DAY) * DAY + days * DAY + 11 * HOUR;

/** The clock, at a moment. */
const runAt = (time: number) => later(time - Date.now(), () => run());

const says = (value: boolean) => [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: value }];

/** A patient with an address of their own. */
async function aPatient(more: Partial<Patient> = {}) {
  const address = `${randomUUID()}@example.org`;
  const telecom = [{ system: 'email' as const, value: address }];
  const patient = await medplum().create<Patient>({ resourceType: 'Patient', telecom, ...more });
  return { patient, address };
}

/** An appointment of the clinic's, half an hour long, ten days ahead. */
async function anAppointment(patient: Patient, start = noon(10), more: Partial<Appointment> = {}) {
  return medplum().create<Appointment>({
    resourceType: 'Appointment',
    status: 'booked',
    start: new Date(start).toISOString(),
    end: new Date(start + HOUR / 2).toISOString(),
    serviceType: [{ text: 'Sleep laboratory' }],
    participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
    ...more,
  });
}

const mailsTo = (address: string) => mail.mails.filter(({ to }) => to?.some((one) => one.address === address));
const subjectsTo = (address: string) => mailsTo(address).map(({ subject }) => subject?.replace(/ on .*| am .*/, ''));
const found = <T extends Communication | Task>(query: string) => medplum().find<T>(query);
const sentAbout = ({ patient }: { patient: Patient }) =>
  found<Communication>(`Communication?subject=Patient/${patient.id}&_sort=_lastUpdated`);
const rowOf = ({ id }: Appointment, code = 'message') =>
  found<Task>(`Task?focus=Appointment/${id}&code=${artefactUri(config, 'LocalTask')}|${code}`);

/** The last message to an address comes back. */
const comesBack = (address: string) => {
  const [, number] = /<(.+)@/.exec(mailsTo(address).at(-1)?.messageId ?? '') ?? [];
  const parameter = [
    { name: 'returned', valueString: number?.replace('.', '/') ?? '' },
    { name: 'status', valueString: '5.1.1' },
  ];
  return run({ resourceType: 'Parameters', parameter });
};

const lineOf = (file: string, name: string) => file.split(/\r?\n/).find((line) => line.startsWith(name)) ?? '';

it('an offer is told once, with its end, and confirmed when it is accepted', async () => {
  const { patient, address } = await aPatient();
  const until = noon(9);
  const offer = offerExtensions({ reason: 'waitlist', for: ['1'], until }, config);
  const made = await anAppointment(patient, noon(10), { status: 'proposed', extension: [...offer, ...says(true)] });
  const over = offerExtensions({ reason: 'waitlist', for: ['1'], until: Date.now() - 1 }, config);
  const late = await aPatient();
  await anAppointment(late.patient, noon(10), { status: 'proposed', extension: [...over, ...says(true)] });
  await run();
  await run();
  expect(subjectsTo(address)).toEqual([expect.stringMatching(/^Free for you: .*12:00 /)]);
  expect(mailsTo(address)[0]?.text).toMatch(/It is kept for you until .*, 12:00\./);
  expect(mailsTo(late.address)).toEqual([]);
  await medplum().change(made, { status: 'booked', extension: says(true) });
  await run();
  expect(subjectsTo(address)).toHaveLength(2);
  expect(subjectsTo(address)[1]).toBe('Your appointment');
});

describe('an offer whose mail comes back', () => {
  const offered = async (reason: 'waitlist' | 'absence', replaced: string) => {
    const schedule = await aSchedule(medplum(), {
      extension: [{ ...policy({}), extension: [{ url: 'refill', valueBoolean: true }] }],
    });
    const { patient, address } = await aPatient();
    const extension = [...offerExtensions({ reason, for: [replaced], until: noon(3) }, config), ...says(true)];
    const participant = [`Patient/${patient.id}`, 'Practitioner/doctor'].map((reference) => ({
      actor: { reference },
      status: 'accepted' as const,
    }));
    const { appointment, slot } = await booked(
      medplum(),
      { id: 'portal' },
      { schedule, patient, status: 'proposed', extension, participant },
    );
    await run();
    return { schedule, patient, appointment, slot, back: () => comesBack(address) };
  };
  const outcome = { name: 'result', valueString: 'returned' };

  it('is over, and its time is for the next who waits', async () => {
    const { schedule, patient, appointment, slot, back } = await offered('waitlist', randomUUID());
    expect((await back())?.parameter).toEqual([outcome]);
    const ended = await medplum().read<Appointment>(`Appointment/${appointment.id}`);
    expect([ended?.status, ended?.cancelationReason?.text]).toEqual([
      'cancelled',
      'The message with the offer did not arrive.',
    ]);
    expect((await medplum().read<Slot>(`Slot/${slot.id}`))?.status).toBe('free');
    const releases = await found<Task>(`Task?focus=Schedule/${schedule.id}&status=requested`);
    expect(releases).toHaveLength(1);
    expect(await rowOf(appointment, 'undelivered')).toMatchObject([{ for: { reference: `Patient/${patient.id}` } }]);
    expect((await back())?.parameter).toEqual([{ name: 'result', valueString: 'unknown' }]);
    expect(await rowOf(appointment, 'undelivered')).toHaveLength(1);
  });

  it.each([
    ['stands if a portal was told of it, too', 'Appointment?status=proposed', 'proposed'],
    ['is over if its portal asks about somebody else', 'Appointment?patient=Patient/other', 'cancelled'],
    [
      'is over if its portal asks about its doctor: another may be offered',
      'Appointment?actor=Practitioner/doctor',
      'cancelled',
    ],
  ])('%s', async (_, valueString, status) => {
    const { appointment, back } = await offered('waitlist', randomUUID());
    const criteria = topicUrl('appointment-offer', config);
    const filter = { extension: [{ url: backport.filterCriteria, valueString }] };
    await subscribe(medplum(), { changes: { criteria, _criteria: filter } });
    expect((await back())?.parameter).toEqual([outcome]);
    expect((await medplum().read<Appointment>(`Appointment/${appointment.id}`))?.status).toBe(status);
    expect(await rowOf(appointment, 'undelivered')).toHaveLength(1);
  });

  it.each(['keep', 'cancel', 'move'] as const)('in an absence is over, and its person called: %s', async (silence) => {
    const { patient } = await aPatient();
    const lost = await anAppointment(patient);
    const { appointment, back } = await offered('absence', lost.id ?? '');
    const entry = { appointment: lost.id ?? '', reach: 'message', proposal: undefined } as const;
    const made = newAffected(entry, lost, { silence }, randomUUID(), Date.now(), config);
    const row = await medplum().create(withStatus(made, 'offered', { offer: `Appointment/${appointment.id}` }));
    expect((await back())?.parameter).toEqual([outcome]);
    const stands = await medplum().read<Task>(`Task/${row.id}`);
    expect([stands?.status, stands?.businessStatus?.text]).toEqual(['ready', 'To call']);
    expect((await medplum().read<Appointment>(`Appointment/${appointment.id}`))?.status).toBe('cancelled');
    expect((await medplum().read<Appointment>(`Appointment/${lost.id}`))?.status).toBe('booked');
    expect(await rowOf(appointment, 'undelivered')).toEqual([]);
  });
});

describe('an appointment of the clinic', () => {
  it('is confirmed, moved and cancelled by one mail each, with one event for the calendar', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    await run();
    await run();
    expect(subjectsTo(address)).toEqual(['Your appointment']);
    const [first] = mailsTo(address);
    expect(first?.from).toMatchObject({ name: 'Klinik am See', address: 'appointments@clinic.example' });
    expect(first?.text).toContain('12:00–12:30');
    expect(first?.text).toMatch(/https:\/\/portal.example\/portal\/message\/[0-9a-f-]{36}\.[0-9a-f]{32}/);
    const place = await medplum().create<Location>({
      resourceType: 'Location',
      name: 'Oncology',
      address: { line: ['Seestraße 1'], postalCode: '12345', city: 'Berlin' },
    });
    const moved = await medplum().change(booked, {
      start: new Date(noon(11)).toISOString(),
      end: new Date(noon(11) + HOUR).toISOString(),
      participant: [...booked.participant, { actor: { reference: `Location/${place.id}` }, status: 'accepted' }],
    });
    await run();
    await medplum().change(moved, { status: 'cancelled' });
    await run();
    await run();
    expect(subjectsTo(address)).toEqual([
      'Your appointment',
      'Changed: your appointment is now',
      'Cancelled: your appointment',
    ]);
    const files = mailsTo(address).map(mail.calendarOf);
    expect(files.map((file) => lineOf(file, 'UID'))).toEqual(files.map(() => `UID:${booked.id}@portal.example`));
    expect(files.map((file) => lineOf(file, 'METHOD'))).toEqual(['METHOD:REQUEST', 'METHOD:REQUEST', 'METHOD:CANCEL']);
    expect(files.map((file) => lineOf(file, 'STATUS'))).toEqual([
      'STATUS:CONFIRMED',
      'STATUS:CONFIRMED',
      'STATUS:CANCELLED',
    ]);
    const sequences = files.map((file) => Number(lineOf(file, 'SEQUENCE').slice(9)));
    expect(sequences).toEqual([...new Set(sequences)].sort((one, other) => one - other));
    expect(files[1]).toContain('LOCATION:Seestraße 1\\, 12345 Berlin');
    expect(files[0]).toContain('BEGIN:VALARM');
    expect([...files, ...mailsTo(address).map(({ text }) => text)].join()).not.toMatch(/Oncology|Sleep/);
    const communications = await sentAbout({ patient });
    expect(communications.map(({ status, topic, language }) => [status, topic?.text, language])).toEqual([
      ['completed', 'confirmation', 'en'],
      ['completed', 'change', 'en'],
      ['completed', 'cancellation', 'en'],
    ]);
    expect((await rowOf(booked)).map(({ status }) => status)).toEqual(['completed']);
  });

  it('is told when it is cancelled, also if it is deleted before the clock runs', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    await run();
    const input = await medplum().change(booked, { status: 'cancelled' });
    const headers = { 'X-Medplum-Deleted-Resource': `Appointment/${booked.id}` };
    const event = { bot: {}, contentType: 'application/fhir+json', input, secrets, headers };
    expect(await configured({ messages }, () => guard(medplum().medplum, event))).toBe(true);
    await medplum().fhir('DELETE', `Appointment/${booked.id}`);
    await later(11_000, () => run());
    await later(12_000, () => run());
    expect(subjectsTo(address)).toEqual(['Your appointment', 'Cancelled: your appointment']);
  });

  it('says what for and with whom only if the clinic lets it, in the language of its person', async () => {
    const communication = [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'de-AT' }] } }];
    const { patient, address } = await aPatient({ communication });
    await anAppointment(patient);
    await run({ resourceType: 'Bot' }, { details: true });
    expect(subjectsTo(address)).toEqual(['Ihr Termin']);
    expect(mailsTo(address)[0]?.text).toContain('Sleep laboratory');
    expect(mailsTo(address)[0]?.text).toContain('Ihr Termin ist gebucht.');
  });

  it('has no link but to the page of the clinic, whatever a stranger gives as a name', async () => {
    const { patient } = await aPatient();
    const telecom = [{ system: 'email' as const, value: 'victim@example.org' }];
    const person = await medplum().create<RelatedPerson>({
      resourceType: 'RelatedPerson',
      patient: { reference: `Patient/${patient.id}` },
      telecom,
    });
    const actor = {
      reference: `Patient/${patient.id}`,
      display: 'Pay at https://evil.example/now or pay@evil.example',
    };
    const related = { reference: `RelatedPerson/${person.id}` };
    const participant = [actor, related].map((one) => ({ actor: one, status: 'accepted' as const }));
    await anAppointment(patient, noon(10), { participant });
    await run({ resourceType: 'Bot' }, { details: true });
    const [sent] = mailsTo('victim@example.org');
    expect(sent?.text).toContain('Pay at https: //evil. example/now or pay@ evil. example');
  });

  it.each([
    ['de-simple', 'Sie haben einen Termin bei uns.'],
    ['tr', 'Randevunuz alındı.'],
    ['ar-EG', 'تم حجز موعدك.'],
    ['uk', 'Вас записано на прийом.'],
    ['RU', 'Вы записаны на приём.'],
    ['xx', 'Your appointment is booked.'],
  ])('is written in the language of its person: %s', async (code, lead) => {
    const communication = [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code }] } }];
    const { patient, address } = await aPatient({ communication });
    await anAppointment(patient);
    await run();
    const [sent] = mailsTo(address);
    expect(sent?.text).toContain(lead);
    expect(`${sent?.subject}${sent?.text}`).not.toContain('{when}');
  });

  it('is reminded of twice, by day, and not of what was just said', async () => {
    const { patient, address } = await aPatient();
    const start = noon(10) - 9 * HOUR;
    await anAppointment(patient, start);
    await run();
    const week = 7 * DAY;
    for (const before of [8 * DAY, week - MINUTE, week - 4 * HOUR, week - 5 * HOUR, 2 * DAY, DAY - 6 * HOUR, HOUR]) {
      await runAt(start - before);
    }
    expect(subjectsTo(address)).toEqual([
      'Your appointment',
      'Reminder: your appointment',
      'Reminder: your appointment',
    ]);
    const late = await aPatient();
    await anAppointment(late.patient, Date.now() + 25 * HOUR);
    await run();
    await later(2 * HOUR, () => run());
    expect(subjectsTo(late.address)).toEqual(['Your appointment']);
  });

  it('is released if nobody answers the reminder in time, where the clinic wants that and it did not come back', async () => {
    const extension = [policy({ attendanceBy: 12 })];
    const [asking, changed] = [await aSchedule(medplum(), { extension }), await aSchedule(medplum(), { extension })];
    const made = async (schedule = asking) => {
      const { patient, address } = await aPatient();
      const [start, end] = [noon(10), noon(10) + HOUR / 2].map((time) => new Date(time).toISOString());
      const extension = says(true);
      return { ...(await booked(medplum(), { id: 'portal' }, { schedule, patient, start, end, extension })), address };
    };
    const [silent, comes, gone, kept] = [await made(), await made(), await made(), await made(changed)];
    await run();
    for (const before of [7 * DAY - MINUTE, DAY - MINUTE]) {
      await runAt(noon(10) - before);
    }
    const texts = mailsTo(silent.address).map(({ text }) => text ?? '');
    expect(texts.map((text) => text.includes('Please answer by'))).toEqual([false, true, true]);
    expect(texts[2]).toMatch(/Please answer by .* 00:00\. Without an answer/);
    const [, token] = /message\/(\S+)/.exec(mailsTo(comes.address)[2]?.text ?? '') ?? [];
    const parameter = [
      { name: 'token', valueString: token ?? '' },
      { name: 'answer', valueCode: 'come' },
    ];
    const input: Parameters = { resourceType: 'Parameters', parameter };
    await later(noon(10) - DAY + HOUR - Date.now(), () =>
      answer(medplum().medplum, { ...eventOf(input), requester: { reference: 'ClientApplication/portal' } }),
    );
    await comesBack(gone.address);
    const left = async ({ appointment, slot }: typeof silent) => [
      (await medplum().read<Appointment>(`Appointment/${appointment.id}`))?.status,
      (await medplum().read<Slot>(`Slot/${slot.id}`))?.status,
    ];
    await medplum().change(changed, { extension: [] });
    await runAt(noon(10) - 12 * HOUR - MINUTE);
    expect(await left(silent)).toEqual(['booked', 'busy']);
    await later(noon(10) - 12 * HOUR + MINUTE - Date.now(), async () => {
      await run();
      expect([await left(silent), await left(comes), await left(gone), await left(kept)]).toEqual([
        ['cancelled', 'free'],
        ['booked', 'busy'],
        ['booked', 'busy'],
        ['booked', 'busy'],
      ]);
      await run();
    });
    expect(subjectsTo(silent.address).at(-1)).toBe('Cancelled: your appointment');
  });

  it('waits for the morning at night', async () => {
    const { patient, address } = await aPatient();
    const start = noon(10) - 9 * HOUR;
    const booked = await anAppointment(patient, start);
    await run();
    await runAt(start - 7 * DAY + MINUTE);
    expect(subjectsTo(address)).toHaveLength(1);
    const [row] = await rowOf(booked);
    const clock = new Intl.DateTimeFormat('de-DE', { timeZone: 'Europe/Berlin', timeStyle: 'short' });
    expect(clock.format(new Date(row?.executionPeriod?.start ?? ''))).toBe('08:00');
  });

  it('that is deleted is cancelled for its person at the next look', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    await run();
    await medplum().fhir('DELETE', `Appointment/${booked.id}`);
    await runAt(noon(3));
    expect(subjectsTo(address)).toEqual(['Your appointment', 'Cancelled: your appointment']);
  });
});

describe('a visit of several steps', () => {
  /** Steps of an hour each, with an hour between them, the later one first. */
  async function aVisit(patient: Patient, more: Partial<Appointment> = {}) {
    const identifier = [{ system: artefactUri(config, 'LocalVisitGroup'), value: randomUUID() }];
    const second = await anAppointment(patient, noon(10) + 2 * HOUR, { identifier, ...more });
    const first = await anAppointment(patient, noon(10), { identifier, ...more });
    return { first, second };
  }
  const eventsIn = (file: string) =>
    file
      .split('BEGIN:VEVENT')
      .slice(1)
      .map((event) => [lineOf(event, 'UID:'), lineOf(event, 'STATUS:')].join(' '));

  it('is confirmed, changed, reminded of and cancelled by one mail each, with an event a step', async () => {
    const { patient, address } = await aPatient();
    const { first, second } = await aVisit(patient);
    await run();
    await run();
    expect(mailsTo(address)[0]?.text).toMatch(/12:00–12:30\n\n.*14:00–14:30\n/);
    const place = await medplum().create<Location>({ resourceType: 'Location', address: { text: 'Seestraße 1' } });
    const moved = await medplum().change(second, {
      start: new Date(noon(10) + 3 * HOUR).toISOString(),
      end: new Date(noon(10) + 4 * HOUR).toISOString(),
      participant: [...second.participant, { actor: { reference: `Location/${place.id}` }, status: 'accepted' }],
    });
    await run();
    expect(mailsTo(address)[1]?.text).toMatch(/12:00–12:30\n\n.*15:00–16:00\nSeestraße 1\n/);
    for (const before of [7 * DAY - MINUTE, 7 * DAY - 4 * HOUR, DAY - MINUTE, DAY - 4 * HOUR]) {
      await runAt(noon(10) - before);
    }
    await medplum().change(first, { status: 'cancelled' });
    await run();
    await medplum().change(moved, { status: 'cancelled' });
    await run();
    await run();
    expect(subjectsTo(address)).toEqual([
      'Your appointment',
      'Changed: your appointment is now',
      'Reminder: your appointment',
      'Reminder: your appointment',
      'Changed: your appointment is now',
      'Cancelled: your appointment',
    ]);
    expect(mailsTo(address)[4]?.text).not.toContain('12:00');
    const files = [0, 1, 4, 5].map((index) => mail.calendarOf(mailsTo(address)[index] as never));
    expect(files.map((file) => lineOf(file, 'METHOD'))).toEqual(files.map(() => 'METHOD:PUBLISH'));
    const [one, other] = [first, moved].map(({ id }) => `UID:${id}@portal.example STATUS:`);
    expect(files.map((file) => eventsIn(file).sort())).toEqual(
      [
        [`${one}CONFIRMED`, `${other}CONFIRMED`],
        [`${one}CONFIRMED`, `${other}CONFIRMED`],
        [`${one}CANCELLED`, `${other}CONFIRMED`],
        [`${one}CANCELLED`, `${other}CANCELLED`],
      ].map((all) => all.sort()),
    );
    const rows = [...(await rowOf(first)), ...(await rowOf(moved))];
    expect(rows.map(({ focus, status }) => [focus?.reference, status])).toEqual([
      [`Appointment/${first.id}`, 'completed'],
    ]);
    const [confirmation] = await sentAbout({ patient });
    expect(confirmation?.about?.map(({ reference }) => reference)).toEqual(
      [first, second].map(({ id }) => `Appointment/${id}`),
    );
  });

  /** Three, weekly, the last first. */
  async function aSeries(patient: Patient, more: Partial<Appointment> = {}) {
    const identifier = [{ system: artefactUri(config, 'LocalVisitGroup'), value: randomUUID() }];
    const appointments: Appointment[] = [];
    for (const index of [2, 1, 0]) {
      const extension = [...(more.extension ?? []), { url: RECURRENCE_ID, valuePositiveInt: index + 1 }];
      appointments.unshift(await anAppointment(patient, noon(10 + 7 * index), { ...more, identifier, extension }));
    }
    return appointments;
  }

  it('that is a series is booked and cancelled by one mail, with a link and an event each, and reminded of one by one', async () => {
    const { patient, address } = await aPatient();
    const series = await aSeries(patient);
    mail.behaviour = 'refuse';
    await run();
    mail.behaviour = 'accept';
    await later(2 * MINUTE, () => run());
    await run();
    const confirmed = ({ id }: Appointment) => `UID:${id}@portal.example STATUS:CONFIRMED`;
    expect(subjectsTo(address)).toEqual(['Your appointment']);
    const links = new Set(mailsTo(address)[0]?.text?.match(/(?<=message\/)[^\s#]+(?=\n)/g));
    expect(links.size).toBe(3);
    expect(eventsIn(mail.calendarOf(mailsTo(address)[0] as never))).toEqual(series.map(confirmed));
    const [confirmation] = await sentAbout({ patient });
    expect([confirmation?.status, confirmation?.about?.length, confirmation?.identifier?.length]).toEqual([
      'completed',
      3,
      4,
    ]);
    await runAt(noon(10) - DAY + MINUTE);
    await runAt(noon(17) - DAY + MINUTE);
    expect(mailsTo(address).map(({ text }) => text?.match(/12:00–12:30/g)?.length)).toEqual([3, 1, 1]);
    const [first, second, third] = series as [Appointment, Appointment, Appointment];
    await medplum().change(first, { status: 'cancelled' });
    await run();
    await medplum().change(second, { status: 'cancelled' });
    await medplum().change(third, { status: 'cancelled' });
    await several(2);
    await run();
    expect(subjectsTo(address).slice(3)).toEqual(['Cancelled: your appointment', 'Cancelled: your appointment']);
    expect(eventsIn(mail.calendarOf(mailsTo(address)[4] as never)).map((one) => one.replace(/.* /, ''))).toEqual([
      'STATUS:CANCELLED',
      'STATUS:CANCELLED',
    ]);
  });

  it('that is a series is offered by one mail, with one link for all', async () => {
    const { patient, address } = await aPatient();
    const offer = offerExtensions({ reason: 'waitlist', for: ['1'], until: noon(9) }, config);
    await aSeries(patient, { status: 'proposed', extension: [...offer, ...says(true)] });
    await run();
    await run();
    const [mail, ...others] = mailsTo(address);
    expect([others.length, mail?.text?.match(/12:00–12:30/g)?.length]).toEqual([0, 3]);
    expect(new Set(mail?.text?.match(/(?<=message\/)[^\s#]+(?=\n)/g)).size).toBe(1);
  });
});

it.each([
  ['confirmed', 'booked', 'Confirmed: your appointment'],
  ['refused', 'cancelled', 'Not possible: your appointment'],
] as const)('a request is answered when it is %s', async (_, status, subject) => {
  const { patient, address } = await aPatient();
  const pending = await anAppointment(patient, noon(10), { status: 'pending' });
  await run();
  expect(subjectsTo(address)).toEqual([]);
  await medplum().change(pending, { status });
  await run();
  expect(subjectsTo(address)).toEqual([subject]);
});

describe('who is told', () => {
  const tag = [requestorTag('portal', config)];
  const somebody = { system: 'email' as const, value: 'somebody@example.org' };
  it.each<[string, Partial<Patient>, Partial<Appointment>, number]>([
    ['the patient of a portal is told by that portal', {}, { meta: { tag } }, 0],
    ['unless it leaves that to the clinic', {}, { meta: { tag }, extension: says(true) }, 1],
    ['a person who wants no messages', { extension: says(false) }, { extension: says(true) }, 0],
    ['an appointment about which nobody is to write', {}, { extension: says(false) }, 0],
    ['a person who has died', { deceasedBoolean: true }, {}, 0],
    ['an inactive record', { active: false }, {}, 0],
    ['an old address', { telecom: [{ system: 'email', use: 'old', value: 'old@example.org' }] }, {}, 0],
    ['an address until a day', { telecom: [{ ...somebody, period: { end: '2020-05-01' } }] }, {}, 0],
    ['an address from a year on', { telecom: [{ ...somebody, period: { start: '2999' } }] }, {}, 0],
    ['a list of addresses', { telecom: [{ system: 'email', value: 'a@example.org, b@example.org' }] }, {}, 0],
    ['a path', { telecom: [{ system: 'email', value: 'a@example.org/x' }] }, {}, 0],
    ['a header', { telecom: [{ system: 'email', value: 'a@example.org\r\nBcc: b@example.org' }] }, {}, 0],
    ['a telephone, without a gateway for SMS', { telecom: [{ system: 'phone', value: '030 1234567' }] }, {}, 0],
  ])('%s', async (_, person, appointment, count) => {
    const { patient } = await aPatient(person);
    await anAppointment(patient, noon(10), appointment);
    await run();
    expect(mail.offered).toHaveLength(count);
  });

  /** Portals book so many times for somebody. */
  async function bookedFor(times: number): Promise<void> {
    for (let count = 0; count < times; count++) {
      const value = [somebody.value, `Somebody+${count}@example.org`, 'somebody@example\u3002org'][count % 3];
      const { patient } = await aPatient({ telecom: [{ ...somebody, value }] });
      await anAppointment(patient, noon(10), { meta: { tag }, extension: says(true) });
      await (count % 5 === 0 && run());
    }
  }

  it('an address at most twenty times a day of what portals book, however it is written and whoever has it', async () => {
    await bookedFor(26);
    await run();
    const { length } = mail.mails;
    // Those that are sent at the same moment do not count each other.
    expect([20, 21, 22, 23]).toContain(length);
    const { patient } = await aPatient({ telecom: [somebody] });
    await anAppointment(patient);
    await run();
    expect(mail.mails).toHaveLength(length + 1);
    await later(25 * HOUR, run);
    await later(25 * HOUR, run);
    expect(mail.mails).toHaveLength(27);
  });

  /** A portal with a client of its own, its patient, and an appointment that it leaves to the clinic to write about. */
  async function aPortal() {
    const { id, authorization } = await medplum().addClient(randomUUID(), [{ resourceType: '*' }]);
    const meta = { tag: [requestorTag(id, config)] };
    const telecom = [{ system: 'email' as const, value: `${randomUUID()}@example.org` }];
    const write = async <T extends Patient | Appointment>(resource: T, changes: Partial<T>) => {
      const path = `${resource.resourceType}/${resource.id}`;
      const { status } = await medplum().fhir('PUT', path, { ...resource, ...changes }, { authorization });
      expect(status).toBe(200);
    };
    const made = await medplum().fhir<Patient>(
      'POST',
      'Patient',
      { resourceType: 'Patient', telecom, meta },
      { authorization },
    );
    const book = (more: Partial<Appointment> = {}) =>
      anAppointment(made.body, noon(10), { meta, extension: says(true), ...more });
    return { patient: made.body, address: telecom[0]?.value ?? '', meta, write, book };
  }

  it('nobody of what another has booked, at an address that only a portal has given: staff call, until they confirm it', async () => {
    const { patient, address, book } = await aPortal();
    await book();
    const ofClinic = await anAppointment(patient, noon(11));
    await run();
    await run();
    expect(subjectsTo(address)).toEqual(['Your appointment']);
    const [call, ...others] = await rowOf(ofClinic, 'undelivered');
    expect([call?.description, others]).toEqual([expect.stringContaining('To confirm the address'), []]);
    await runAt(noon(11) - DAY + MINUTE);
    expect(await rowOf(ofClinic, 'undelivered')).toHaveLength(1);
    await medplum().change(patient, { telecom: [{ system: 'email', value: address, rank: 1 }] });
    await medplum().change(ofClinic, {
      start: new Date(noon(12)).toISOString(),
      end: new Date(noon(12) + HOUR).toISOString(),
    });
    await run();
    expect(subjectsTo(address).at(-1)).toBe('Changed: your appointment is now');
  });

  it('nobody by what a portal has said of a record into which the clinic has merged another', async () => {
    const { patient, address, book, meta } = await aPortal();
    const link = [{ type: 'replaced-by' as const, other: { reference: `Patient/${patient.id}` } }];
    await aPatient({ meta, active: false, link });
    const booked = await book();
    await run();
    expect([subjectsTo(address), (await rowOf(booked, 'undelivered')).length]).toEqual([[], 1]);
  });

  it('the address of before, where a portal changes it, and no other where the clinic does', async () => {
    const { patient, address, write, book } = await aPortal();
    const booked = await book();
    await run();
    const next = `${randomUUID()}@example.org`;
    await write(patient, { telecom: [{ system: 'email', value: next }] });
    const moved = (hours: number) => ({
      start: new Date(noon(11) + hours * HOUR).toISOString(),
      end: new Date(noon(12)).toISOString(),
    });
    await medplum().change(booked, moved(0));
    await run();
    expect(subjectsTo(address)).toEqual(['Your appointment', 'Another address was given – Klinik']);
    expect(mailsTo(address)[1]?.text).not.toMatch(/https:|12:00/);
    expect(subjectsTo(next)).toEqual(['Changed: your appointment is now']);
    await book();
    await run();
    expect([subjectsTo(address).length, subjectsTo(next).length]).toEqual([2, 2]);
    const third = `${randomUUID()}@example.org`;
    await write((await medplum().read<Patient>(`Patient/${patient.id}`)) ?? patient, {
      telecom: [{ system: 'email', value: third }],
    });
    await book();
    await run();
    expect([subjectsTo(next).at(-1), subjectsTo(third)]).toEqual([
      'Another address was given – Klinik',
      ['Your appointment'],
    ]);
    await medplum().change(patient, { telecom: [{ system: 'email', value: 'typed@example.org' }] });
    await medplum().change(booked, moved(1));
    await run();
    expect([subjectsTo(next).length, subjectsTo('typed@example.org').length]).toEqual([3, 1]);
  });

  it('nobody that a request is not possible which its portal has taken back, and no address more than twenty times a day that one is not', async () => {
    const { address, write, book } = await aPortal();
    const back = await book({ status: 'pending' });
    await run();
    await write(back, { status: 'cancelled' });
    await run();
    expect(mail.mails).toEqual([]);
    const asked = await Promise.all(Array.from({ length: 26 }, () => book({ status: 'pending' })));
    await run();
    await run();
    for (const one of asked) {
      await medplum().change(one, { status: 'cancelled' });
      await run();
    }
    expect(subjectsTo(address)).toHaveLength(20);
    expect(subjectsTo(address)[0]).toBe('Not possible: your appointment');
  });

  it('no address whose owner has refused, whichever record or portal has it, until the owner takes that back', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    await run();
    const [token = ''] = /(?<=message\/)\S+/.exec(mailsTo(address)[0]?.text ?? '') ?? [];
    const says = (valueCode: string) =>
      answer(
        medplum().medplum,
        eventOf({
          resourceType: 'Parameters',
          parameter: [
            { name: 'token', valueString: token },
            { name: 'answer', valueCode },
          ],
        }),
      );
    const other = await aPatient({ telecom: [{ system: 'email', value: address.replace('@', '+x@').toUpperCase() }] });
    await later(90 * DAY, () => says('stop'));
    await anAppointment(other.patient);
    await medplum().change(booked, { status: 'cancelled' });
    await run();
    expect(mail.mails).toHaveLength(1);
    const rows = await found<Task>(`Task?code=${artefactUri(config, 'LocalTask')}|refusal`);
    expect(JSON.stringify(rows)).not.toContain(address.split('@')[0]);
    expect(await says('start')).toMatchObject({
      parameter: expect.arrayContaining([{ name: 'answer', valueCode: 'stop' }]),
    });
    await anAppointment(other.patient, noon(11));
    await run();
    expect(mail.mails).toHaveLength(3);
  });
});

describe('killed between any two requests', () => {
  it.each(Array.from({ length: 9 }, (_, index) => index))('after %i of them: one message', async (most) => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    await dieAfter(most);
    await run();
    await later(3 * MINUTE, () => run());
    await later(6 * MINUTE, () => run());
    expect(new Set(mailsTo(address).map(({ messageId }) => messageId)).size).toBe(1);
    // Only between the answer of the mail server and its record is it sent twice, as the same message.
    expect(mailsTo(address).length).toBeLessThanOrEqual(2);
    expect((await sentAbout({ patient })).map(({ status }) => status)).toEqual(['completed']);
    expect(await rowOf(booked, 'undelivered')).toEqual([]);
  });

  it('two runs at once send one', async () => {
    const { patient, address } = await aPatient();
    await anAppointment(patient);
    await several(3);
    expect(mailsTo(address)).toHaveLength(1);
    expect(await sentAbout({ patient })).toHaveLength(1);
  });
});

describe('a mail server that', () => {
  it('refuses is tried again, and staff are told in the end', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    mail.behaviour = 'refuse';
    await run();
    expect((await sentAbout({ patient })).map(({ status }) => status)).toEqual(['in-progress']);
    for (const minutes of [2, 8, 40, 170, 700, 1400]) {
      await later(minutes * MINUTE, () => run());
    }
    expect(mail.offered.filter((one) => one === address)).toHaveLength(6);
    const [communication] = await sentAbout({ patient });
    expect([communication?.status, communication?.statusReason?.text]).toEqual([
      'not-done',
      'The mail server of Medplum answered with status 500.',
    ]);
    expect(await rowOf(booked, 'undelivered')).toMatchObject([
      { status: 'requested', for: { reference: `Patient/${patient.id}` } },
    ]);
    mail.behaviour = 'accept';
    await runAt(noon(3) + MINUTE);
    expect(subjectsTo(address)).toEqual(['Reminder: your appointment']);
  });

  it('takes no answer back: the same message once more, then staff are told', async () => {
    const { patient, address } = await aPatient();
    const booked = await anAppointment(patient);
    medplum().interfere(async ({ entries }) => (entries[0] === '/email/v1/send' ? 'too-late' : undefined));
    for (const minutes of [0, 3, 6, 9]) {
      await later(minutes * MINUTE, () => run());
    }
    expect(mailsTo(address)).toEqual([]);
    expect((await sentAbout({ patient })).map(({ status }) => status)).toEqual(['unknown']);
    expect(await rowOf(booked, 'undelivered')).toHaveLength(1);
  });
});

/** A gateway for SMS that keeps what it receives, unless it is down. */
async function anSmsGateway() {
  const received: { headers: IncomingMessage['headers']; body: string }[] = [];
  const gateway = { received, isDown: false, open: () => undefined as unknown };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    received.push(...(gateway.isDown ? [] : [{ headers: request.headers, body: Buffer.concat(chunks).toString() }]));
    response.writeHead(gateway.isDown ? 503 : 200).end();
  }).listen(0);
  atEnd(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  gateway.open = () => {
    secrets = {
      smsWebhook: { name: 'smsWebhook', valueString: `http://127.0.0.1:${port}/sms` },
      smsSecret: { name: 'smsSecret', valueString: 'secret' },
    };
  };
  return gateway;
}

describe('SMS', () => {
  it('go to no number that costs more, or lies where the clinic writes to nobody', async () => {
    const gateway = await anSmsGateway();
    gateway.open();
    await run();
    const costly = ['+882 13 300 655', '0 0882 13 300 655', '0900 1234567', '+49 (0)900 123456', '+49 (137) 123456'];
    const padded = ['+49 00900 1234567', '+49-0-0900-123456', '+49 (0) (0) 137 12345', '+41 906 123', '+43 930 123'];
    for (const value of [...costly, ...padded, '+371 90 001 001', '0049 (0)151 234567']) {
      await anAppointment((await aPatient({ telecom: [{ system: 'phone', value }] })).patient);
    }
    await runAt(noon(1));
    expect(gateway.received.map(({ body }) => JSON.parse(body).data.to)).toEqual(['+49151234567']);
  });

  it('are sent for one portal as often as the clinic pays for in a day', async () => {
    const gateway = await anSmsGateway();
    gateway.open();
    await run();
    const [one, other] = [randomUUID(), randomUUID()].map((id) => ({ tag: [requestorTag(id, config)] }));
    const numbers = [1, 2, 3].map((last) => `+4915123456${last}`);
    const sent = () => gateway.received.map(({ body }) => JSON.parse(body).data.to);
    // Those that are sent at the same moment do not count each other.
    for (const [index, value] of numbers.entries()) {
      const meta = (index < 2 ? one : other) ?? {};
      const { patient } = await aPatient({ telecom: [{ system: 'phone', value }], meta });
      await anAppointment(patient, noon(10), { meta, extension: says(true) });
      await later(noon(0) - Date.now(), () => run(undefined, { smsPerPortalAndDay: 1 }));
    }
    expect(sent()).toEqual([numbers[0], numbers[2]]);
  });
});

it('without an e-mail address an SMS goes to the webhook of the clinic, signed, and at night only with an offer that is over by the morning', async () => {
  const gateway = await anSmsGateway();
  const { received } = gateway;
  await run();
  const { patient } = await aPatient({ telecom: [{ system: 'phone', value: '0049 (151) 234-567' }] });
  const identifier = [{ system: artefactUri(config, 'LocalVisitGroup'), value: randomUUID() }];
  const booked = await anAppointment(patient, noon(10), { identifier });
  for (const hours of [1, 2, 3, 4]) {
    await anAppointment(patient, noon(10) + hours * HOUR, { identifier });
  }
  gateway.open();
  const night = noon(1) + 12 * HOUR;
  const [brief = {}, long = {}] = [1, 11].map((hours) => {
    const offer = offerExtensions({ reason: 'absence', for: ['1'], until: night + hours * HOUR }, config);
    return { status: 'proposed' as const, extension: [...offer, ...says(true)] };
  });
  const offered = await anAppointment(patient, noon(11), brief);
  await anAppointment(patient, noon(12), long);
  await runAt(night);
  gateway.isDown = true;
  await runAt(night + 9 * HOUR);
  gateway.isDown = false;
  await later(night + DAY - Date.now(), async () => {
    await run();
    expect(await found(dueThreads(Date.now(), config))).toEqual([]);
  });
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([`${offered.id}/1`]);
  await runAt(night + DAY + 9 * HOUR);
  const ofThis = received.filter(({ headers }) => headers['webhook-id'] === `${booked.id}/1`);
  const [sms] = ofThis;
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = sms?.headers ?? {};
  const expected = createHmac('sha256', 'secret').update(`${id}.${time}.${sms?.body}`).digest('base64');
  expect(signature).toBe(`v1,${expected}`);
  expect(JSON.parse(sms?.body ?? '')).toMatchObject({ data: { to: '+49151234567' } });
  expect(sms?.body).toMatch(/Klinik am See: Your appointment on .*12:00, .*13:00, .*14:00, \+2\./);
  expect(ofThis).toHaveLength(1);
});

it.each([
  ['accept', 'taken'],
  ['refuse', 'refused'],
  ['slow', 'taken'],
] as const)('a test message says what a server that does %s has done', async (behaviour, result) => {
  mail.behaviour = behaviour;
  const to = { name: 'to', valueString: 'operator@example.org' };
  const answer = await run({ resourceType: 'Parameters', parameter: [to] });
  expect(answer?.parameter?.[0]).toEqual({ name: 'result', valueString: result });
  expect(mail.offered).toEqual(['operator@example.org']);
});
