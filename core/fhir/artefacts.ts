/** How a new booking is answered: confirmed by the service at once, or by the clinic's staff later. */
export type Confirmation = 'automatic' | 'manual';

/**
 * The FHIR artefacts of the service, by the names that the specification gives them, and their kinds. An installation
 * may rename them or take over a publisher's (`BookingConfig.uris`); the code always asks for them by these keys.
 */
export const artefacts = {
  LocalTermin: 'StructureDefinition',
  LocalTerminPriorityExtension: 'StructureDefinition',
  LocalConfirmation: 'StructureDefinition',
  LocalPublishing: 'StructureDefinition',
  LocalSlotOffer: 'StructureDefinition',
  LocalReservation: 'StructureDefinition',
  LocalOverbooking: 'StructureDefinition',
  LocalBookingPolicy: 'StructureDefinition',
  LocalPortal: 'StructureDefinition',
  LocalHeldUntil: 'StructureDefinition',
  LocalHoldProlonged: 'StructureDefinition',
  LocalReplacedBy: 'StructureDefinition',
  LocalOffer: 'StructureDefinition',
  LocalPosition: 'StructureDefinition',
  LocalVisit: 'StructureDefinition',
  LocalVisitStep: 'StructureDefinition',
  LocalConfirmationDeadline: 'StructureDefinition',
  LocalSubmittedElements: 'StructureDefinition',
  LocalAlternative: 'StructureDefinition',
  LocalSchedule: 'StructureDefinition',
  LocalSlot: 'StructureDefinition',
  LocalPatient: 'StructureDefinition',
  LocalQuestionnaireResponse: 'StructureDefinition',
  LocalSubscriptionTermin: 'StructureDefinition',
  LocalOwnChanges: 'StructureDefinition',
  LocalMessages: 'StructureDefinition',
  LocalPayerKind: 'StructureDefinition',
  'appointment-update': 'SubscriptionTopic',
  'appointment-cancel': 'SubscriptionTopic',
  'appointment-offer': 'SubscriptionTopic',
  book: 'OperationDefinition',
  hold: 'OperationDefinition',
  waitlist: 'OperationDefinition',
  find: 'OperationDefinition',
  absence: 'OperationDefinition',
  deliver: 'OperationDefinition',
  answer: 'OperationDefinition',
  feed: 'OperationDefinition',
  LocalBookingError: 'CodeSystem',
  LocalServiceType: 'CodeSystem',
  LocalSpecialty: 'CodeSystem',
  LocalPayerKinds: 'CodeSystem',
  LocalContextType: 'CodeSystem',
  LocalRequestor: 'CodeSystem',
  LocalTask: 'CodeSystem',
  LocalChangedBy: 'CodeSystem',
  LocalSlotOrigin: 'NamingSystem',
  LocalPublishedSlot: 'NamingSystem',
  LocalBuffer: 'NamingSystem',
  LocalClosedDays: 'NamingSystem',
  LocalBot: 'NamingSystem',
  LocalEvent: 'NamingSystem',
  LocalErased: 'NamingSystem',
  LocalSentMessage: 'NamingSystem',
  LocalVisitGroup: 'NamingSystem',
} as const;

/** One of the project's own FHIR artefacts. */
export type Artefact = keyof typeof artefacts;

/** Whether a name is that of an artefact. */
export function isArtefact(name: string): name is Artefact {
  return Object.hasOwn(artefacts, name);
}

/** What an installation decides about the publication of opening hours. */
interface CalendarSettings {
  /** How many weeks ahead free Slots are published, for Schedules that have no planning horizon. */
  readonly horizonWeeks: number;
}

/** The part of the configuration that everybody may know, browsers too. */
export interface PublicConfig {
  /** Public FHIR base address of the service, without a trailing slash: the gateway's address plus `/fhir/R4`. */
  readonly baseUrl: string;
  /** Code system of the tag that marks resources which originate outside the repository. */
  readonly metaTagSystem: string;
  /**
   * Canonical URI of each artefact in this installation, for example
   * `https://example.org/fhir/StructureDefinition/LocalTermin`.
   */
  readonly uris: Readonly<Record<Artefact, string>>;
  /** Whether bookings are confirmed at once or by hand if neither the Schedule nor its services say so. */
  readonly confirmation: Confirmation;
  /**
   * The shortest appointment that takes part of a slot, and the steps in which slots are split, in minutes. The
   * scheduling parameters of a Schedule or its HealthcareService take precedence.
   */
  readonly smallestBooking: number;
  /** IANA name of the time zone in which a date without a time is a whole day. */
  readonly timeZone: string;
  readonly calendar: CalendarSettings;
}

/** The canonical URI of an artefact in this installation. */
export function artefactUri({ uris }: PublicConfig, artefact: Artefact): string {
  return uris[artefact];
}

/** The computable name of an artefact in this installation: the last part of its canonical URI. */
export function artefactName({ uris }: PublicConfig, artefact: Artefact): string {
  return uris[artefact].slice(uris[artefact].lastIndexOf('/') + 1);
}
