import type { Meta } from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';

/** Reference to the client with which the gateway writes where it runs Bots itself; `undefined` if there is none. */
export function gatewayAuthor({ gatewayClient }: BookingConfig): string | undefined {
  return gatewayClient && `ClientApplication/${gatewayClient}`;
}

/**
 * Whether the service itself has written a version: one of its Bots in Medplum, or the gateway that runs them.
 *
 * @param meta - of the version; with `author`, which Medplum shows in extended mode only
 */
export function isByService(meta: Meta | undefined, config: BookingConfig): boolean {
  const author = meta?.author?.reference;
  return author !== undefined && (author.startsWith('Bot/') || author === gatewayAuthor(config));
}
