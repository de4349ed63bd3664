/** What a publisher's profile of Appointment demands beyond the specification. */
export interface AppointmentRules {
  /** Whether an appointment must name a service type. */
  readonly needsServiceType: boolean;
  /** Whether every participant must be named in `actor.display`. */
  readonly needsDisplay: boolean;
  /** Whether a service type or a specialty may be given in words alone. */
  readonly allowsText: boolean;
  /**
   * Which specialties must be coded in these systems, if an appointment names any: each, exactly one, or at most one.
   */
  readonly specialty: { readonly systems: readonly string[]; readonly within: 'each' | 'one' | 'at-most-one' };
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
