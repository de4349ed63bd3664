import type { ResourceType } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';

/** The time limits of parts of a response, as shares of `BookingConfig.timeout`. */
const shares = {
  /** Time from the start of a request at the gateway until its headers have been read. */
  headers: 2 / 3,
  /** Time from the start of a request at the gateway until all of it has been read. */
  request: 2,
  /** A response of Medplum to the gateway, including the run of a Bot. */
  answer: 1,
  bot: 2 / 3,
  /** The repeated decisions of a Bot about a booking after conflicts with others. */
  decide: 8 / 15,
  /**
   * The limit for proposing alternatives. Their search would delay everybody where many want the same times at once.
   */
  propose: 1 / 30,
  /** A response of Medplum to a Bot. */
  exchange: 2 / 5,
  /** The wait of a request for others of the same client. */
  permitWait: 2 / 3,
  /** The wait of a booking for earlier ones of the same slot. */
  turn: 1 / 3,
} as const;

/** The longest time for headers, in milliseconds: until then, a client without a token can keep a connection open. */
const MAX_HEADERS_LENGTH = 60_000;

/** The time limits, in milliseconds, by the installation's `timeout`. */
export function timeLimits({ timeout }: Pick<BookingConfig, 'timeout'>): Readonly<Record<keyof typeof shares, number>> {
  const limits = Object.entries(shares).map(([part, share]) => [part, Math.round(timeout * 1_000 * share)]);
  const all = Object.fromEntries(limits) as Record<keyof typeof shares, number>;
  return { ...all, headers: Math.min(all.headers, MAX_HEADERS_LENGTH) };
}

/** The place where Bots that the gateway calls are run: in Medplum, or in the gateway itself. */
export type BotRuntimeName = 'medplum' | 'gateway';

/** Medplum's runtime for its Bots (`Bot.runtimeVersion`). */
type MedplumRuntime = 'vmcontext' | 'awslambda';

/** The handling of unknown search parameters: refused, or ignored and named in the response. */
export type SearchHandling = 'strict' | 'lenient';

/**
 * The settings of an installation, as in `booking.config.json` (see docs/configuration.md). The first six are the
 * placeholders of the specification.
 */
export interface BookingConfig extends PublicConfig {
  /** Base address of the profile definitions, without a trailing slash. */
  readonly profileBase: string;
  /** Code system of the codes in `CodeSystem.useContext.code`. */
  readonly contextTypeSystem: string;
  /** Code system of FHIR resource types, used in `CodeSystem.useContext.value`. */
  readonly resourceTypesSystem: string;
  /** Clinical terminology used for the priority of an appointment. */
  readonly terminologySystem: string;
  /** Base address of the service's own artefacts, without a trailing slash; never the address of another publisher. */
  readonly localBase: string;
  /** The CapabilityStatements of publishers that the service implements, as canonical URIs. */
  readonly instantiates: readonly string[];
  /** A publisher's profiles of resources for which the service has no profile of its own, by type. */
  readonly supportedProfiles: Readonly<Partial<Record<ResourceType, string>>>;
  /** A publisher's definitions of search parameters that are not in FHIR R4: canonical URIs by `Type.parameter`. */
  readonly searchDefinitions: Readonly<Partial<Record<string, string>>>;
  /** The rules of a publisher's profile of Appointment beyond the specification; absent without such a profile. */
  readonly appointmentRules?: AppointmentRules;
  /** The rules of a publisher's profile of Patient; absent without such a profile. */
  readonly patientRules?: PatientRules;
  /** The default handling of unknown search parameters, unless a client sends `Prefer: handling=…`. */
  readonly handling: SearchHandling;
  /** The longest time for a response of Medplum to the gateway, in seconds. All other limits follow from it. */
  readonly timeout: number;
  /** The place where Bots that the gateway calls are run. Medplum runs all others. */
  readonly bots: BotRuntimeName;
  readonly botRuntime: MedplumRuntime;
  /**
   * Id of the ClientApplication of a gateway that runs Bots itself. Its writes count as writes of the service. It is in
   * no file: the deployment looks it up, and the gateway knows it as its own.
   */
  readonly gatewayClient?: string | undefined;
  readonly holds: HoldSettings;
  readonly requestors: RequestorSettings;
  readonly notifications: NotificationSettings;
  readonly messages: MessageSettings;
}

