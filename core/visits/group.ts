import type { Appointment } from '@medplum/fhirtypes';
import { hasEnded, isPersonalOffer } from '../booking/appointment/expiry.ts';
import { canBeMoved } from '../booking/appointment/status.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { parseInstant } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { isId } from '../fhir/reference.ts';
import { RECURRENCE_ID } from '../fhir/reserved.ts';
import { isObject } from '../fhir/resource.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { readVisit, type StepMark, stepOf, type Visit } from './visit.ts';

const MAX_NAME_LENGTH = 200;

function readMark(parts: unknown): StepMark | undefined {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const part = (name: string) => list.filter(isObject).find(({ url }) => url === name);
  const { valueReference } = part('service') ?? {};
  const reference = isObject(valueReference) ? valueReference.reference : undefined;
  const service =
    typeof reference === 'string' ? /(?:^|\/)HealthcareService\/([^/]+)$/.exec(reference)?.[1] : undefined;
  const step = part('step')?.valueString;
  return isId(service) && typeof step === 'string' && step !== '' && step.length <= MAX_NAME_LENGTH
    ? { service, step }
    : undefined;
}

/**
 * Reads the visit step that a submitted appointment names.
 * @param appointment - of any content
 * @param path - of the appointment
 * @returns the step, or a `malformed-request` if its extension cannot be read; neither if it has none
 */
export function readStepMark(
  { extension }: Readonly<Record<string, unknown>>,
  path: string,
  config: PublicConfig,
): { readonly step?: StepMark; readonly issues: readonly Issue[] } {
  const url = artefactUri(config, 'LocalVisitStep');
  const list: readonly unknown[] = Array.isArray(extension) ? extension : [];
  const index = list.findIndex((one) => isObject(one) && one.url === url);
  const found = list[index];
  if (!isObject(found)) {
    return { issues: [] };
  }
  const step = readMark(found.extension);
  const diagnostics = 'LocalVisitStep needs a service (Reference to a HealthcareService) and a step (its name).';
  return step
    ? { step, issues: [] }
    : { issues: [{ code: 'malformed-request', diagnostics, expression: `${path}.extension[${index}]` }] };
}

/** The value of the identifier LocalVisitGroup, which all appointments of a visit share. */
export function visitGroupOf({ identifier }: Appointment, config: PublicConfig): string | undefined {
  const system = artefactUri(config, 'LocalVisitGroup');
  const all: readonly ({ system?: string; value?: string } | null)[] = Array.isArray(identifier) ? identifier : [];
  return all.find((one) => one?.system === system)?.value;
}

const isOccurrence = ({ extension }: Appointment): boolean =>
  extension?.some(({ url }) => url === RECURRENCE_ID) ?? false;

/**
 * The group of an appointment that is notified together with the others of its visit. Appointments of a series are
 * notified one by one.
 */
export const notifiedGroupOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? undefined : visitGroupOf(appointment, config);

/** The group of an appointment of a series; `undefined` for other appointments. */
export const seriesOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? visitGroupOf(appointment, config) : undefined;

/** The visit definition of a service, if it was read and is valid. */
export function visitOf(service: string, services: ResourceSet | undefined, config: PublicConfig): Visit | undefined {
  const found = services && findResource(services, 'HealthcareService', service);
  return found && readVisit(found, config).visit;
}

/** Whether an appointment was confirmed and has begun. It counts as past, whatever happens to the rest of its visit. */
export const hasBegun = ({ status, start }: Appointment, now: number): boolean =>
  status === 'booked' && (parseInstant(start) ?? now) <= now;

/**
 * Whether requestors may move and cancel an appointment without the others of its visit. Steps stay together even if
 * their service no longer has a visit definition.
 */
export function isByItself(appointment: Appointment, services: ResourceSet | undefined, config: PublicConfig): boolean {
  const mark = stepOf(appointment, config);
  const visit = mark && visitOf(mark.service, services, config);
  return visit ? visit.isByStep || visit.series !== undefined : !mark || isOccurrence(appointment);
}

/**
 * The other open appointments of a visit that were read. For a personal offer, these are the other personal offers of
 * the visit.
 */
export function otherAppointmentsOf(
  appointment: Appointment,
  state: ResourceSet,
  now: number,
  config: PublicConfig,
): Appointment[] {
  const group = visitGroupOf(appointment, config);
  return group === undefined
    ? []
    : resourcesOfType(state, 'Appointment').filter(
        (other) =>
          other.id !== appointment.id &&
          visitGroupOf(other, config) === group &&
          isPersonalOffer(other, config) === isPersonalOffer(appointment, config) &&
          canBeMoved(other) &&
          !hasEnded(other, now, config),
      );
}
