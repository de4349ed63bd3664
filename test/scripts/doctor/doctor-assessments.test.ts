import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Project } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { credentialsKey, environmentLines, waitForServer } from '../../../scripts/bootstrap.ts';
import { writeSettings } from '../../../scripts/cli/settings-file.ts';
import { assessDryRun, assessSubscriptionCount } from '../../../scripts/doctor/deployment.ts';
import { assessExposure } from '../../../scripts/doctor/exposure.ts';
import { assessBodySize, assessBot, assessTransaction, assessVersion } from '../../../scripts/doctor/medplum-server.ts';
import {
  assessFeatures,
  assessMessages,
  assessPreCommit,
  assessQuota,
  remainingPoints,
} from '../../../scripts/doctor/project.ts';
import { assessCron, assessDeliveries, assessWaiting } from '../../../scripts/doctor/queues.ts';
import { bookingsWithin, quotaFor, withWishes } from '../../../scripts/medplum/project-features.ts';
import type { Delivery } from '../../../scripts/metrics/read.ts';

const all = ['bots', 'transaction-bundles', 'cron', 'websocket-subscriptions', 'email'];
const defaults = resolveConfig({ baseUrl: 'https://booking.example/fhir/R4' });
const messages = (more: object = {}) => ({
  config: { messages: { ...defaults.messages, ...more } },
});
const from = 'Clinic <appointments@clinic.example>';
const page = 'https://clinic.example/portal';
const me = (features: string[]) => ({ project: { id: 'p', features }, membership: { admin: true } });

describe('assessments', () => {
  test.each([
    ['5.1.23-c85c575', 'ok'],
    ['5.2.13', 'ok'],
    ['5.0.2', 'error'],
    ['4.5.2', 'error'],
    ['6.0.0', 'warning'],
    [undefined, 'warning'],
  ])('version %s: %s', (version, level) => {
    expect(assessVersion(version).level).toBe(level);
  });

  test.each([
    [{ status: 404, left: 0 }, 'ok'],
    [{ status: 200, left: 1 }, 'error'],
    [{ status: 403, left: 0 }, 'warning'],
  ])('a failed transaction %j: %s', (remains, level) => {
    expect(assessTransaction(remains).level).toBe(level);
  });

  test('a missing feature that is indispensable is an error, another one a warning', () => {
    expect(assessFeatures(me(all), messages({ from })).level).toBe('ok');
    expect(assessFeatures(me(all.slice(1)), messages())).toMatchObject({
      level: 'error',
      found: expect.stringContaining('bots'),
    });
    expect(assessFeatures(me(all.slice(0, 2)), messages())).toMatchObject({
      level: 'warning',
      found: expect.stringMatching(/cron.*websocket-subscriptions/),
    });
  });

  test('the feature for e-mails is missed only where messages are on', () => {
    expect(assessFeatures(me(all.slice(0, 4)), messages()).level).toBe('ok');
    expect(assessFeatures(me(all.slice(0, 4)), messages({ from }))).toMatchObject({
      level: 'warning',
      found: expect.stringContaining('email'),
    });
  });

  const server = { smtpHost: 'mail', smtpApprovedSenders: 'a@b.example,Appointments@clinic.example' };
  test.each<[string, object, object, boolean, string, RegExp]>([
    ['off', {}, {}, false, 'ok', /off/],
    ['in order', { from, page }, server, true, 'ok', /from appointments@clinic/],
    ['with SMS', { from, page }, { ...server, smsWebhook: 'https://sms', smsSecret: 'x' }, true, 'ok', /by SMS/],
    ['without the right', { from, page }, server, false, 'error', /no administrator/],
    [
      'from another sender',
      { from, page },
      { ...server, smtpApprovedSenders: 'x' },
      true,
      'warning',
      /another address/,
    ],
    ['without a mail server', { from, page }, {}, true, 'warning', /no mail server/],
    ['without links', { from }, server, true, 'warning', /no links/],
    ['SMS without a secret', { from, page }, { ...server, smsWebhook: 'https://sms' }, true, 'warning', /smsSecret is/],
    ['SMS nowhere', { from, page }, { ...server, smsWebhook: 'x', smsSecret: 'x' }, true, 'warning', /no https/],
  ])('messages %s', (_, given, secrets, isAdmin, level, found) => {
    const named = Object.entries(secrets).map(([name, valueString]) => ({ name, valueString }));
    const result = assessMessages({ secrets: named, isAdmin }, messages(given));
    expect([result.level, result.found]).toEqual([level, expect.stringMatching(found)]);
    expect(result.help === undefined).toBe(level === 'ok');
  });

  test.each([
    [[['medplum', ['10.0.0.3', 'fd00::3']]], 'ok'],
    [[['localhost', ['127.0.0.1', '::1']]], 'ok'],
    [[['unknown', []]], 'ok'],
    [
      [
        ['medplum', ['10.0.0.3']],
        ['medplum.example.org', ['93.184.215.14']],
      ],
      'warning',
    ],
    [[['medplum.example.org', ['10.0.0.3', '2606:2800:21f:cb07::1']]], 'warning'],
  ] as const)('Medplum at %j: %s', (known, level) => {
    const hosts = known.map(([host, addresses]) => ({ host, addresses }));
    expect(assessExposure(hosts).level).toBe(level);
  });

  test('a server that runs no Bots in its VM context', () => {
    expect(assessBot({ status: 400, text: 'VM Context bots not enabled on this server' })).toMatchObject({
      level: 'error',
      help: expect.stringContaining('vmContextBotsEnabled'),
    });
    expect(assessBot({ status: 500, text: 'x' }).found).toContain('500');
  });

  test('pre-commit Bots that are off', () => {
    expect(assessPreCommit({ isSet: true, answer: '… patient-not-found …' }).level).toBe('ok');
    expect(assessPreCommit({ isSet: false })).toMatchObject({
      level: 'warning',
      help: expect.stringContaining('Project'),
    });
    expect(assessPreCommit({ isSet: true, answer: 'Not found' })).toMatchObject({
      level: 'warning',
      help: expect.stringContaining('MEDPLUM_PRE_COMMIT_SUBSCRIPTIONS_ENABLED'),
    });
    expect(assessPreCommit({ isSet: true }).found).toContain('not tested');
  });

  test('bodies that the server refuses, also by closing the connection', () => {
    expect([413, undefined, 401].map((status) => assessBodySize(status).level)).toEqual(['warning', 'warning', 'ok']);
  });

  test('the dry run of a deployment', () => {
    const lines = ['unchanged  Bot patch', 'would be updated  Bot book', 'would be created  ValueSet x'];
    const isBot = (subject: string): boolean => subject.startsWith('Bot ');
    expect(assessDryRun(lines, isBot)).toMatchObject({ level: 'error', found: '1 of 2: Bot book (out of date)' });
    expect(assessDryRun(lines.slice(0, 1), isBot).level).toBe('ok');
  });
});

