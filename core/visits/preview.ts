import type { HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { calendarOf } from '../slots/slot.ts';
import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import { bookableSchedules, type Frame, openStep } from './openings.ts';
import { type OpenStep, type Proposal, searchVisits } from './search.ts';
import { bestSeries, seriesStarting, seriesWindows } from './series.ts';
import { isInPool, plainStep, type Visit } from './visit.ts';

const MAX_SHOWN = 5;

interface PreviewRead extends Interval {
  /** Id of the Schedule. */
  readonly schedule: string;
}

interface VisitPreview {
  /** The times whose free Slots must be read. */
  readonly reads: readonly PreviewRead[];
  /** The first visits within a week in those Slots. The search stops when it takes too long. */
  readonly offered: (slots: readonly Slot[], isTooLate: () => boolean) => readonly Proposal[];
}

/** The visits that portals would find within a week. The visit need not be saved. */
export function visitPreview(
  visit: Visit,
  { schedules, services }: { readonly schedules: readonly Schedule[]; readonly services: readonly HealthcareService[] },
  now: number,
  config: PublicConfig,
): VisitPreview {
  const { series } = visit;
  const week = { start: now, end: now + 7 * DAY };
  const end = series ? now + (series.count * series.every + 7) * DAY : week.end;
  const period = { start: now, end };
  const frame: Frame = { period, hours: { start: 0, end: DAY }, actors: [], role: 'requestor', now, config };
  const bookable = bookableSchedules(schedules, services, frame);
  const steps = series ? [{ ...plainStep(visit.service), name: '1' }] : visit.steps;
  const pools = steps.flatMap((step) => step.pools);
  const inPools = [...bookable.values()].filter(({ schedule }) => pools.some((pool) => isInPool(pool, schedule)));
  const windows = series ? seriesWindows(week, series, config.timeZone) : [week];
  return {
    reads: inPools.flatMap(({ schedule }) => windows.map((time) => ({ ...time, schedule: schedule.id }))),
    offered: (found, isTooLate) => {
      const bySchedule = Map.groupBy(calendarOf(found, config).values(), ({ schedule }) => schedule);
      const slots = new Map([...bySchedule].map(([id, own]) => [id, own.toSorted((a, b) => a.start - b.start)]));
      const known = { slots, until: Number.POSITIVE_INFINITY };
      const open = steps.map((step) => openStep(step, bookable, known, frame, isTooLate).next().value);
      const isOpen = (openSteps: typeof open): openSteps is OpenStep[] => openSteps.every((step) => step !== undefined);
      if (!isOpen(open)) {
        return [];
      }
      if (series) {
        const all = seriesStarting(open[0]?.openings ?? [], week, series, config.timeZone, isTooLate).next().value;
        return bestSeries(all ?? [], MAX_SHOWN).map(({ proposal }) => proposal);
      }
      const search = searchVisits(open, isTooLate);
      const proposals: Proposal[] = [];
      for (let from = now; proposals.length < MAX_SHOWN; ) {
        const next = search(from).next().value;
        if (next?.kind !== 'proposal') {
          break;
        }
        proposals.push(next.proposal);
        from = (next.proposal[0]?.start ?? from) + 1;
      }
      return proposals;
    },
  };
}
