import { randomUUID } from 'node:crypto';
import type { Project } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { senderOf } from '../../core/messages/message.ts';
import type { Me } from '../medplum/connect.ts';
import { membershipOf } from '../medplum/membership.ts';
import {
  bookingsWithin,
  DEFAULT_QUOTA,
  PRE_COMMIT,
  projectFeatures,
  quotaFor,
  USER_QUOTA,
} from '../medplum/project-features.ts';
import {
  type Check,
  check,
  type DoctorResult,
  error,
  type Installation,
  ok,
  validateWithoutEffect,
  warning,
} from './check.ts';

/** Only an administrator of the project can deploy. */
function assessCredentials({ project, membership }: Me): DoctorResult {
  const label = `${project.name ?? ''} (Project/${project.id})`.trim();
  return membership.admin
    ? ok(`administrator of ${label}`)
    : error(
        `a member of ${label}, not an administrator`,
        'Set admin to true on the ProjectMembership of this ClientApplication, or use another one.',
      );
}

const indispensable: readonly string[] = ['bots', 'transaction-bundles'];

/** Assesses the features of the project: some are necessary, the others are optional. */
export function assessFeatures(
  { project: { features = [] } }: Me,
  { config: { messages } }: { readonly config: Pick<BookingConfig, 'messages'> },
): DoctorResult {
  const needed = Object.entries(projectFeatures).filter(([name]) => name !== 'email' || messages.from !== undefined);
  const missing = needed.filter(([feature]) => !features.some((name) => name === feature));
  const found = missing.map(([feature, purpose]) => `lacks ${feature} (${purpose})`).join('; ');
  const help = 'A super administrator adds them to Project.features, or: npm run bootstrap -- --project <name>';
  if (missing.length === 0) {
    return ok(needed.map(([feature]) => feature).join(', '));
  }
  return missing.some(([feature]) => indispensable.includes(feature)) ? error(found, help) : warning(found, help);
}

interface PreCommit {
  readonly isSet: boolean;
  /**
   * The response to a write that the Bot validate-appointment refuses; `undefined` if a trial would leave data behind.
   */
  readonly answer?: string | undefined;
}

/** Without pre-commit Bots, the rules of the service do not apply to changes made directly in Medplum. */
export function assessPreCommit({ isSet, answer }: PreCommit): DoctorResult {
  const consequence = 'changes by staff in Medplum are not checked';
  if (!isSet) {
    return warning(
      `off in the project: ${consequence}`,
      `Set Project.setting ${PRE_COMMIT} to true, or: npm run bootstrap -- --project <name>`,
    );
  }
  if (answer === undefined) {
    return warning('on in the project; not tested, because transactions are not atomic', 'Fix the features first.');
  }
  return answer.includes('patient-not-found')
    ? ok('the Bot validate-appointment checks changes before they are stored')
    : warning(
        `on in the project, but the Bot validate-appointment does not run: ${consequence}`,
        `Set ${PRE_COMMIT} (MEDPLUM_PRE_COMMIT_SUBSCRIPTIONS_ENABLED=true) in the configuration of the server.`,
      );
}

interface Quota {
  /** Points left to these credentials in this minute, from the header `RateLimit`; `undefined`: there are no limits. */
  readonly remaining?: number | undefined;
  readonly setting?: number | undefined;
}

/** Whether the quota allows the required bookings. One Bot writes all of them. */
export function assessQuota(
  { remaining, setting }: Quota,
  { bookingsPerMinute }: { bookingsPerMinute: number },
): DoctorResult {
  if (remaining === undefined) {
    return ok('the server sets no limits');
  }
  const quota = setting ?? Math.max(DEFAULT_QUOTA, remaining);
  const found = `about ${bookingsWithin(quota)} bookings per minute (${quota} points), required: ${bookingsPerMinute}`;
  return bookingsWithin(quota) >= bookingsPerMinute
    ? ok(found)
    : warning(
        found,
        `Set Project.systemSetting ${USER_QUOTA} to ${quotaFor(bookingsPerMinute)} (a super administrator), or: ` +
          `npm run bootstrap -- --project <name> --bookings-per-minute ${bookingsPerMinute}`,
      );
}

/**
 * Reads the points left from Medplum's header, for example `"requests";r=59999;t=60, "fhirInteractions";r=49980;t=60`.
 */
export function remainingPoints(header: string | null): number | undefined {
  const found = /"fhirInteractions";r=(\d+)/.exec(header ?? '');
  return found ? Number(found[1]) : undefined;
}

