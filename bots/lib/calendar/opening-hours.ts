import type { MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import {
  offersAllServices,
  type Publishing,
  publishingOf,
} from '../../../core/calendar/parameters/schedule-calendar.ts';
import { closedDays, isClosedDays } from '../../../core/calendar/publish/closed-days.ts';
import type { Closure } from '../../../core/calendar/time/not-available.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { serviceIdsOf } from '../../../core/fhir/reference/service-reference.ts';
import { config } from '../config.ts';
import { ofType, readInBatch } from '../read.ts';

/** A Schedule with everything that its opening hours are made of. */
export interface OpeningHours {
  readonly schedule: Schedule & { readonly id: string };
  readonly publishing: Publishing;
  readonly closedDays: readonly Closure[];
}

/** How many services are read at most. */
const COUNT = '1000';

/** The types of resources whose calendar a Schedule can be and that Bots may read. */
const actorTypes: readonly string[] = ['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole'];

function actorSearch({ actor }: Schedule): string[] {
  const [type = '', id = ''] = actor[0]?.reference?.split('/') ?? [];
  return actorTypes.includes(type) ? [`${type}?${new URLSearchParams({ _id: id })}`] : [];
}

function servicesSearch(schedule: Schedule): string[] {
  const ids = serviceIdsOf(schedule);
  if (offersAllServices(schedule)) {
    return [`HealthcareService?_count=${COUNT}`];
  }
  return ids.length > 0 ? [`HealthcareService?${new URLSearchParams({ _id: ids.join(','), _count: COUNT })}`] : [];
}

/**
 * Reads what the opening hours of a Schedule are made of.
 *
 * @param id - of the Schedule
 * @returns `undefined` if there is no such Schedule
 * @throws ReadError when the server could not be read
 */
export async function readOpeningHours(medplum: MedplumClient, id: string): Promise<OpeningHours | undefined> {
  const identifier = `${artefactUri(config, 'LocalClosedDays')}|`;
  const [found, closed] = await readInBatch(medplum, [
    `Schedule?${new URLSearchParams({ _id: id })}`,
    `HealthcareService?${new URLSearchParams({ identifier, _count: COUNT })}`,
  ]);
  const [schedule] = ofType('Schedule', found);
  if (!schedule) {
    return undefined;
  }
  const [actorUrl, serviceUrl] = [actorSearch(schedule), servicesSearch(schedule)];
  const answers = await readInBatch(medplum, [...actorUrl, ...serviceUrl]);
  const [actor]: Resource[] = actorUrl.length > 0 ? (answers[0] ?? []) : [];
  const services: HealthcareService[] = ofType('HealthcareService', serviceUrl.length > 0 ? answers.at(-1) : []).filter(
    (service) => !isClosedDays(service, config),
  );
  return {
    schedule: { ...schedule, id },
    publishing: publishingOf({ schedule, services, actor }, config),
    closedDays: closedDays(ofType('HealthcareService', closed), config),
  };
}
