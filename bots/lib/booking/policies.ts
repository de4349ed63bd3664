import type { MedplumClient } from '@medplum/core';
import type { Resource, Slot } from '@medplum/fhirtypes';
import { type EffectivePolicy, effectivePolicy } from '../../../core/booking/policy/effective-policy.ts';
import { resourceSet, servicesOf } from '../../../core/booking/resource-set.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { serviceIdsOf } from '../../../core/fhir/reference/service-reference.ts';
import { config } from '../config.ts';
import { ofType, readInBatch } from '../read.ts';

const search = (type: 'Schedule' | 'HealthcareService', ids: readonly string[], more = ''): string =>
  `${type}?_id=${[...new Set(ids)].join(',')}&_count=1000${more}`;

/**
 * The booking policies of the Schedules of some Slots, read with the Bot's own rights.
 *
 * @param known - Schedules, with their actors, that have been read already; the others are read first
 * @throws ReadError when the server could not be read
 */
export async function readPolicies(
  medplum: MedplumClient,
  slots: readonly Slot[],
  known: readonly Resource[] = [],
): Promise<EffectivePolicy[]> {
  const ids = slots.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? []);
  const unknown = ids.filter((wanted) => !ofType('Schedule', known).some(({ id }) => id === wanted));
  const [read = []] =
    unknown.length > 0 ? await readInBatch(medplum, [search('Schedule', unknown, '&_include=Schedule:actor')]) : [];
  const found = [...known, ...read];
  const schedules = ofType('Schedule', found).filter(({ id }) => ids.includes(id ?? ''));
  const named = schedules.flatMap(serviceIdsOf);
  const [more] = named.length > 0 ? await readInBatch(medplum, [search('HealthcareService', named)]) : [];
  const state = resourceSet([...found, ...(more ?? [])]);
  return schedules.map((schedule) => {
    const offered = ofType('HealthcareService', more).filter(({ id }) => serviceIdsOf(schedule).includes(id ?? ''));
    return effectivePolicy(schedule, [...servicesOf(state, schedule), ...offered], config);
  });
}