async function readProject({ medplum, me }: Installation): Promise<Project> {
  return medplum.readResource('Project', me.project.id);
}

async function tryPreCommit(installation: Installation): Promise<PreCommit> {
  const { setting } = await readProject(installation);
  const isSet = setting?.some(({ name, valueBoolean }) => name === PRE_COMMIT && valueBoolean) ?? false;
  if (!isSet || !installation.me.project.features?.includes('transaction-bundles')) {
    return { isSet };
  }
  const { text } = await validateWithoutEffect(installation, {
    resourceType: 'Appointment',
    status: 'proposed',
    participant: [{ actor: { reference: `Patient/${randomUUID()}` }, status: 'accepted' }],
  });
  return { isSet, answer: text };
}

async function readQuota(installation: Installation): Promise<Quota> {
  const { headers } = await installation.request('fhir/R4/Basic?_count=1');
  const { systemSetting } = await readProject(installation);
  return {
    remaining: remainingPoints(headers.get('ratelimit')),
    setting: systemSetting?.find(({ name }) => name === USER_QUOTA)?.valueInteger,
  };
}

interface MessageWays {
  readonly secrets: NonNullable<Project['secret']>;
  /** Whether the Bot `send-messages` is an administrator of the project. */
  readonly isAdmin: boolean;
}

/** Whether messages can be sent. `messages test` shows whether they arrive. */
export function assessMessages(
  { secrets, isAdmin }: MessageWays,
  { config: { messages } }: { readonly config: Pick<BookingConfig, 'messages'> },
): DoctorResult {
  const { from, page } = messages;
  if (from === undefined) {
    return ok('off: messages.from is not set');
  }
  const textOf = (name: string): string => String(secrets.find((one) => one.name === name)?.valueString ?? '');
  const { address } = senderOf(messages);
  const [webhook, secret] = [textOf('smsWebhook'), textOf('smsSecret')];
  const isApproved = textOf('smtpApprovedSenders').toLowerCase().includes(address.toLowerCase());
  const problems: readonly (readonly [isProblem: boolean, found: string, help: string])[] = [
    [!isAdmin, 'the Bot send-messages is no administrator, and Medplum lets nobody else send', 'npm run deploy'],
    [
      textOf('smtpHost') !== '' && !isApproved,
      `Medplum sends from another address than ${address}`,
      'Add it to the secret smtpApprovedSenders of the project.',
    ],
    [
      webhook !== '' && !/^https:\/\/[^/]+/.test(webhook),
      `the webhook for SMS has no https address: ${webhook}`,
      'Correct the secret smsWebhook of the project.',
    ],
    [
      (webhook === '') !== (secret === ''),
      `${secret === '' ? 'smsSecret' : 'smsWebhook'} is missing: no SMS are sent`,
      'Set both secrets of the project, or none.',
    ],
    [page === undefined, 'messages have no links', 'Set messages.page to the address of the portal, and deploy.'],
    [
      textOf('smtpHost') === '',
      'no mail server in the secrets of the project: if the configuration of Medplum has none either, it sends nothing',
      'Set smtpHost and what belongs to it (docs/messages.md), or try: npm run messages -- test <address>',
    ],
  ];
  const found = problems.filter(([isProblem]) => isProblem);
  const says = (index: 1 | 2): string => found.map((one) => one[index]).join('; ');
  return found.length === 0
    ? ok(`from ${address}${webhook === '' ? '' : ', and by SMS'}; npm run messages -- test <address> sends one`)
    : (found.some(([, , help]) => help === 'npm run deploy') ? error : warning)(says(1), says(2));
}

async function readMessageWays(installation: Installation): Promise<MessageWays> {
  const { medplum, config } = installation;
  const [{ secret = [] }, bot] = await Promise.all([
    readProject(installation),
    medplum.searchOne('Bot', { identifier: `${artefactUri(config, 'LocalBot')}|send-messages` }),
  ]);
  const membership = bot && (await membershipOf(installation, `Bot/${bot.id}`));
  return { secrets: secret, isAdmin: membership?.admin === true };
}

export const projectChecks: readonly Check[] = [
  check('credentials', async ({ me }) => me, assessCredentials),
  check('features', async ({ me }) => me, assessFeatures),
  check('pre-commit', tryPreCommit, assessPreCommit),
  check('rate limits', readQuota, assessQuota),
  check('messages', readMessageWays, assessMessages),
];
