import type { FastifyPluginAsync } from 'fastify';
import { assistants } from '../../apps/assistants/server.ts';
import { frontDesk } from '../../apps/front-desk/server.ts';
import { FRONT_DESK_PATH } from '../../apps/front-desk/settings.ts';
import type { PortalOptions } from '../../apps/portal/portal.ts';
import { clinicPage } from '../../apps/portal/preview.ts';
import { portal } from '../../apps/portal/server.ts';
import { type BookingConfig, messageLanguages } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { topicUrl } from '../../core/notifications/subscription/topics.ts';
import { interfaceFor } from '../../gateway/admission/admission.ts';
import { nameOf } from '../../gateway/medplum/current-profile.ts';
import type { CredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { assetsOf, WEB_OUTPUT } from '../../packages/web/assets.ts';
import { extensionUrls } from '../../packages/web/refusal.ts';
import { isAddress } from './settings.ts';
import { type Application, web } from './web.ts';

interface PortalSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clinic: string;
  readonly linkSecret?: string | undefined;
  readonly notificationsUrl?: string | undefined;
  readonly bookingsPerHour?: number | undefined;
  readonly embeddedIn?: readonly string[] | undefined;
  readonly isPublished?: boolean | undefined;
}

function portalOptions(config: BookingConfig, settings: PortalSettings): PortalOptions {
  const { baseUrl, timeZone } = config;
  return {
    ...settings,
    baseUrl,
    origin: new URL(baseUrl).origin,
    path: '/portal',
    timeZone,
    extensions: extensionUrls(config),
    messages: config.messages.from === undefined ? undefined : artefactUri(config, 'LocalMessages'),
    topic: topicUrl('appointment-update', config),
    assets: assetsOf(WEB_OUTPUT, 'portal'),
  };
}

function portalApplication(config: BookingConfig, settings: PortalSettings): Application {
  const options = portalOptions(config, settings);
  return {
    path: `${options.path}/`,
    title: { en: 'Book an appointment', de: 'Termin buchen' },
    description: { en: 'For patients', de: 'Für Patientinnen und Patienten' },
    plugin: portal(options),
  };
}

interface FrontDeskSettings {
  /** Id of the ClientApplication of the page (`npm run front-desk`). */
  readonly clientId: string;
  /** Address of Medplum as browsers reach it, with a trailing slash. */
  readonly medplumUrl: string;
  /** The day that the start page links to; default: today. */
  readonly day?: string | undefined;
}

function frontDeskApplication(
  config: BookingConfig,
  { day, ...settings }: FrontDeskSettings,
  portalSettings?: PortalSettings,
): Application {
  const assets = assetsOf(WEB_OUTPUT, 'front-desk');
  return {
    path: `${FRONT_DESK_PATH}/`,
    ...(day && { opens: `calendar?date=${day}` }),
    title: { en: 'Front desk', de: 'Rezeption' },
    description: { en: 'For the staff of the clinic', de: 'Für das Personal der Klinik' },
    plugin: frontDesk({
      ...settings,
      config,
      assets,
      clinicPage: portalSettings && clinicPage(portalOptions(config, portalSettings)),
    }),
  };
}

interface AssistantSettings {
  /** Keys of time tokens: the first key seals, all keys open. */
  readonly keys: CredentialKeys;
  readonly callsPerMinute: number | undefined;
}

/** The tools of assistants: clients whose tokens the gateway has verified. */
function assistantTools(config: BookingConfig, { keys, callsPerMinute }: AssistantSettings): FastifyPluginAsync {
  const { baseUrl, timeZone } = config;
  const [newest] = keys;
  return assistants({
    baseUrl,
    timeZone,
    languages: messageLanguages,
    extensions: extensionUrls(config),
    messages: artefactUri(config, 'LocalMessages'),
    callsPerMinute,
    clientOf: (request) => ({ name: request.caller ? nameOf(request.caller) : '', fetch: interfaceFor(request) }),
    seal: {
      seal: (text, owner) => `${newest.id}.${newest.offers.seal(text, owner)}`,
      open: (sealed, owner) => {
        const [id, content = ''] = sealed.split('.');
        return keys.find((key) => key.id === id)?.offers.open(content, owner);
      },
    },
  });
}

