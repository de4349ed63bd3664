import type { BookingConfig } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { giveToBots } from '../lib/bot-config.ts';

/**
 * The installation whose Bots a test runs from their sources. The bundler puts it into those that are deployed; here the
 * import of this file does, which must come before that of a Bot.
 */
export const config = giveToBots(
  resolveConfig({
    baseUrl: 'https://booking.example.org/fhir/R4',
    // The endpoints of the tests. The name localhost leads to ::1, too, which is not allowed.
    notifications: { allowedNetworks: ['127.0.0.0/8'] },
  }),
);

const own = { ...config };
const changed: Partial<BookingConfig>[] = [];

const apply = (): unknown => Object.assign(config, { gatewayClient: undefined }, own, ...changed);

/**
 * Calls something in an installation that is configured otherwise; of calls that overlap the latest counts. What Bots
 * compute while they are loaded stays as it is.
 */
export async function configured<T>(changes: Partial<BookingConfig>, act: () => Promise<T>): Promise<T> {
  changed.push(changes);
  apply();
  try {
    return await act();
  } finally {
    changed.splice(changed.indexOf(changes), 1);
    apply();
  }
}
