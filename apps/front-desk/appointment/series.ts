import type { Appointment, Bundle, HealthcareService, Parameters } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { milliseconds, parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { DAY, firstLocalTime } from '../../../core/time/time-zone.ts';
import { findRequest, stepIn } from '../../../packages/web/appointments.ts';
import { extensionIn, partsOf } from '../../../packages/web/elements.ts';
import { timeOf } from '../day/entries.ts';
import { isMovable } from './status-steps.ts';

/** An appointment of a series with the later ones: some move together, others stay because their time is irregular. */
export interface RestOfSeries {
  readonly service: string;
  /** Milliseconds from the first moved appointment to the last. */
  readonly length: number;
  readonly moved: readonly Appointment[];
  readonly stays: readonly Appointment[];
}

const nameOf = (appointment: Appointment, config: PublicConfig): string =>
  stepIn(appointment, artefactUri(config, 'LocalVisitStep'))?.name ?? '';

/** The appointments of a series from one on, at the same regular time. `undefined` if there is no later one. */
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

/** The first appointment is found within two weeks from the chosen day. */
const SPAN = 14 * DAY;
const SHOWN = 10;

/** The body of `$find` for other times of these appointments, the first one at `from` or later. */
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

/** The proposals with a time for every appointment. */
export const proposalsFor = ({ moved }: RestOfSeries, { entry = [] }: Bundle): Appointment[][] =>
  entry
    .flatMap(({ resource }) => (isResource(resource, 'Bundle') ? [resource.entry ?? []] : []))
    .map((entries) => entries.flatMap(({ resource }) => (isResource(resource, 'Appointment') ? resource : [])))
    .filter(({ length }) => length === moved.length);

/** The regular time that a proposed appointment replaces because it was not free; milliseconds since 1970 UTC. */
export function insteadOf({ extension = [] }: Appointment, config: PublicConfig): number | undefined {
  const mark = extension.find(({ url }) => url === artefactUri(config, 'LocalVisitStep'))?.extension;
  return parseInstant(mark?.find(({ url }) => url === 'instead')?.valueInstant);
}
