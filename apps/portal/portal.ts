import type { Organization, Practitioner, Questionnaire } from '@medplum/fhirtypes';
import type { Assets } from '../../packages/web/assets.ts';
import { listOf } from '../../packages/web/elements.ts';
import type { ExtensionUrls } from '../../packages/web/refusal.ts';
import { type Clinic, logoOf } from './clinic/clinic.ts';
import { type Doctor, readDoctors } from './clinic/doctors.ts';
import { type Picture, pictureIn } from './clinic/pictures.ts';
import { type BookableService, type Catalogue, readServices } from './clinic/services.ts';
import { type BookingService, bookingService, isRefusal, type Refusal, resourcesIn } from './fhir/client.ts';
import { visitorLimits } from './http/limits.ts';
import { createSeal, notificationSecret, type Seal, sealKey } from './session/seal.ts';
import { createSessions } from './session/session.ts';
import { createVisitorQuotas, type VisitorQuotas } from './session/visitor-quotas.ts';
import { createUpdates, type PortalUpdates } from './updates/updates.ts';

/** The configuration of a portal. */
export interface PortalOptions {
  /** FHIR base URL of the clinic's booking service. */
  readonly baseUrl: string;
  /** The client that the clinic has registered for the portal. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Origin of the portal for browsers, without a trailing slash, for example `https://portal.example.org`. */
  readonly origin: string;
  /** Path of the portal's pages below the origin, for example `/portal`. */
  readonly path: string;
  readonly clinic: string;
  /** IANA name. */
  readonly timeZone: string;
  /** URLs of the service's extensions, from the clinic's metadata. */
  readonly extensions: ExtensionUrls;
  /** URL of the service's SubscriptionTopic `appointment-update`, from the clinic's metadata. */
  readonly topic: string;
  /** Endpoint of notifications; default: `{origin}{path}/notifications`. Each server needs its own to receive all. */
  readonly notificationsUrl?: string | undefined;
  /** URL of the extension with which a booking leaves a message to the clinic, if the clinic accepts messages. */
  readonly messages?: string | undefined;
  /** Origins of the clinic's sites that may show the portal in a frame; default: none. */
  readonly embeddedIn?: readonly string[] | undefined;
  /** Whether the bookable slots are published as files (`$bulk-publish`), for directories of clinics. */
  readonly isPublished?: boolean | undefined;
  readonly assets: Assets;
  /** Secret that seals links and sessions, at least 32 characters; default: the client secret. */
  readonly linkSecret?: string | undefined;
  /** Requests from one address in a minute, and forms among them; defaults: `visitorLimits` times `bookingsPerHour`. */
  readonly requestsPerMinute?: number;
  readonly changesPerMinute?: number;
  /** Bookings and moves from one address in an hour, and its holds at the same time; default: 12. */
  readonly bookingsPerHour?: number | undefined;
  /** Returns the current time in milliseconds since 1970 UTC; default: the system clock. */
  readonly now?: () => number;
}

/** The state and services that all pages of the portal share. */
export interface Portal {
  readonly options: PortalOptions;
  readonly service: BookingService;
  readonly seal: Seal;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly updates: PortalUpdates;
  readonly shares: VisitorQuotas;
  /** The bearer token of notifications from the booking service. */
  readonly notificationSecret: string;
  readonly now: () => number;
  /** Cached; an unknown `key` shortens the cache's lifetime, as the service may be new. */
  readonly services: (key?: string, language?: string) => Promise<readonly BookableService[] | Refusal>;
  /** The practitioners of a service's Schedules, by actor; `client` reads the people that are not cached. */
  readonly doctors: (service: BookableService, client: BookingService) => Promise<ReadonlyMap<string, Doctor>>;
  /** The picture of a person, or the logo of the clinic; `undefined` if there is none of this version. */
  readonly picture: (
    type: 'Practitioner' | 'Organization',
    id: string,
    version: string,
    client: BookingService,
  ) => Promise<Picture | undefined>;
  /** The clinic; elements that its Organization lacks are `undefined`. */
  readonly clinic: () => Promise<Partial<Clinic> & Pick<Clinic, 'phone'> & { readonly name: string }>;
  readonly questionnaire: (service: BookableService) => Promise<Questionnaire | undefined | Refusal>;
}

/** Cache lifetimes, in milliseconds. A service in more than MANY Schedules takes long to read. */
const KEEP = 5_000;
const KEEP_LONGER = 60_000;
const MANY = 500;

const MAX_REMEMBERED = 200;