/** Settings of the applications. An application without settings is not served. */
interface PageSettings {
  readonly assistants?: AssistantSettings | undefined;
  readonly portal?: PortalSettings | undefined;
  readonly frontDesk?: FrontDeskSettings | undefined;
  readonly further?: readonly Application[];
}

/** The routes next to the interface: the tools of assistants, the start page, and the applications. */
export function pagesFor(config: BookingConfig, settings: PageSettings): FastifyPluginAsync {
  const applications = [
    ...(settings.portal ? [portalApplication(config, settings.portal)] : []),
    ...(settings.frontDesk ? [frontDeskApplication(config, settings.frontDesk, settings.portal)] : []),
    ...(settings.further ?? []),
  ];
  return async (app) => {
    if (settings.assistants) {
      await app.register(assistantTools(config, settings.assistants));
    }
    if (applications.length > 0) {
      await app.register(web({ applications, baseUrl: config.baseUrl }));
    }
  };
}

/**
 * The sign-in at the front desk, from `DESK_CLIENT_ID` and `DESK_MEDPLUM_URL`. Without the first there is no front
 * desk.
 *
 * @param medplumBaseUrl - the gateway's address of Medplum, the default for browsers
 * @throws Error that names the invalid setting
 */
export function frontDeskFrom(
  environment: Readonly<Record<string, string | undefined>>,
  medplumBaseUrl: string,
): FrontDeskSettings | undefined {
  const { DESK_CLIENT_ID: clientId, DESK_MEDPLUM_URL: given } = environment;
  if (!clientId) {
    return undefined;
  }
  const address = given || medplumBaseUrl;
  if (!isAddress(address)) {
    throw new Error(`DESK_MEDPLUM_URL must be the address of Medplum in browsers, not ${address}.`);
  }
  return { clientId, medplumUrl: address.endsWith('/') ? address : `${address}/` };
}

/** Minimum length of the secret of links, in characters. */
const SHORTEST = 32;

/**
 * Maximum number of appointments that one address may book in an hour, from `PORTAL_BOOKINGS_PER_HOUR`.
 *
 * @throws Error if it is not a number
 */
export function bookingsPerHourFrom(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const { PORTAL_BOOKINGS_PER_HOUR: given } = environment;
  if (given && !/^[1-9]\d{0,6}$/.test(given)) {
    throw new Error(`PORTAL_BOOKINGS_PER_HOUR must be a whole number from 1 on, not ${given}.`);
  }
  return given ? Number(given) : undefined;
}

/**
 * The sites that may show the portal in a frame, from `PORTAL_EMBEDDED_IN`, separated by spaces.
 *
 * @throws Error if one is not an origin that browsers consider safe
 */
export function embeddedInFrom({
  PORTAL_EMBEDDED_IN: given = '',
}: Readonly<Record<string, string | undefined>>): string[] {
  const origins = given.split(/\s+/).filter((one) => one !== '');
  const isOrigin = (one: string): boolean =>
    /^(https:|http:\/\/(localhost|127\.0\.0\.1)(:|$))/.test(one) && URL.canParse(one) && new URL(one).origin === one;
  const wrong = origins.find((one) => !isOrigin(one));
  if (wrong !== undefined) {
    throw new Error(`PORTAL_EMBEDDED_IN must hold origins such as https://www.clinic.example, not ${wrong}.`);
  }
  return origins;
}

/**
 * The portal's client, from `PORTAL_CLIENT_ID`, `PORTAL_CLIENT_SECRET`, `PORTAL_CLINIC`, `PORTAL_LINK_SECRET`,
 * `PORTAL_NOTIFICATIONS_URL`, `PORTAL_BOOKINGS_PER_HOUR`, `PORTAL_EMBEDDED_IN` and `PORTAL_PUBLISHED`. Without the
 * first there is no portal.
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
  const notificationsUrl = environment.PORTAL_NOTIFICATIONS_URL || undefined;
  if (notificationsUrl !== undefined && !isAddress(notificationsUrl)) {
    throw new Error(
      `PORTAL_NOTIFICATIONS_URL must be the address of the portal's /notifications as Medplum reaches it, not ${notificationsUrl}.`,
    );
  }
  const bookingsPerHour = bookingsPerHourFrom(environment);
  const embeddedIn = embeddedInFrom(environment);
  const isPublished = environment.PORTAL_PUBLISHED === 'true';
  return { clientId, clientSecret, clinic, linkSecret, notificationsUrl, bookingsPerHour, embeddedIn, isPublished };
}
