import type { FastifyPluginAsync } from 'fastify';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { portal } from '../../web/portal/server.ts';
import { assetsOf, WEB_OUTPUT } from '../../web/server/assets.ts';
import { type Application, web } from '../../web/web.ts';

/** The client that the portal is at the clinic, and what patients read. */
export interface PortalSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clinic: string;
  readonly linkSecret?: string | undefined;
}

/** The portal for patients in front of this service. */
export function portalApplication(config: BookingConfig, settings: PortalSettings): Application {
  const { baseUrl, timeZone } = config;
  const path = '/portal';
  return {
    path: `${path}/`,
    title: { en: 'Book an appointment', de: 'Termin buchen' },
    description: { en: 'For patients', de: 'Für Patientinnen und Patienten' },
    plugin: portal({
      ...settings,
      baseUrl,
      origin: new URL(baseUrl).origin,
      path,
      timeZone,
      extensions: {
        heldUntil: artefactUri(config, 'LocalHeldUntil'),
        alternative: artefactUri(config, 'LocalAlternative'),
        confirmation: artefactUri(config, 'LocalConfirmation'),
      },
      assets: assetsOf(WEB_OUTPUT, 'portal'),
    }),
  };
}

/** The pages that are served beside the interface: the start page, and the applications. */
export function pagesFor(config: BookingConfig, settings: PortalSettings): FastifyPluginAsync {
  return web({ applications: [portalApplication(config, settings)], baseUrl: config.baseUrl });
}

/** The shortest secret that links may be sealed with, in characters. */
const SHORTEST = 32;

/**
 * The client that the portal is, from `PORTAL_CLIENT_ID`, `PORTAL_CLIENT_SECRET`, `PORTAL_CLINIC` and `PORTAL_LINK_SECRET`;
 * without the first there is no portal.
 *
 * @throws Error saying what is missing
 */
export function portalFrom(environment: Readonly<Record<string, string | undefined>>): PortalSettings | undefined {
  const { PORTAL_CLIENT_ID: clientId, PORTAL_CLIENT_SECRET: clientSecret, PORTAL_CLINIC: clinic } = environment;
  const linkSecret = environment.PORTAL_LINK_SECRET || undefined;
  if (!clientId) {
    return undefined;
  }
  if (!clientSecret || !clinic) {
    throw new Error(
      'With PORTAL_CLIENT_ID, set PORTAL_CLIENT_SECRET and PORTAL_CLINIC, the name that patients read, too.',
    );
  }
  if (linkSecret !== undefined && linkSecret.length < SHORTEST) {
    throw new Error(`PORTAL_LINK_SECRET must have at least ${SHORTEST} characters.`);
  }
  return { clientId, clientSecret, clinic, linkSecret };
}