/** Caches results for `keep` milliseconds, or a fifth of it if the caller misses something; never failures. */
function remember<T, K extends { readonly key: string }>(
  read: (about: K) => Promise<T>,
  isGood: (value: T) => boolean,
  now: () => number,
  keep: (value: T) => number = () => KEEP,
) {
  const known = new Map<string, { readonly end: number; readonly young: number; readonly value: Promise<T> }>();
  return async (about: K, isMissed = false): Promise<T> => {
    const { key } = about;
    const found = known.get(key);
    if (found && now() < (isMissed ? found.young : found.end)) {
      return found.value;
    }
    const value = read(about);
    const entry = { end: Number.POSITIVE_INFINITY, young: Number.POSITIVE_INFINITY, value };
    known.set(key, entry);
    const kept = await value.then(
      (found) => (isGood(found) ? keep(found) : undefined),
      () => undefined,
    );
    if (kept === undefined) {
      known.delete(key);
    } else {
      entry.end = now() + kept;
      entry.young = now() + kept / 5;
      if (known.size > MAX_REMEMBERED) {
        known.delete(known.keys().next().value ?? key);
      }
    }
    return value;
  };
}

const MAX_PICTURES = 100;

function pictures(logo: string | undefined): Portal['picture'] {
  const kept = new Map<string, Picture>();
  const pictureOf = (found: Practitioner | Organization): Picture | undefined =>
    found.resourceType === 'Practitioner' ? pictureIn(listOf(found.photo)) : logoOf(found, logo);
  return async (type, id, version, client) => {
    const key = `${type}/${id}/${version}`;
    const known = kept.get(key);
    const found = known ? undefined : await client.read(type, id);
    const picture = known ?? (found && !isRefusal(found) ? pictureOf(found) : undefined);
    if (picture?.version !== version) {
      return undefined;
    }
    kept.set(key, picture);
    const [oldest] = kept.keys();
    if (kept.size > MAX_PICTURES && oldest !== undefined) {
      kept.delete(oldest);
    }
    return picture;
  };
}

/** The newest active Questionnaire that names the service as its context. */
async function readQuestionnaire(client: BookingService, key: string): Promise<Questionnaire | undefined | Refusal> {
  const found = await client.search('Questionnaire', { context: key, status: 'active', _sort: '-date', _count: '1' });
  return isRefusal(found) ? found : resourcesIn(found, 'Questionnaire')[0];
}

/**
 * Creates a portal. The booking service is first called for the first visitor.
 *
 * @param warn - called with problems that an operator should fix
 */
export function createPortal(options: PortalOptions, warn: (problem: string) => void): Portal {
  const { now = Date.now, linkSecret, clientSecret, extensions, origin, path, topic } = options;
  const ownSecret = linkSecret ?? clientSecret;
  const secret = notificationSecret(ownSecret);
  const endpoint = options.notificationsUrl ?? `${origin}${path}/notifications`;
  const service = bookingService({ ...options, now });
  const remembered = remember(
    () => readServices(service, extensions),
    (value) => !isRefusal(value),
    now,
    (value) => (!isRefusal(value) && value.size > MANY ? KEEP_LONGER : KEEP),
  );
  let last: Catalogue | undefined;
  const services = async (wanted = '', language = ''): Promise<readonly BookableService[] | Refusal> => {
    let found = await remembered({ key: '' });
    if (wanted !== '' && !isRefusal(found) && !found.catalogue(language).services.some(({ key }) => key === wanted)) {
      found = await remembered({ key: '' }, true);
    }
    if (isRefusal(found)) {
      return found;
    }
    last = found.catalogue(language);
    return last.services;
  };
  const questionnaires = remember(
    ({ key }) => readQuestionnaire(service, key),
    (value) => value === undefined || !isRefusal(value),
    now,
  );
  const doctors = remember(
    ({ client, about }: { key: string; client: BookingService; about: BookableService }) => readDoctors(client, about),
    (found) => found.size > 0,
    now,
    () => KEEP_LONGER,
  );
  return {
    options,
    service,
    now,
    seal: createSeal(sealKey(ownSecret), now),
    sessions: createSessions(),
    updates: createUpdates(service, { endpoint, topic, secret }, now, warn),
    shares: createVisitorQuotas(options.bookingsPerHour ?? visitorLimits.bookingsPerHour, now),
    notificationSecret: secret,
    services,
    // Name and phone may be stale: the page for a service that does not respond shows them, too.
    clinic: async () => {
      await (last ?? services());
      const phone = last?.services.flatMap(({ schedules }) => schedules).find((schedule) => schedule.phone)?.phone;
      const { clinic: name } = options;
      return { ...last?.clinic, name: last?.clinic?.name ?? name, phone: last?.clinic?.phone ?? phone };
    },
    questionnaire: async (about) => (about.key === '' ? undefined : questionnaires(about)),
    picture: pictures(extensions.clinic),
    doctors: (about, client) => doctors({ key: about.key, client, about }),
  };
}
