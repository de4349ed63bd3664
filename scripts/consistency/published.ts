import type { MedplumClient } from '@medplum/core';
import type { Slot } from '@medplum/fhirtypes';
import { holdersOf } from '../../core/booking/appointment/reads.ts';
import { holdsSlots, statusQuery } from '../../core/booking/appointment/status.ts';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { type Preview, previewOf } from '../../core/calendar/publish/preview.ts';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { type Finding, finding } from '../../core/consistency/finding.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { type ResourceSet, resourcesOfType } from '../../core/rows/resource-set.ts';
import { chunks } from '../../core/rows/search.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { type Calendars, readCalendars } from '../calendar/read.ts';
import { searchAll } from '../medplum/project.ts';

/** Called with the number of schedules compared so far, and the total. */
export type OnProgress = (done: number, all: number) => void;

/** The end of the last publication. Later days follow once a day. */
function publishedUntil(id: string, { publications }: Calendars): number {
  const task = publications.get(id);
  return (task && publicationIn(task)?.from) ?? 0;
}

/** Whether publishing is complete. It is not before the first publication, during one, or with invalid hours. */
function isSettled(id: string, { publications }: Calendars): boolean {
  return publications.get(id)?.status === 'completed';
}

function differenceIn({ published, withdrawn, changed }: Preview, until: number): string | undefined {
  const missing = published.filter((start) => start < until);
  const parts = Object.entries({ published: missing, withdrawn, changed }).filter(([, starts]) => starts.length > 0);
  const first = parts.flatMap(([, starts]) => starts).sort((one, other) => one - other)[0];
  const counts = parts.map(([what, { length }]) => `${length} to be ${what}`).join(', ');
  return first === undefined
    ? undefined
    : `Slots differ from its opening hours: ${counts}, the first at ${formatInstant(first)}.`;
}

async function heldSlots(medplum: MedplumClient, slots: readonly Slot[]): Promise<Set<string>> {
  const held = new Set<string>();
  const free = slots.filter(({ status }) => status === 'free').map(({ id }) => `Slot/${id}`);
  for (const some of chunks(free)) {
    const found = await searchAll(medplum, 'Appointment', { slot: some.join(','), status: statusQuery(holdsSlots) });
    for (const id of holdersOf(found).keys()) {
      held.add(id);
    }
  }
  return held;
}

/**
 * Compares the published Slots of schedules with opening hours, closed days and busy time, by the rules of publishing.
 *
 * @param state - all Slots of these schedules
 * @param wanted - references to the schedules; without any, all
 * @param now - milliseconds since 1970 UTC
 */
export async function findUnpublished(
  medplum: MedplumClient,
  state: ResourceSet,
  wanted: readonly string[],
  now: number,
  config: BookingConfig,
  onProgress: OnProgress = () => undefined,
): Promise<Finding[]> {
  const calendars = await readCalendars(medplum, config);
  const slots = Map.groupBy(resourcesOfType(state, 'Slot'), ({ schedule }) => idIn(schedule, 'Schedule'));
  const chosen = calendars.schedules.filter(
    (schedule) =>
      (wanted.length === 0 || wanted.includes(`Schedule/${schedule.id}`)) &&
      isSettled(schedule.id, calendars) &&
      openingHoursOf(schedule, calendars, config).publishing.kind !== 'kept',
  );
  const findings: Finding[] = [];
  for (const [index, schedule] of chosen.entries()) {
    const upcoming = (slots.get(schedule.id) ?? []).filter(({ end }) => Date.parse(end) > now - DAY);
    const held = await heldSlots(medplum, upcoming);
    const seen = previewOf(openingHoursOf(schedule, calendars, config), { slots: upcoming, held, now }, config);
    const difference = differenceIn(seen, publishedUntil(schedule.id, calendars));
    findings.push(...(difference ? [finding('published-differs', `Schedule/${schedule.id}`, difference)] : []));
    onProgress(index + 1, chosen.length);
  }
  return findings;
}
