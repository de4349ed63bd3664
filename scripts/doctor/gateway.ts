import type { ProjectMembership } from '@medplum/fhirtypes';
import { z } from 'zod';
import type { BookingConfig } from '../../core/config/config.ts';
import { parseJson } from '../../core/fhir/resource.ts';
import { findGatewayClient } from '../deploy/gateway-client.ts';
import { type HttpResponse, requesterFor } from '../medplum/http.ts';
import { membershipOf } from '../medplum/membership.ts';
import { type Check, check, type DoctorResult, error, type Installation, ok, warning } from './check.ts';

interface GatewayState {
  /** Address of the call. */
  readonly calledAt: string;
  /** Status of `/readyz`, which shows whether it reaches Medplum; `undefined`: no response. */
  readonly ready: number | undefined;
  readonly bots: string | undefined;
  /** Address in its CapabilityStatement. */
  readonly address: string | undefined;
}

/** The gateway must reach Medplum, and have the configuration of the Bots. */
function assessGateway(
  state: GatewayState | undefined,
  { config }: { config: Pick<BookingConfig, 'baseUrl' | 'bots'> },
): DoctorResult {
  if (!state) {
    return warning('not checked', 'Give its address: --gateway-url, or GATEWAY_URL in the environment.');
  }
  if (state.ready === 404 || state.ready === 403) {
    return error(
      `${state.calledAt} does not show its state (${state.ready})`,
      "Give the gateway's own address: a proxy keeps /readyz to itself.",
    );
  }
  if (state.ready !== 200 && state.ready !== 503) {
    const status = state.ready === undefined ? '' : ` but ${state.ready}`;
    return error(
      `no response from ${state.calledAt}${status}`,
      'Start it: npm run gateway, with MEDPLUM_BASE_URL set.',
    );
  }
  if (state.ready === 503) {
    return error(`runs, but cannot reach Medplum (${state.ready})`, 'Check MEDPLUM_BASE_URL of the gateway.');
  }
  const same = 'Give the gateway the same booking.config.json as the deployment (BOOKING_CONFIG), and start it again.';
  if (state.address !== config.baseUrl) {
    return error(`its address is ${state.address}, but the configuration here says ${config.baseUrl}`, same);
  }
  return state.bots === config.bots
    ? ok(`ready; its address is ${state.address}; the Bots that it calls run in ${state.bots}`)
    : error(`it runs Bots in ${state.bots ?? 'medplum'}, but the configuration here says ${config.bots}`, same);
}

const readySchema = z.object({ bots: z.string() });

const metadataSchema = z.object({ implementation: z.object({ url: z.string() }) });

function addressIn({ text }: HttpResponse): string | undefined {
  return metadataSchema.safeParse(parseJson(text)).data?.implementation.url;
}

async function readGateway({ gatewayUrl, config }: Installation): Promise<GatewayState | undefined> {
  if (!gatewayUrl) {
    return undefined;
  }
  const gateway = requesterFor(gatewayUrl);
  const [ready, metadata] = await Promise.all([
    gateway('readyz').catch(() => undefined),
    gateway(`${new URL(config.baseUrl).pathname.replace(/^\//, '')}/metadata`).catch(() => undefined),
  ]);
  const bots = ready && readySchema.safeParse(parseJson(ready.text)).data?.bots;
  return { calledAt: gatewayUrl, ready: ready?.status, bots, address: metadata && addressIn(metadata) };
}

interface GatewayClientState {
  readonly isThere: boolean;
  /** Its membership in the project; without one it has no access. */
  readonly membership: Pick<ProjectMembership, 'admin'> | undefined;
}

/** The client must have the rights of the Bots, or none if Medplum runs them. */
export function assessGatewayClient(
  { isThere, membership }: GatewayClientState,
  { config: { bots } }: { config: Pick<BookingConfig, 'bots'> },
): DoctorResult {
  if (bots === 'medplum') {
    return membership ? error('has access, although Medplum runs the Bots', 'npm run deploy') : ok('not needed');
  }
  if (!isThere || !membership) {
    return error(isThere ? 'has no access' : 'missing', 'npm run deploy, then npm run gateway:client -- rotate');
  }
  return membership.admin
    ? error('is an administrator of the project', 'Set admin to false on its ProjectMembership.')
    : ok('has the rights of the Bots');
}

async function readGatewayClient({ medplum, me }: Installation): Promise<GatewayClientState> {
  const client = await findGatewayClient({ medplum, projectId: me.project.id });
  const membership = client && (await membershipOf({ medplum }, `ClientApplication/${client.id}`));
  return { isThere: client !== undefined, membership };
}

export const gatewayChecks: readonly Check[] = [
  check('gateway', readGateway, assessGateway),
  check('client of the gateway', readGatewayClient, assessGatewayClient),
];
