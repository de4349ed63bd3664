import { ClientStorage, MedplumClient, MemoryStorage } from '@medplum/core';
import type { CallableBot } from '../../core/config/bots.ts';
import { type BookingConfig, timeLimits } from '../../core/config/config.ts';
import type { BotHandler, HostedBots } from '../../gateway/bots/in-gateway.ts';

interface GatewayCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Loads each Bot that callers start. The Bot `absence` is left out: its plans depend on secrets that only Medplum
 * provides.
 */
const sources: Readonly<Record<Exclude<CallableBot, 'absence'>, () => Promise<{ readonly handler: BotHandler }>>> = {
  book: () => import('../../bots/booking/book.ts'),
  hold: () => import('../../bots/booking/hold.ts'),
  'find-visits': () => import('../../bots/booking/find-visits.ts'),
  'join-waitlist': () => import('../../bots/booking/join-waitlist.ts'),
  'enqueue-booking': () => import('../../bots/booking/enqueue-booking.ts'),
  'cancel-booking-job': () => import('../../bots/booking/cancel-booking-job.ts'),
  patch: () => import('../../bots/booking/patch.ts'),
  'find-deleted': () => import('../../bots/booking/find-deleted.ts'),
  'write-subscription': () => import('../../bots/notifications/write-subscription.ts'),
  'calendar-feed': () => import('../../bots/calendar/calendar-feed.ts'),
  'answer-message': () => import('../../bots/messages/answer-message.ts'),
  'subscription-operations': () => import('../../bots/notifications/subscription-operations.ts'),
};

/**
 * Global variable from which the sources of the Bots read the configuration. In deployed Bots, the bundler replaces it.
 */
const PLACE = '__BOOKING_CONFIG__';

/**
 * Loads the Bots that callers start into this process.
 *
 * @param config - of the installation; a process can load the Bots of one installation only
 */
async function loadHandlers(config: BookingConfig): Promise<HostedBots['handlers']> {
  const loaded: unknown = Reflect.get(globalThis, PLACE);
  if (loaded !== undefined && JSON.stringify(loaded) !== JSON.stringify(config)) {
    throw new Error(
      'This process already runs the Bots of another configuration: start a second gateway in a process of its own.',
    );
  }
  Reflect.set(globalThis, PLACE, config);
  const entries = Object.entries(sources).map(async ([name, load]) => [name, (await load()).handler] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Milliseconds before its expiry at which a token is replaced: a running booking must still be written. */
const GRACE = 120_000;

/** Options of the login at Medplum, for a gateway that runs Bots. */
export function loginAt(
  config: BookingConfig,
  medplumBaseUrl: string,
  { clientId, clientSecret }: GatewayCredentials,
): Pick<HostedBots, 'clientFor' | 'logIn'> {
  const baseUrl = medplumBaseUrl.endsWith('/') ? medplumBaseUrl : `${medplumBaseUrl}/`;
  return {
    clientFor: (connections) =>
      Object.assign(
        new MedplumClient({
          baseUrl,
          cacheTime: 0,
          storage: new ClientStorage(new MemoryStorage()),
          // All bookings wait for a login. It is tried once, and again by the next booking.
          maxRetries: 0,
          fetch: (url, options) => fetch(url, { ...options, signal: AbortSignal.timeout(timeLimits(config).exchange) }),
        }),
        { connections },
      ),
    logIn: async (client, again) => {
      if (again || !client.isAuthenticated(GRACE)) {
        await client.startClientLogin(clientId, clientSecret);
      }
    },
  };
}

/**
 * The Bots that a gateway runs itself, for calls through the gateway. Their files are those that are deployed to
 * Medplum.
 *
 * @param medplumBaseUrl - address at which the gateway reaches Medplum
 */
export async function hostBots(
  config: BookingConfig,
  medplumBaseUrl: string,
  credentials: GatewayCredentials,
): Promise<HostedBots> {
  const handlers = await loadHandlers({ ...config, gatewayClient: credentials.clientId });
  return { handlers, ...loginAt(config, medplumBaseUrl, credentials) };
}

/**
 * The client of a gateway that runs Bots, from `BOTS_CLIENT_ID` and `BOTS_CLIENT_SECRET`; none if Medplum runs the
 * Bots.
 *
 * @throws Error saying what is missing
 */
export function gatewayCredentialsFrom(
  environment: Readonly<Record<string, string | undefined>>,
  { bots }: Pick<BookingConfig, 'bots'>,
): GatewayCredentials | undefined {
  const { BOTS_CLIENT_ID: clientId, BOTS_CLIENT_SECRET: clientSecret } = environment;
  if (bots === 'medplum') {
    return undefined;
  }
  if (!clientId || !clientSecret) {
    throw new Error(
      'The configuration says "bots": "gateway": set BOTS_CLIENT_ID and BOTS_CLIENT_SECRET, which ' +
        'npm run gateway:client -- rotate prints.',
    );
  }
  return { clientId, clientSecret };
}
