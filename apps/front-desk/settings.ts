import type { PublicConfig } from '../../core/fhir/artefacts.ts';

/** The route of the front desk. */
export const FRONT_DESK_PATH = '/front-desk';

/** The redirect URI for Medplum's sign-in. */
export function signedInAddress(origin: string): string {
  return `${origin}${FRONT_DESK_PATH}/signed-in`;
}

/** The settings that the page is served with. */
export interface DeskSettings {
  /** URL of Medplum for browsers, with a trailing slash. */
  readonly medplumUrl: string;
  /** Id of the ClientApplication for the sign-in. */
  readonly clientId: string;
  readonly hasPortal: boolean;
  readonly config: PublicConfig;
}

/** The part of a configuration that browsers may know. */
export function publicConfig(config: PublicConfig): PublicConfig {
  const { baseUrl, uris, metaTagSystem, timeZone, calendar, confirmation, smallestBooking } = config;
  return { baseUrl, uris, metaTagSystem, timeZone, calendar, confirmation, smallestBooking };
}
