import type { ResourceType } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';

/** Where the Bots that are called through the gateway run: in Medplum, or in the gateway itself. */
export type BotRuntimeName = 'medplum' | 'gateway';

/** What runs the Bots that run in Medplum, by the name that Medplum gives it (`Bot.runtimeVersion`). */
type MedplumRuntime = 'vmcontext' | 'awslambda';

/** What becomes of search parameters that the service does not know: refused, or ignored and named in the answer. */
export type SearchHandling = 'strict' | 'lenient';

/**
 * Everything an installation decides, as read from `booking.config.json` (see docs/configuration.md).
 * The first six are the placeholders of the specification.
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
  /** Base address of the service's own artefacts, without a trailing slash: never under another publisher's address. */
  readonly localBase: string;
  /** What the CapabilityStatement claims to implement: canonical URIs of a publisher's CapabilityStatements. */
  readonly instantiates: readonly string[];
  /** Profiles of a publisher that resources conform to, by type, where the service has no profile of its own. */
  readonly supportedProfiles: Readonly<Partial<Record<ResourceType, string>>>;
  /** A publisher's definitions of search parameters that FHIR R4 does not define: canonical URIs by `Type.parameter`. */
  readonly searchDefinitions: Readonly<Partial<Record<string, string>>>;
  /** What a publisher's profile of Appointment demands beyond the specification; absent where it is the project's own. */
  readonly appointmentRules?: AppointmentRules;
  /** Likewise what every patient must have in order to claim the publisher's profile. */
  readonly patientRules?: PatientRules;
  /** How searches with unknown parameters are answered if the client does not say (`Prefer: handling=…`). */
  readonly handling: SearchHandling;
  /** How long Medplum may take to answer a request of the gateway, in seconds; all other limits follow from it. */
  readonly timeout: number;
  /** Where the Bots that are called through the gateway run. Medplum runs all others. */
  readonly bots: BotRuntimeName;
  /** What runs the Bots that run in Medplum. */
  readonly botRuntime: MedplumRuntime;
  /**
   * Id of the ClientApplication with which the gateway writes where it runs Bots itself: what it has written counts as
   * written by the service. The deployment looks it up, and the gateway knows it as its own; it is not in any file.
   */
  readonly gatewayClient?: string | undefined;
  readonly holds: HoldSettings;
  readonly requestors: RequestorSettings;
  readonly notifications: NotificationSettings;
  readonly messages: MessageSettings;
}

/** What an installation decides about holds. */
interface HoldSettings {
  /** How many holds one requestor may have at the same time; at least 1. */
  readonly maxPerRequestor: number;
}

/** How much one requestor may take up, whatever the booking policies of schedules say. */
interface RequestorSettings {
  /** How many open appointments in the future it may have; at least 1. */
  readonly maxOpenAppointments: number;
  /** How many appointments it may book, hold or change in a minute, and how many jobs may wait; at least 1. */
  readonly maxBookingsPerMinute: number;
}

/** The languages of messages; `de-simple` is plain German. */
export const messageLanguages = ['en', 'de', 'de-simple', 'tr', 'ar', 'uk', 'ru'] as const;

/** A language of messages. */
export type MessageLanguage = (typeof messageLanguages)[number];

/** What an installation decides about messages to people. */
export interface MessageSettings {
  /**
   * From whom they come: an e-mail address, with the name of the clinic before it (`Clinic <appointments@clinic.example>`).
   * Without it there are no messages.
   */
  readonly from?: string | undefined;
  /** Where patients reach the portal, without a trailing slash; without it messages have no links. */
  readonly page?: string | undefined;
  /** The language of people who are not known to prefer another one. */
  readonly language: MessageLanguage;
  /** Whether messages say what an appointment is for, with whom and in which department. */
  readonly details: boolean;
  /** How the telephone numbers begin to which SMS are sent; anybody can give any number. */
  readonly smsPrefixes: readonly string[];
  /** How many SMS a day one portal can bring about. */
  readonly smsPerPortalAndDay: number;
}

/** What an installation decides about the delivery of notifications. */
export interface NotificationSettings {
  /**
   * Networks (CIDR, for example `10.1.0.0/16`) that notifications may go to although they are not public; there, and
   * only there, without TLS too.
   */
  readonly allowedNetworks: readonly string[];
  /** How often one notification is tried before the Subscription is given up. */
  readonly maxAttempts: number;
  /**
   * How long to wait after the first failed attempt, in seconds; the wait doubles with each further one, up to 8 hours.
   */
  readonly retryAfter: number;
  /** How many Subscriptions one subscriber may have, not counting those that are over. */
  readonly maxSubscriptions: number;
  /** How many days delivered events are kept, for `$events`. */
  readonly keepEventsDays: number;
}

/** Code of the tag that marks resources which originate outside the repository (specification 2.1). */
export const EXTERNAL_TAG = 'external';

/** Codings that a publisher's profile demands of every specialty, or allows once: those from some code systems. */
export interface CodingSlice {
  readonly systems: readonly string[];
  readonly isRequired: boolean;
}

/** What a publisher's profile of Appointment demands beyond the specification. */
export interface AppointmentRules {
  /** Whether an appointment must name a service type. */
  readonly needsServiceType: boolean;
  /** Whether every participant must be named in `actor.display`. */
  readonly needsDisplay: boolean;
  /** Whether a service type may be given in words alone. */
  readonly allowsText: boolean;
  /** How every specialty is coded: of each slice one coding at most. Schedules and their services follow it, too. */
  readonly specialty: readonly CodingSlice[];
  /** Extensions of the appointment whose value is a reference. */
  readonly referenceExtensions: readonly string[];
  /** The code system of priorities. */
  readonly prioritySystem: string;
  /** The reasons for a cancellation. */
  readonly cancelationReason: { readonly system: string; readonly codes: readonly string[] };
}

/** A kind of identifier, by its type: what each of that type must have. */
export interface IdentifierSlice {
  readonly type: { readonly system: string; readonly code: string };
  /** Whether a patient has one at least, and may have several; else it has one at most. */
  readonly isRequired?: true;
  /** Its only system. */
  readonly system?: string;
  /** Its only use, if it says one. */
  readonly use?: string;
  /** If its system is seldom known: who has assigned it must be named, and can have a number of this system and type. */
  readonly assigner?: Required<Pick<IdentifierSlice, 'type' | 'system'>>;
}

/** What a publisher's profile of Patient demands of every patient, besides what those of names and addresses do. */
export interface PatientRules {
  readonly identifiers: readonly IdentifierSlice[];
  /** The extension that says more about the gender `other`, and its codes. */
  readonly officialGender: { readonly url: string; readonly system: string; readonly codes: readonly string[] };
}
