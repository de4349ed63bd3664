import type { Appointment, Bundle, HealthcareService, Parameters } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { milliseconds } from '../../../core/fhir/duration.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { DAY, firstLocalTime } from '../../../core/time/time-zone.ts';
import { findRequest, stepIn } from '../../../packages/web/appointments.ts';
import { extensionIn, partsOf } from '../../../packages/web/elements.ts';
import { timeOf } from '../day/entries.ts';
import { isMovable } from './status-steps.ts';

/** An appointment of a series and the later ones: what is moved with it, and what stays because it is at another time. */
export interface RestOfSeries {
  readonly service: string;
  /** In milliseconds: from the first that is moved to the last. */
  readonly length: number;
  readonly moved: readonly Appointment[];
  readonly stays: readonly Appointment[];
}

const nameOf = (appointment: Appointment, config: PublicConfig): string =>
  stepIn(appointment, artefactUri(config, 'LocalVisitStep'))?.name ?? '';

/**
 * What is moved if an appointment and the later ones of its series are: those at the same regular time.
 *
 * @param appointments - of its series
 * @returns `undefined` if that is it alone
 */
export function restOf(
  appointment: Appointment,
  appointments: readonly Appointment[],
  service: HealthcareService | undefined,
  config: PublicConfig,
): RestOfSeries | undefined {
  const series = extensionIn(partsOf(service?.extension, artefactUri(config, 'LocalVisit')), 'series')?.extension;
  const every = milliseconds(extensionIn(series, 'every')?.valueDuration);
  const numberOf = (one: Appointment): number => Number(nameOf(one, config));
  const regular = (one: Appointment): number =>
    firstLocalTime(timeOf(one)?.start ?? 0, nameOf(one, config), (every ?? 0) / DAY, config.timeZone);
  const later = appointments
    .filter((one) => isMovable(one) && numberOf(one) >= numberOf(appointment))
    .toSorted((one, other) => numberOf(one) - numberOf(other));
  const moved = later.filter((one) => regular(one) === regular(appointment));
  const [first, last] = [moved[0], moved.at(-1)];
  return every && service && first && last && first.id === appointment.id && first !== last
    ? {
        service: service.id ?? '',
        length: (numberOf(last) - numberOf(first)) * every,
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
    only: moved.map((appointment) => nameOf(appointment, config)),
    payer: moved[0]?.extension?.find(({ url }) => url === artefactUri(config, 'LocalPayerKind')),
  });

/** The proposals that have a time for each of them, in their order. */
export const proposalsFor = ({ moved }: RestOfSeries, { entry = [] }: Bundle): Appointment[][] =>
  entry
    .flatMap(({ resource }) => (isResource(resource, 'Bundle') ? [resource.entry ?? []] : []))
    .map((entries) => entries.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? resource : [])))
    .filter(({ length }) => length === moved.length);

/** The regular time that was not free for an appointment that is proposed, in milliseconds since 1970 UTC. */
export function insteadOf({ extension = [] }: Appointment, config: PublicConfig): number | undefined {
  const mark = extension.find(({ url }) => url === artefactUri(config, 'LocalVisitStep'))?.extension;
  return parseInstant(mark?.find(({ url }) => url === 'instead')?.valueInstant);
}
