import type { Subscription } from '@medplum/fhirtypes';
import type { Finding } from '../../core/consistency/check.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { internalSubscriptions } from '../../profiles/subscriptions.ts';
import { findInconsistencies } from '../consistency/check.ts';
import { type Check, check, type DoctorResult, error, type Installation, named, ok, warning } from './check.ts';

const PENDING = /^would be (created|updated|removed) {2}(.*)$/;

const pendingTexts: Readonly<Record<string, string>> = {
  created: 'missing',
  updated: 'out of date',
  removed: 'left by another version',
};

/**
 * Assesses the changes of a deployment.
 *
 * @param lines - the report of a dry run
 * @param isMeant - which subjects of the report count
 */
export function assessDryRun(lines: readonly string[], isMeant: (subject: string) => boolean): DoctorResult {
  const subjects = lines
    .flatMap((line) => /^(?:unchanged|would be \w+) {2}(.*)$/.exec(line)?.[1] ?? [])
    .filter(isMeant);
  const pending = lines.flatMap((line) => {
    const [, change, subject = ''] = PENDING.exec(line) ?? [];
    return change && isMeant(subject) ? [`${subject} (${pendingTexts[change]})`] : [];
  });
  return pending.length === 0
    ? ok(`all ${subjects.length} as in this version of the service`)
    : error(`${pending.length} of ${subjects.length}: ${named(pending)}`, 'npm run deploy');
}

const isBot = (subject: string): boolean => subject.startsWith('Bot ');

type FoundSubscriptions = readonly { readonly name: string; readonly stored: Subscription | undefined }[];

/** The Subscriptions by which Medplum starts Bots must be active: Medplum itself may have switched one off. */
function assessSubscriptions(found: FoundSubscriptions): DoctorResult {
  const dead = found.filter(({ stored }) => stored?.status !== 'active');
  const texts = dead.map(({ name, stored }) => `${name} (${stored ? (stored.error ?? stored.status) : 'missing'})`);
  return dead.length === 0
    ? ok(`all ${found.length} active`)
    : error(named(texts), 'npm run deploy sets them active; look at the logs of their Bots for the cause');
}

async function readSubscriptions({ medplum, config }: Installation): Promise<FoundSubscriptions> {
  const system = artefactUri(config, 'LocalBot');
  return Promise.all(
    internalSubscriptions(config).map(async ({ name }) => ({
      name,
      stored: await medplum.searchOne('Subscription', { _tag: `${system}|${name}` }),
    })),
  );
}

/**
 * Number of active Subscriptions of a project, in no particular order, among which Medplum looks for that of the
 * pre-commit Bot. Subscriptions of portals count, too.
 */
const SEEN_BY_MEDPLUM = 1_000;

/** Whether Medplum finds the Subscription of the pre-commit Bot among all Subscriptions of the project. */
export function assessSubscriptionCount(active: number): DoctorResult {
  const help = 'Switch off or delete Subscriptions that nobody needs, including those created in Medplum itself.';
  if (active >= SEEN_BY_MEDPLUM) {
    return error(`${active} active: Medplum reads ${SEEN_BY_MEDPLUM}, and changes by staff may pass unchecked`, help);
  }
  const text = `${active} active of ${SEEN_BY_MEDPLUM} at most`;
  return active >= 0.8 * SEEN_BY_MEDPLUM ? warning(text, help) : ok(text);
}

async function countSubscriptions({ medplum }: Installation): Promise<number> {
  const { total = 0 } = await medplum.search('Subscription', { status: 'active', _count: 0, _total: 'accurate' });
  return total;
}

function assessConsistency(findings: readonly Finding[]): DoctorResult {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const text = named((errors.length > 0 ? errors : findings).map(({ rule, resource }) => `${rule} ${resource}`));
  const help = 'npm run check:consistency lists them all';
  if (findings.length === 0) {
    return ok('appointments and slots agree');
  }
  return errors.length > 0 ? error(`${errors.length} errors: ${text}`, help) : warning(text, help);
}

export const deploymentChecks: readonly Check[] = [
  check(
    'deployed Bots',
    ({ dryRun }) => dryRun(),
    (lines) => assessDryRun(lines, isBot),
  ),
  check(
    'profiles, policies',
    ({ dryRun }) => dryRun(),
    (lines) => assessDryRun(lines, (subject) => !isBot(subject)),
  ),
  check('internal Subscriptions', readSubscriptions, assessSubscriptions),
  check('all Subscriptions', countSubscriptions, assessSubscriptionCount),
  check('consistency', ({ medplum, config }) => findInconsistencies(medplum, config), assessConsistency),
];
