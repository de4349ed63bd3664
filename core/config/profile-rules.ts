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

/** What a publisher's profile of Patient demands of every patient. */
export interface PatientRules {
  /** The type of the identifier that every patient has. */
  readonly identifierType: { readonly system: string; readonly code: string };
}
