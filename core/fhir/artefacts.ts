/** The confirmation of a new booking: at once by the service, or later by staff. */
export type Confirmation = 'automatic' | 'manual';

/**
 * The FHIR artefacts of the service and their kinds, by the names in the specification. An installation may rename them
 * or use a publisher's (`BookingConfig.uris`). The code always uses these keys.
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

export function isArtefact(name: string): name is Artefact {
  return Object.hasOwn(artefacts, name);
}

interface CalendarSettings {
  /** The number of weeks for which a Schedule without planning horizon is published. */
  readonly horizonWeeks: number;
}

/** The public part of the configuration, which browsers may read, too. */
export interface PublicConfig {
  /** Public FHIR base address of the service, without a trailing slash: the gateway's address plus `/fhir/R4`. */
  readonly baseUrl: string;
  /** Code system of the tag that marks resources from outside the repository. */
  readonly metaTagSystem: string;
  /** Canonical URI of each artefact, for example `https://example.org/fhir/StructureDefinition/LocalTermin`. */
  readonly uris: Readonly<Record<Artefact, string>>;
  /** The confirmation of bookings, unless the Schedule or its services have their own. */
  readonly confirmation: Confirmation;
  /** The shortest appointment and the step of divisions, in minutes, without scheduling parameters. */
  readonly smallestBooking: number;
  /** IANA name of the time zone for dates without a time. */
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
