import { z } from 'zod';
import { type HttpAnswer, parseJson, requesterFor } from '../medplum/http.ts';
import { type Check, check, error, type Installation, ok, type Verdict, warning } from './check.ts';

/** What the gateway says about itself. */
interface GatewayState {
  /** Address at which it was called. */
  readonly calledAt: string;
  /** Status of `/readyz`, which says whether it reaches Medplum; undefined: no answer at all. */
  readonly ready: number | undefined;
  /** Address that its CapabilityStatement names. */
  readonly address: string | undefined;
}

/** The gateway must reach Medplum, and must be configured like the Bots. */
function assessGateway(state: GatewayState | undefined, { config }: { config: { readonly baseUrl: string } }): Verdict {
  if (!state) {
    return warning('not checked', 'Give its address: --gateway-url, or GATEWAY_URL in the environment.');
  }
  if (state.ready === undefined) {
    return error(`no response from ${state.calledAt}`, 'Start it: npm run gateway, with MEDPLUM_BASE_URL set.');
  }
  if (state.ready !== 200) {
    return error(`runs, but cannot reach Medplum (${state.ready})`, 'Check MEDPLUM_BASE_URL of the gateway.');
  }
  return state.address === config.baseUrl
    ? ok(`ready; its address is ${state.address}`)
    : error(
        `its address is ${state.address}, but the configuration here says ${config.baseUrl}`,
        'Give the gateway the same booking.config.json as the deployment (BOOKING_CONFIG), and start it again.',
      );
}

const metadataSchema = z.object({ implementation: z.object({ url: z.string() }) });

function addressIn({ text }: HttpAnswer): string | undefined {
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
  return { calledAt: gatewayUrl, ready: ready?.status, address: metadata && addressIn(metadata) };
}

/** What portals reach. */
export const gatewayChecks: readonly Check[] = [check('gateway', readGateway, assessGateway)];
