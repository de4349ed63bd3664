import type { Resource } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { quantile } from '../measure.ts';

/** One answer: the kind of request (`patient`: all of one until they knew), its HTTP status (0 if there was no answer), and the milliseconds it took. */
export interface Answered {
  readonly kind: 'search' | 'book' | 'read' | 'patient';
  readonly status: number;
  readonly took: number;
}

/** The outcome of a release day. */
interface ReleaseDayResult {
  /** Request, status, number, p50, p95 and the longest in milliseconds. */
  readonly rows: readonly string[][];
  /** Bookings that were confirmed (201). */
  readonly booked: number;
  /** Times that more than one appointment holds. */
  readonly twice: number;
  /** Whether every time was sold once, each confirmed booking is stored, and every answer was an expected one. */
  readonly isRight: boolean;
}

/** The slots that an appointment holds; none for any other resource. */
export function slotsHeldBy(resource: Resource | undefined): string[] {
  return isResource(resource, 'Appointment') ? (resource.slot ?? []).flatMap(({ reference }) => reference ?? []) : [];
}

/** The expected answers: a time is free or not, and a search is answered. */
const expected: Readonly<Record<Answered['kind'], readonly number[]>> = {
  search: [200],
  book: [201, 409],
  read: [200],
  patient: [201, 200],
};

/** How many patients came for how many times. */
interface ReleaseDaySize {
  readonly patients: number;
  readonly times: number;
}

/**
 * Judges a release day: as many times must be sold as there are, or as patients came, and each of them once.
 *
 * @param held - the slots that the stored appointments hold, each as often as it is held
 */
export function resultOf(
  answers: readonly Answered[],
  held: readonly string[],
  { patients, times }: ReleaseDaySize,
): ReleaseDayResult {
  const groups = Map.groupBy(answers, ({ kind, status }) => `${kind} ${status}`);
  const rows = [...groups].map(([key, group]) => {
    const took = group.map((one) => one.took);
    const figures = [quantile(took, 0.5), quantile(took, 0.95), Math.max(...took)].map((value) => value.toFixed(0));
    return [...key.split(' '), String(group.length), ...figures];
  });
  const booked = groups.get('book 201')?.length ?? 0;
  const twice = held.length - new Set(held).size;
  const isExpected = answers.every(({ kind, status }) => expected[kind].includes(status));
  const isSoldOnce = twice === 0 && booked === held.length && booked === Math.min(patients, times);
  return { rows: rows.sort(), booked, twice, isRight: isExpected && isSoldOnce };
}
