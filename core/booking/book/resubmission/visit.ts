import type { Appointment } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../config/config.ts';
import { visitGroupOf } from '../../../visits/group.ts';
import { readVisit, stepOf, type Visit } from '../../../visits/visit.ts';
import { hasEnded, isOffer } from '../../appointment/expiry.ts';
import { canBeMoved } from '../../appointment/status.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../resource-set.ts';

/** The visit that a service asks for, if it was read and can be used. */
export function visitOf(service: string, services: ResourceSet | undefined, config: PublicConfig): Visit | undefined {
  const found = services && findResource(services, 'HealthcareService', service);
  return found && readVisit(found, config).visit;
}

/** Whether requestors may move and cancel an appointment without the others that were booked with it. */
export function isByItself(one: Appointment, services: ResourceSet | undefined, config: PublicConfig): boolean {
  const mark = stepOf(one, config);
  const visit = mark && visitOf(mark.service, services, config);
  return !visit || visit.isByStep || visit.series !== undefined;
}

/**
 * The other open appointments that were booked together with one, as far as they were read; of what is offered, the others
 * that are offered with it.
 */
export function siblingsOf(one: Appointment, state: ResourceSet, now: number, config: PublicConfig): Appointment[] {
  const group = visitGroupOf(one, config);
  return group === undefined
    ? []
    : resourcesOfType(state, 'Appointment').filter(
        (other) =>
          other.id !== one.id &&
          visitGroupOf(other, config) === group &&
          isOffer(other, config) === isOffer(one, config) &&
          canBeMoved(other) &&
          !hasEnded(other, now, config),
      );
}
