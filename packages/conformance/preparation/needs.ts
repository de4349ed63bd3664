/**
 * Resources that must exist before checks. A tester prepares those that the kit cannot create: without staff access, or
 * if the service keeps the clinic's resources elsewhere. Checks with an unmet need are skipped.
 */
export const needs = {
  staff:
    'access as clinic staff to a FHIR server on which changes to appointments count as the repository’s own (--staff-url)',
  practitioner: 'a Practitioner with a name',
  healthcareService: 'an active HealthcareService with name, type and specialty NEUR (IHE-D)',
  schedule:
    'an active Schedule with a service type (coded, with text), specialty NEUR (IHE-D), a name, and the Practitioner as actor with display; confirmed at once',
  serviceSchedule: 'an active Schedule of the HealthcareService',
  inactiveSchedule: 'a Schedule that is not active',
  manualSchedule: 'an active Schedule whose appointments staff confirm by hand',
  slot: 'free Slots in the future on the Schedule, one for each check that books (found by search if the Schedule is named)',
  otherSlot:
    'further free Slots in the future on the Schedule, at other times (found by search if the Schedule is named)',
  longSlot: 'a free Slot of eleven hours in the future on the Schedule, around 11:05 to 11:55 UTC',
  serviceSlot: 'a free Slot in the future on the Schedule of the HealthcareService',
  manualSlot: 'free Slots in the future on a Schedule whose appointments staff confirm by hand',
  privateSlot: 'a free Slot in the future on the Schedule that serves only the payer kind "private" of LocalPayerKinds',
  pastSlot: 'a Slot on the Schedule that is free and over',
  busySlot: 'a busy Slot in the future on the Schedule',
  patient: 'an active Patient that the requestor may book for',
  inactivePatient: 'a Patient of the requestor that is not active',
  deactivatedPatient: 'a Patient that the requestor has created, and that has become inactive since',
  endedAppointment:
    'a cancelled Appointment of the Patient on the busy Slot, at its time: it replaces another one; with tag external, cancellation reason "pat", service type of the Schedule, specialty NEUR (IHE-D), priority 394848005 (SNOMED CT), comment and patientInstruction',
  encounter: 'a planned Encounter of the Patient that names the cancelled Appointment, with an admission number',
  stay: 'a finished Encounter of the Patient that names the cancelled Appointment: inpatient, from 2026-01-06 to 2026-01-08, with an admission number and an account (reference and identifier)',
  listener: 'an address at which the service reaches this machine (--hook-url, --hook-port)',
} as const satisfies Record<string, string>;

export type Need = keyof typeof needs;

/** Resources that a check changes, so that each check gets its own. */
export const usedUp: readonly Need[] = ['slot', 'otherSlot', 'longSlot', 'manualSlot', 'privateSlot'];

export class UnmetNeed extends Error {
  constructor(need: Need, why = '') {
    super(`Prepare ${needs[need]}.${why}`);
  }
}
