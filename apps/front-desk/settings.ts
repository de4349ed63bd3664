import type { PublicConfig } from '../../core/fhir/artefacts.ts';

/** Where the front desk is served. */
export const FRONT_DESK_PATH = '/front-desk';

/** Where Medplum sends people back to after they have signed in. */
export function signedInAddress(origin: string): string {
  return `${origin}${FRONT_DESK_PATH}/signed-in`;
}

/** What the page is told when it is served. */
export interface DeskSettings {
  /** Address of Medplum as browsers reach it, with a trailing slash. */
  readonly medplumUrl: string;
  /** Id of the ClientApplication by which people sign in. */
  readonly clientId: string;
  /** Whether the portal is served, too. */
  readonly hasPortal: boolean;
  readonly config: PublicConfig;
}

/** The part of a configuration that browsers may know. */
export function publicConfig(config: PublicConfig): PublicConfig {
  const { baseUrl, uris, metaTagSystem, timeZone, calendar, confirmation, smallestBooking } = config;
  return { baseUrl, uris, metaTagSystem, timeZone, calendar, confirmation, smallestBooking };
}