interface HoldSettings {
  /** The largest number of holds of one requestor at the same time; at least 1. */
  readonly maxPerRequestor: number;
}

/** The limits of one requestor, in addition to the booking policies of Schedules. */
interface RequestorSettings {
  /** The largest number of open appointments in the future; at least 1. */
  readonly maxOpenAppointments: number;
  /** The largest number of bookings, holds and changes per minute, and of waiting jobs; at least 1. */
  readonly maxBookingsPerMinute: number;
}

/** The languages of messages; `de-simple` is plain German. */
export const messageLanguages = ['en', 'de', 'de-simple', 'tr', 'ar', 'uk', 'ru'] as const;

export type MessageLanguage = (typeof messageLanguages)[number];

export interface MessageSettings {
  /** The sender, such as `Clinic <appointments@clinic.example>`. Without it no messages are sent. */
  readonly from?: string | undefined;
  /** The address of the portal for patients, without a trailing slash; without it messages have no links. */
  readonly page?: string | undefined;
  readonly language: MessageLanguage;
  /** Whether messages contain the service, the practitioner and the location's name. */
  readonly details: boolean;
  /** The allowed prefixes of telephone numbers for SMS. They prevent abuse, since anybody can submit any number. */
  readonly smsPrefixes: readonly string[];
  readonly smsPerPortalAndDay: number;
}

export interface NotificationSettings {
  /** Networks (CIDR, such as `10.1.0.0/16`) that are allowed although they are not public; there even without TLS. */
  readonly allowedNetworks: readonly string[];
  /** The number of attempts for one notification before the Subscription is in error. */
  readonly maxAttempts: number;
  /** The wait after the first failed attempt, in seconds. It doubles with each further attempt, up to 8 hours. */
  readonly retryAfter: number;
  /** The largest number of Subscriptions of one subscriber, without those that are off. */
  readonly maxSubscriptions: number;
  /** The number of days for which events are kept for `$events`. */
  readonly keepEventsDays: number;
}

/** Code of the tag that marks resources from outside the repository (specification 2.1). */
export const EXTERNAL_TAG = 'external';

/** The code systems of one specialty coding that a publisher's profile requires, or allows at most once. */
export interface CodingSlice {
  readonly systems: readonly string[];
  readonly isRequired: boolean;
}

/** The rules of a publisher's profile of Appointment beyond the specification. */
export interface AppointmentRules {
  readonly needsServiceType: boolean;
  readonly needsDisplay: boolean;
  readonly allowsText: boolean;
  /** The codings of every specialty, at most one of each slice. They apply to Schedules and their services, too. */
  readonly specialty: readonly CodingSlice[];
  readonly referenceExtensions: readonly string[];
  readonly prioritySystem: string;
  readonly cancelationReason: { readonly system: string; readonly codes: readonly string[] };
}

export interface IdentifierSlice {
  readonly type: { readonly system: string; readonly code: string };
  /** Whether a patient must have at least one and may have several; otherwise at most one. */
  readonly isRequired?: true;
  readonly system?: string;
  readonly use?: string;
  /** For types with various systems: the assigner is required, and may have an identifier of this type and system. */
  readonly assigner?: Required<Pick<IdentifierSlice, 'type' | 'system'>>;
}

/** The rules of a publisher's profile of Patient, apart from names and addresses. */
export interface PatientRules {
  readonly identifiers: readonly IdentifierSlice[];
  /** The extension with details of the gender `other`, and its codes. */
  readonly officialGender: { readonly url: string; readonly system: string; readonly codes: readonly string[] };
}