test('the Subscriptions of the whole project, of which Medplum reads a thousand', () => {
  const levels = [799, 800, 999, 1_000].map((count) => assessSubscriptionCount(count).level);
  expect(levels).toEqual(['ok', 'warning', 'warning', 'error']);
});

describe('what waits', () => {
  const minutes = 60;
  const delivery: Delivery = { id: '1', status: 'accepted', events: 5, delivered: 5, age: 99 * minutes };

  test.each<[string, Partial<Delivery>, string]>([
    ['everything is delivered', {}, 'ok'],
    ['a delivery is under way', { status: 'ready', delivered: 3, age: minutes }, 'ok'],
    ['a delivery stands still', { status: 'ready', delivered: 3 }, 'error'],
    ['a subscriber does not answer', { status: 'on-hold', delivered: 3, error: 'timeout' }, 'warning'],
    ['a Subscription is in error', { status: 'failed', delivered: 3, error: 'gone' }, 'warning'],
    ['a Subscription is over', { status: 'cancelled', delivered: 3 }, 'ok'],
  ])('%s', (_, changes, level) => {
    const result = assessDeliveries([delivery, { ...delivery, ...changes }]);
    expect(result.level).toBe(level);
    expect(result.found).toContain(changes.error ?? '');
  });

  test('a clock that stands still, or has not begun', () => {
    expect(assessCron(minutes).level).toBe('ok');
    expect(assessCron(undefined).level).toBe('warning');
    expect(assessCron(30 * minutes)).toMatchObject({ level: 'error', help: expect.stringContaining('reloadcron') });
  });

  test('an accepted booking for a moment, or for too long', () => {
    expect(assessWaiting({ count: 0, oldest: 0 }).found).toBe('none waits');
    expect(assessWaiting({ count: 3, oldest: minutes }).level).toBe('ok');
    expect(assessWaiting({ count: 3, oldest: 30 * minutes })).toMatchObject({
      level: 'error',
      found: expect.stringContaining('30 minutes'),
    });
  });
});

