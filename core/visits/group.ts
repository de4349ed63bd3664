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
 * Which step of a visit an appointment that is sent says it is.
 *
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

/** What all appointments have in common that were booked together: the value of their identifier LocalVisitGroup. */
export function visitGroupOf({ identifier }: Appointment, config: PublicConfig): string | undefined {
  const system = artefactUri(config, 'LocalVisitGroup');
  const all: readonly ({ system?: string; value?: string } | null)[] = Array.isArray(identifier) ? identifier : [];
  return all.find((one) => one?.system === system)?.value;
}

const isOccurrence = ({ extension }: Appointment): boolean =>
  extension?.some(({ url }) => url === RECURRENCE_ID) ?? false;

/** The group of an appointment of which people are told as one visit: not one of a series, which are apart from each other. */
export const notifiedGroupOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? undefined : visitGroupOf(appointment, config);

/** The group of an appointment that is one of a series; `undefined` if it is none. */
export const seriesOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? visitGroupOf(appointment, config) : undefined;

/** The visit that a service asks for, if it was read and can be used. */
export function visitOf(service: string, services: ResourceSet | undefined, config: PublicConfig): Visit | undefined {
  const found = services && findResource(services, 'HealthcareService', service);
  return found && readVisit(found, config).visit;
}

/** Whether an appointment was confirmed and has begun: it took place, whatever becomes of the rest of its visit. */
export const wasHeld = ({ status, start }: Appointment, now: number): boolean =>
  status === 'booked' && (parseInstant(start) ?? now) <= now;

/**
 * Whether requestors may move and cancel an appointment without the others that were booked with it. Steps stay together
 * also when their service asks for no visit any more.
 */
export function isByItself(appointment: Appointment, services: ResourceSet | undefined, config: PublicConfig): boolean {
  const mark = stepOf(appointment, config);
  const visit = mark && visitOf(mark.service, services, config);
  return visit ? visit.isByStep || visit.series !== undefined : !mark || isOccurrence(appointment);
}

/**
 * The other open appointments that were booked together with one, as far as they were read; of what is offered, the others
 * that are offered with it.
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
