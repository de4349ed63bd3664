import { execFile } from 'node:child_process';
import { beforeAll, expect, it } from '@jest/globals';
import type { ClientApplication, Patient, Project } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { type MailServer, mailSecrets, startMailServer } from '../lib/mail-server.ts';
import { eventually } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';

let mail: MailServer;
let portal: string;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let address: (id: string) => string;
let messages: string;
let restart: () => Promise<void>;

beforeAll(async () => {
  mail = await startMailServer();
  const from = 'Klinik am See <appointments@clinic.example>';
  const page = 'https://clinic.example/portal';
  // A minute of the clock lasts half a second.
  const environment = { SANDBOX_DELAY_SCALE: '0.01' };
  const installation = await prepareInstallation(environment, { messages: { from, page } });
  [fixtures, http] = await Promise.all([import('../contract/fixtures.ts'), import('../contract/http.ts')]);
  const { config } = await import('../contract/installation.ts');
  messages = artefactUri(config, 'LocalMessages');
  await installation.start();
  portal = new URL('/portal', installation.addresses.BOOKING_BASE_URL).href;
  address = (text) => text.replace(page, portal);
  const [project] = fixtures.succeeded('Bundle', await http.medplum('admin', 'GET', '/Project')).entry ?? [];
  const stored = project?.resource as Project;
  const body = { ...stored, secret: mailSecrets(mail.port) };
  fixtures.succeeded('Project', await http.medplum('admin', 'PUT', `/Project/${stored.id}`, { body }));
  restart = async () => {
    await installation.kill();
    await installation.start();
  };
});

const mailsTo = (one: string) => mail.mails.filter(({ to }) => to?.some(({ address: its }) => its === one));

const post = (url: string, answer: string, headers: Readonly<Record<string, string>>) =>
  fetch(url, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams({ answer }) });

it('a booking is confirmed by one mail, through a kill; its link shows, and cancels by its button only', async () => {
  const value = 'kim@example.org';
  const telecom: Patient['telecom'] = [{ system: 'email', value }];
  const [schedule, patient] = [await fixtures.aSchedule(), await fixtures.aPatient('portal-a', { telecom })];
  const slot = await fixtures.aSlot(schedule, 0, 30);
  const body = fixtures.proposed(patient, [slot], { extension: [{ url: messages, valueBoolean: true }] });
  const booked = fixtures.succeeded('Appointment', await fixtures.book(body));
  await restart();
  const [first] = await eventually(() => mailsTo(value)).is((found) => found.length > 0);
  expect(mail.calendarOf(first as NonNullable<typeof first>)).toContain(`UID:${booked.id}@clinic.example`);
  const link = address(/https:\S+/.exec(first?.text ?? '')?.[0] ?? '');
  // Programs that look at links use GET and HEAD.
  for (const method of ['GET', 'HEAD', 'GET']) {
    expect((await fetch(link, { method })).status).toBe(200);
  }
  const page = await (await fetch(link, { headers: { 'accept-language': 'de' } })).text();
  expect(page).toContain('Ich kann nicht: absagen');
  const foreign = await post(link, 'cancel', { 'sec-fetch-site': 'cross-site' });
  expect(foreign.status).toBe(403);
  const read = async () => (await fixtures.stored('Appointment', `_id=${booked.id}`))[0]?.status;
  expect(await read()).toBe('booked');
  const done = await post(link, 'cancel', { 'sec-fetch-site': 'same-origin' });
  expect([done.status, await read()]).toEqual([200, 'cancelled']);
  expect(await fixtures.slotsOf(schedule)).toEqual(['free 0-30']);
  await eventually(() => mailsTo(value)).is((found) => found.length > 1);
  expect(mailsTo(value).map(({ subject }) => subject?.split(' on ')[0])).toEqual([
    'Your appointment',
    'Cancelled: your appointment',
  ]);
  expect((await fetch(link)).status).toBe(404);
  expect((await fetch(`${portal}/message/x`)).status).toBe(404);
});

/** Runs a command about messages as an operator does, and gives what it says. */
async function said(words: readonly string[], input = ''): Promise<string> {
  const response = await http.medplum('admin', 'GET', '/ClientApplication?name=Administrator');
  const { entry = [] } = fixtures.succeeded('Bundle', response);
  const [client] = entry.map(({ resource }) => resource as ClientApplication);
  const env = { ...process.env, MEDPLUM_CLIENT_ID: client?.id, MEDPLUM_CLIENT_SECRET: client?.secret };
  const command = ['scripts/booking.ts', 'messages', ...words, '--config', `${process.env.BOOKING_CONFIG}`];
  return new Promise((resolve) => {
    const { stdin } = execFile(process.execPath, command, { env }, (_, out, error) => resolve(out + error));
    stdin?.end(input);
  });
}

it('a mail that comes back later is known to staff, once', async () => {
  const [, appointment, count] = /<(.+)\.(\d+)@/.exec(mailsTo('kim@example.org')[0]?.messageId ?? '') ?? [];
  const back = `Message-ID: <1@mx.example>\r\n\r\nFinal-Recipient: rfc822; kim@example.org\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\nMessage-ID:\r\n <${appointment}.${count}@clinic.example>\r\n`;
  expect(await said(['returned'], back.replace('failed', 'delayed'))).toContain('Nothing to do');
  expect(await said(['returned'], back)).toContain('staff are asked to call');
  expect(await said(['returned'], back)).toContain('Nothing to do');
  const tasks = await fixtures.stored('Task', `focus=Appointment/${appointment}&status=requested`);
  expect(tasks.map(({ description }) => description)).toEqual([
    'Tell the patient: the message (confirmation) about this appointment has not arrived, as far as is known. A mail server returned it with status 5.1.1.',
  ]);
  expect(tasks[0]?.for?.reference).toMatch(/^Patient\//);
});

it('an operator is told what the mail server does with a test message', async () => {
  const test = ['test', 'operator@example.org'];
  expect(await said(test)).toContain('Medplum has taken the message to operator@example.org');
  expect(mailsTo('operator@example.org')).toHaveLength(1);
  mail.behaviour = 'refuse';
  expect(await said(test)).toMatch(/Not sent: The mail server of Medplum answered with status 500\.\n.*smtpHost/);
});