describe('the quota', () => {
  test('is read from the header', () => {
    expect(remainingPoints('"requests";r=59999;t=60, "fhirInteractions";r=49980;t=60')).toBe(49_980);
    expect(remainingPoints('"requests";r=59999;t=60')).toBeUndefined();
    expect(remainingPoints(null)).toBeUndefined();
  });

  test('carries the wished-for bookings, or the setting that would is named', () => {
    const wish = { bookingsPerMinute: 100 };
    expect(assessQuota({}, wish).level).toBe('ok');
    expect(assessQuota({ remaining: 49_980 }, wish)).toMatchObject({
      level: 'warning',
      help: expect.stringContaining('userFhirQuota to 60000'),
    });
    expect(assessQuota({ remaining: 49_980, setting: 60_000 }, wish).level).toBe('ok');
  });

  test('that is asked for is enough', () => {
    for (const bookings of [1, 60, 84, 1000]) {
      expect(bookingsWithin(quotaFor(bookings))).toBeGreaterThanOrEqual(bookings);
    }
  });
});

describe('a project for the service', () => {
  const project: Project = { resourceType: 'Project', id: 'p', features: ['ai'] };

  test('gets features and setting, and keeps what it has', () => {
    const done = withWishes({ ...project, setting: [{ name: 'x', valueString: 'y' }] }, {});
    expect(done.features).toEqual(['ai', ...all]);
    expect(done.setting).toEqual([
      { name: 'x', valueString: 'y' },
      { name: 'preCommitSubscriptionsEnabled', valueBoolean: true },
    ]);
    expect(withWishes(done, {})).toBe(done);
  });

  test('gets a quota that is only ever raised', () => {
    const done = withWishes(project, { bookingsPerMinute: 200 });
    expect(done.systemSetting).toEqual([{ name: 'userFhirQuota', valueInteger: 120_000 }]);
    expect(withWishes(done, { bookingsPerMinute: 100 })).toBe(done);
  });

  test('is handed over as lines for a shell', () => {
    expect(environmentLines({ baseUrl: 'http://m/', clientId: 'c', clientSecret: 's' }, 'k')).toBe(
      'MEDPLUM_BASE_URL=http://m/\nMEDPLUM_CLIENT_ID=c\nMEDPLUM_CLIENT_SECRET=s\nCREDENTIALS_KEY=k\n',
    );
  });

  test('is written into a file whose other settings stay', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'settings-')), 'gateway.env');
    writeSettings(file, ['A=1']);
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['A=1\n', 0o600]);
    const before = '# The gateway\nCREDENTIALS_KEY=k\nexport BOTS_CLIENT_SECRET=a long one\n\nPORT=1';
    writeFileSync(file, before);
    chmodSync(file, 0o640);
    writeSettings(file, ['BOTS_CLIENT_ID=a', 'BOTS_CLIENT_SECRET=b']);
    const after = '# The gateway\nCREDENTIALS_KEY=k\nPORT=1\nBOTS_CLIENT_ID=a\nBOTS_CLIENT_SECRET=b\n';
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([after, 0o640]);
    rmSync(dirname(file), { recursive: true });
  });

  test('says what to do while the server is not up', async () => {
    await expect(waitForServer('http://127.0.0.1:1', 0)).rejects.toThrow(
      /No Medplum server answers at http:\/\/127\.0\.0\.1:1\/healthcheck.*--wait 300/,
    );
  });

  test('keeps the key that its credentials were sealed with', () => {
    const before = 'MEDPLUM_BASE_URL=http://m/\nCREDENTIALS_KEY=a=,b=\n';
    expect(credentialsKey({ CREDENTIALS_KEY: 'c' }, before)).toBe('c');
    expect(credentialsKey({}, before)).toBe('a=,b=');
    const made = credentialsKey({}, 'MEDPLUM_BASE_URL=http://m/\n');
    expect(Buffer.from(made, 'base64')).toHaveLength(32);
    expect(credentialsKey({}, '')).not.toBe(made);
  });
});
