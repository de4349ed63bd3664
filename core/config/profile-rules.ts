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
