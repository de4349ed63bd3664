import { randomUUID } from 'node:crypto';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { parseJson } from '../../core/fhir/resource.ts';
import { fixedLimits } from '../../gateway/limits.ts';
import type { HttpResponse } from '../medplum/http.ts';
import { isTooOld, tooOld, versionIn } from '../medplum/version.ts';
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

/** Tested versions of Medplum, by their beginning. */
const triedVersions = {
  '5.1': 'a real server 5.1.23',
  '5.2': 'the packages 5.2.13, in the embedded Medplum',
} as const;

/** Assesses a version of Medplum; `undefined`: the server does not publish it. */
export function assessVersion(version: string | undefined): DoctorResult {
  if (isTooOld(version)) {
    return error(`Medplum ${version}`, tooOld(version));
  }
  const tried = Object.entries(triedVersions).find(([start]) => version?.startsWith(`${start}.`));
  const list = Object.values(triedVersions).join(', ');
  return tried
    ? ok(`Medplum ${version}; tested with ${tried[1]}`)
    : warning(`Medplum ${version ?? 'of unknown version'}`, `The service was tested with ${list}.`);
}

async function readVersion({ request }: Installation): Promise<string | undefined> {
  const { text } = await request('healthcheck');
  return versionIn(parseJson(text));
}

interface Remains {
  readonly status: number;
  /** Number of resources stored despite the error. */
  readonly left: number;
}

/** A failed transaction must leave nothing behind. */
export function assessTransaction({ status, left }: Remains): DoctorResult {
  if (left > 0) {
    return error(
      'a failed transaction was partly stored (its remains were deleted)',
      "Add the feature transaction-bundles to the project (a super administrator, in the app's Project page).",
    );
  }
  return status === 404
    ? ok('a failed transaction leaves nothing behind')
    : warning(
        `the test transaction was answered with ${status} instead of 404`,
        'Check the rights of these credentials on Basic.',
      );
}

const PROBE = 'urn:appointment-booking:doctor';

/** Stored resources are deleted. */
async function tryTransaction(installation: Installation): Promise<Remains> {
  const value = randomUUID();
  const { status } = await validateWithoutEffect(installation, {
    resourceType: 'Basic',
    identifier: [{ system: PROBE, value }],
    code: { text: 'Left over from a check by npm run doctor: delete it' },
  });
  const { medplum } = installation;
  const left = await medplum.searchResources('Basic', { identifier: `${PROBE}|${value}` });
  for (const { id } of left) {
    await medplum.deleteResource('Basic', id);
  }
  return { status, left: left.length };
}

/** A call with an invalid body shows whether Bots run at all. */
export function assessBot({ status, text }: Pick<HttpResponse, 'status' | 'text'>): DoctorResult {
  if (text.includes('malformed-request')) {
    return ok('the Bot book runs and rejects malformed requests');
  }
  if (/vm ?context/i.test(text)) {
    return error(
      'the server runs no Bots in its VM context',
      'Set vmContextBotsEnabled (MEDPLUM_VM_CONTEXT_BOTS_ENABLED=true) in the configuration of the server, or "botRuntime": "awslambda" in booking.config.json.',
    );
  }
  return status === 404
    ? error('the Bot book is not deployed', 'npm run deploy')
    : error(
        `the Bot book does not run (${status}): ${text.slice(0, 200)}`,
        "Look at the log of the Bot. If its code was lost: npm run build, npx medplum bot deploy '*'",
      );
}

async function callBot({ request, config }: Installation): Promise<HttpResponse> {
  const identifier = encodeURIComponent(`${artefactUri(config, 'LocalBot')}|book`);
  return request(`fhir/R4/Bot/$execute?identifier=${identifier}`, '{"resourceType":"Parameters"}');
}

const mebibytes = (bytes: number): string => `${Math.round((bytes / 1024 / 1024) * 10) / 10} MB`;

/** Bodies that the gateway accepts may become longer, as JSON within JSON. */
const needed = 2 * fixedLimits.bodyBytes - 1024;

/** Whether the server accepts the gateway's largest bodies. */
export function assessBodySize(status: number | undefined): DoctorResult {
  const size = mebibytes(needed);
  return status === 413 || status === undefined
    ? warning(
        `the server refuses bodies of ${size}, which the gateway may send`,
        `Set maxJsonSize to "2mb" in the server's configuration, or bookings with long answers are refused (413).`,
      )
    : ok(`bodies of ${size} are accepted`);
}

/** Without a token, the request reaches the limit and nothing else. */
async function sendLargeBody({ requestAnonymously }: Installation): Promise<number | undefined> {
  const body = JSON.stringify({ resourceType: 'Basic', id: 'x'.repeat(needed - 64) });
  return requestAnonymously('fhir/R4/Basic', body).then(
    ({ status }) => status,
    () => undefined,
  );
}

export const serverChecks: readonly Check[] = [
  check('Medplum version', readVersion, assessVersion),
  check('transactions', tryTransaction, assessTransaction),
  check('Bots run', callBot, assessBot),
  check('body size', sendLargeBody, assessBodySize),
];
