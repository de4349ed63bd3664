import type { Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { DAY } from '../../time/time-zone.ts';
import type { OpeningHours } from '../opening-hours.ts';
import { publishedPeriod } from './bookable-slots.ts';
import { planSlots } from './publish.ts';

/** The effect of publishing one Schedule. */
export interface Preview {
  /** Starts of the Slots that would be published, withdrawn and changed, in milliseconds since 1970 UTC, in order. */
  readonly published: readonly number[];
  readonly withdrawn: readonly number[];
  readonly changed: readonly number[];
  readonly free: number;
  readonly problems: readonly string[];
}

interface Stored {
  /** All Slots except those that ended at least a day ago. */
  readonly slots: readonly Slot[];
  readonly held: ReadonlySet<string>;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

const isFree = (slot: Slot | undefined): boolean => slot?.status === 'free';

/** The effect of publishing a Schedule with the Slots that are stored now. */
export function previewOf(hours: OpeningHours, { slots, held, now }: Stored, config: PublicConfig): Preview {
  const { schedule, publishing } = hours;
  const { horizonWeeks } = config.calendar;
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const ends = [
    ...calendars.flatMap(
      ({ parameters }) => publishedPeriod(schedule, parameters.timeZone, now, horizonWeeks).value?.end ?? [],
    ),
    ...slots.flatMap(({ end }) => parseInstant(end) ?? []),
  ];
  const window = { start: now - DAY, end: ends.reduce((one, other) => Math.max(one, other), now) + DAY };
  const { changes, problems } = planSlots({ ...hours, slots, held, window, now, horizonWeeks }, config);
  const startsOf = (isMeant: (before: Slot | undefined, after: Slot) => boolean): number[] =>
    changes
      .filter(({ stored, resource }) => isMeant(stored, resource))
      .flatMap(({ resource }) => parseInstant(resource.start) ?? [])
      .toSorted((one, other) => one - other);
  return {
    published: startsOf((before, after) => !isFree(before) && isFree(after)),
    withdrawn: startsOf((before, after) => isFree(before) && !isFree(after)),
    changed: startsOf((before, after) => isFree(before) && isFree(after)),
    free: slots.filter((slot) => isFree(slot) && (parseInstant(slot.start) ?? 0) >= now).length,
    problems: problems.map(({ expression, diagnostics }) => `${expression}: ${diagnostics}`),
  };
}
