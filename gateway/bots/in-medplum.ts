import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import type { Upstream } from '../medplum/client.ts';
import { isRefusal } from '../medplum/errors.ts';
import type { BotRuntime } from './runtime.ts';

/** Bots that Medplum runs: each is called with the caller's own token, by `Bot/$execute`. */
export function botsInMedplum(upstream: Upstream, config: BookingConfig): BotRuntime {
  return {
    run: async ({ name, input, headers }) => {
      const response = await upstream.call({
        method: 'POST',
        path: 'fhir/R4/Bot/$execute',
        query: new URLSearchParams({ identifier: `${artefactUri(config, 'LocalBot')}|${name}` }).toString(),
        headers: { ...headers, 'content-type': 'application/fhir+json' },
        body: JSON.stringify(input),
      });
      // The token was good a moment ago; Medplum answers 400 to one whose client has since lost its access.
      return 'status' in response && isRefusal(response) ? { status: 401, headers: {}, body: undefined } : response;
    },
    pending: () => 0,
  };
}
