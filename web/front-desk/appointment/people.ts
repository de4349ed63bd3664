import type { Appointment, CodeableConcept, HumanName, Patient } from '@medplum/fhirtypes';
import { idIn } from '../../../core/fhir/reference/reference.ts';

/** A name as it is read; empty if there is none. */
export function nameText(name: HumanName | undefined): string {
  if (!name || typeof name !== 'object') {
    return '';
  }
  const parts = [name.prefix, name.given, name.family, name.suffix].flat();
  return name.text || parts.filter((part) => typeof part === 'string' && part).join(' ');
}

/** The official name of somebody, else the first one. */
export function nameOf({ name }: { readonly name?: HumanName[] }): string {
  const names = Array.isArray(name) ? name : [];
  return nameText(names.find((one) => one?.use === 'official') ?? names[0]);
}

/** The id of the patient of an appointment, if it names one. */
export function patientIdOf({ participant }: Appointment): string | undefined {
  const participants = Array.isArray(participant) ? participant : [];
  return participants.map((one) => idIn(one?.actor, 'Patient')).find((id) => id !== undefined);
}

/** What the appointment itself says of its patient's name. */
function displayOf({ participant }: Appointment): string {
  const participants = Array.isArray(participant) ? participant : [];
  return participants.find((one) => idIn(one?.actor, 'Patient') !== undefined)?.actor?.display ?? '';
}

/** The patient's name: as the record has it, else as the appointment says; empty if neither does. */
export function patientNameOf(appointment: Appointment, patients: ReadonlyMap<string, Patient>): string {
  const patient = patients.get(patientIdOf(appointment) ?? '');
  return (patient && nameOf(patient)) || displayOf(appointment);
}

/** A concept as it is read. */
export function conceptText(concept: CodeableConcept | undefined): string {
  const coding = Array.isArray(concept?.coding) ? concept.coding : [];
  return concept?.text || coding.map((one) => one?.display ?? one?.code).find((text) => text) || '';
}

/** What the appointment is for. */
export function servicesOf({ serviceType }: Appointment): string {
  return (Array.isArray(serviceType) ? serviceType : []).map(conceptText).filter(Boolean).join(', ');
}
