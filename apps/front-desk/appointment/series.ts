import type { Appointment, Bundle, HealthcareService, Parameters } from '@medplum/fhirtypes';
import { canBeMoved } from '../../../core/booking/appointment/status.ts';
import { artefactUri, type PublicConfig } from '../../../core/config/config.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { readStepMark } from '../../../core/visits/group.ts';
import { firstLocalTime } from '../../../core/visits/series.ts';
import { readVisit } from '../../../core/visits/visit.ts';
import { findRequest } from '../../portal/visit/requests.ts';
import { timeOf } from '../day/entries.ts';

/** An appointment of a series and the later ones: what is moved with it, and what stays because it is at another time. */
export interface RestOfSeries {
  readonly service: string;
  /** In milliseconds: from the first that is moved to the last. */
  readonly length: number;
  readonly moved: readonly Appointment[];
  readonly stays: readonly Appointment[];
}

const nameOf = (appointment: Appointment, config: PublicConfig): string =>
  readStepMark({ ...appointment }, '', config).step?.step ?? '';

/**
 * What is moved if an appointment and the later ones of its series are: those at the same regular time.
 *
 * @param all - of its series
 * @returns `undefined` if that is it alone
 */
export function restOf(
  appointment: Appointment,
  all: readonly Appointment[],
  service: HealthcareService | undefined,
  config: PublicConfig,
): RestOfSeries | undefined {
  const series = service && readVisit(service, config).visit?.series;
  const numberOf = (one: Appointment): number => Number(nameOf(one, config));
  const regular = (one: Appointment): number =>
    firstLocalTime(timeOf(one)?.start ?? 0, nameOf(one, config), series?.every ?? 0, config.timeZone);
  const later = all
    .filter((one) => one.status !== 'proposed' && canBeMoved(one) && numberOf(one) >= numberOf(appointment))
    .toSorted((one, other) => numberOf(one) - numberOf(other));
  const moved = later.filter((one) => regular(one) === regular(appointment));
  const [first, last] = [moved[0], moved.at(-1)];
  return series && first && last && first.id === appointment.id && first !== last
    ? {
        service: service.id ?? '',
        length: (numberOf(last) - numberOf(first)) * series.every * DAY,
        moved,
        stays: later.filter((one) => !moved.includes(one)),
      }
    : undefined;
}

/** How long after the day from which they are looked for the first one is at the latest, and how many are shown. */
const SPAN = 14 * DAY;
const SHOWN = 10;

/** The body of `$find` for other times of them, the first one from a time on. */
export const findRestRequest = (
  { service, moved, length }: RestOfSeries,
  from: number,
  config: PublicConfig,
): Parameters =>
  findRequest({
    service,
    period: { start: from, end: from + SPAN + length + DAY },
    count: SHOWN,
    without: [],
    only: moved.map((one) => nameOf(one, config)),
    payer: moved[0]?.extension?.find(({ url }) => url === artefactUri(config, 'LocalPayerKind')),
  });

/** The proposals that have a time for each of them, in their order. */
export const proposalsFor = ({ moved }: RestOfSeries, { entry = [] }: Bundle): Appointment[][] =>
  entry
    .flatMap(({ resource }) => (isResource(resource, 'Bundle') ? [resource.entry ?? []] : []))
    .map((one) => one.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? resource : [])))
    .filter(({ length }) => length === moved.length);

/** The regular time that was not free for an appointment that is proposed, in milliseconds since 1970 UTC. */
export function insteadOf({ extension = [] }: Appointment, config: PublicConfig): number | undefined {
  const mark = extension.find(({ url }) => url === artefactUri(config, 'LocalVisitStep'))?.extension;
  return parseInstant(mark?.find(({ url }) => url === 'instead')?.valueInstant);
}
