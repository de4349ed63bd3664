import type { MedplumClient } from '@medplum/core';
import type { Bundle, BundleEntry, OperationOutcome, Resource } from '@medplum/fhirtypes';
import { holdsSlots, statusQuery } from '../../../core/booking/appointment/status.ts';
import type { CalendarProblem } from '../../../core/calendar/problem.ts';
import { type PublishState, planSlots, slotsToRead } from '../../../core/calendar/publish/publish.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { besideNew, chunks, type SlotChange, slotChangeEntries, touchEntry } from '../../../core/slots/entries.ts';
import { calendarOf } from '../../../core/slots/slot.ts';
import { termsFor } from '../../../core/slots/terms.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { releaseRows } from '../../../core/waitlist/release.ts';
import { config } from '../config.ts';
import { type BundleResponse, sendTransaction } from '../medplum.ts';
import { MAX_RESULTS, ofType, pageUrl, readAll, readInBatch } from '../read.ts';
import type { KeyedHours } from './opening-hours.ts';

const inOrder = { order: 'start' } as const;

function slotsSearch(schedule: string, window: Interval): string {
  const { start, end } = slotsToRead(window);
  const query = new URLSearchParams({
    schedule: `Schedule/${schedule}`,
    _filter: `(start lt "${formatInstant(end)}" and end gt "${formatInstant(start)}")`,
  });
  return `Slot?${query}`;
}

/** The URL of the first page of the Slots that a window depends on, to be read ahead. */
export const slotsUrl = (schedule: string, window: Interval): string => pageUrl(slotsSearch(schedule, window), inOrder);

/**
 * Reads the ids of the Slots that appointments hold. The search is for Slots, not for appointments: for the
 * appointments of many Slots, PostgreSQL has no statistics and scans all appointments.
 */
async function readHeld(medplum: MedplumClient, ids: readonly string[]): Promise<Set<string>> {
  const query = new URLSearchParams({
    _id: ids.join(','),
    '_has:Appointment:slot:status': statusQuery(holdsSlots),
    _fields: 'id',
    _count: `${MAX_RESULTS}`,
  });
  const [found] = await readInBatch(medplum, ids.length > 0 ? [`Slot?${query}`] : []);
  return new Set(ofType('Slot', found).flatMap(({ id }) => id ?? []));
}

/** Reads the state that a window depends on, except the appointments on its Slots. */
async function readWindow(medplum: MedplumClient, hours: KeyedHours, window: Interval): Promise<PublishState> {
  const slots = ofType('Slot', await readAll(medplum, [slotsSearch(hours.schedule.id, window)], inOrder));
  const { horizonWeeks } = config.calendar;
  return { ...hours, slots, held: new Set(), window, now: Date.now(), horizonWeeks };
}

const storedFreeIds = (changes: readonly SlotChange[]): string[] =>
  changes.flatMap(({ stored }) => (stored?.status === 'free' ? (stored.id ?? []) : []));

/** Plans the changes of a window. A free Slot may be held already: if one is, the window is read and planned again. */
async function planWindow(medplum: MedplumClient, hours: KeyedHours, window: Interval) {
  const state = await readWindow(medplum, hours, window);
  const first = planSlots(state, config);
  const held = await readHeld(medplum, storedFreeIds(first.changes));
  if (held.size === 0) {
    return { ...first, slots: state.slots };
  }
  // An appointment may have booked them since they were read, and have changed other Slots with them.
  const again = await readWindow(medplum, hours, window);
  return { ...planSlots({ ...again, held }, config), slots: again.slots };
}

/** Callbacks around the write of each chunk of a window. */
interface Writing {
  /**
   * The update of the publication row in the version that was read before the Slots, so that two runs never create the
   * same Slot; `undefined` if there was no row.
   */
  readonly row: (isCreating: boolean) => BundleEntry[] | undefined;
  /**
   * Receives the response to a chunk.
   * @returns whether there is time for another chunk
   */
  readonly written?: (answer: Bundle) => boolean;
}

/** Number of Slots per transaction: a larger one would delay bookings. */
const CHUNK = 20;

export interface WindowResult {
  /**
   * `published` if the window is complete, `unfinished` if the time limit came first, `refused` if Medplum does not
   * accept the Slots; otherwise the reason why the window was not written.
   */
  readonly kind: Exclude<BundleResponse['kind'], 'done' | 'invalid'> | 'published' | 'unfinished' | 'refused';
  /** The problems that prevent publishing. Published Slots then stay unchanged unless their time becomes busy. */
  readonly problems: readonly CalendarProblem[];
}

const resourcesOf = ({ entry = [] }: Bundle): Resource[] => entry.flatMap(({ resource }) => resource ?? []);

/** The problem of Slots that Medplum does not accept: a retry would not help. */
function refused({ issue }: OperationOutcome): CalendarProblem {
  const texts = issue.map(({ details, diagnostics }) => details?.text ?? diagnostics).join(' ');
  const diagnostics = `Medplum does not accept the Slots of these opening hours: ${texts}`;
  return { code: 'slots-refused', diagnostics, expression: 'Schedule' };
}

/**
 * Updates the Slots of a Schedule that begin in a window to match its opening hours and its busy time. The result
 * depends only on stored resources: repeating a run is safe. A failed write is a result, not an error.
 * @throws ReadError when the server could not be read
 */
export async function publishWindow(
  medplum: MedplumClient,
  hours: KeyedHours,
  window: Interval,
  { row, written: hasTime = () => true }: Writing,
): Promise<WindowResult> {
  const { changes, problems, slots } = await planWindow(medplum, hours, window);
  const { schedule, services, actor } = hours;
  const offering = { schedule, services: isResource(actor, 'HealthcareService') ? [...services, actor] : services };
  const termsOf = termsFor([hours], config);
  const calendar = new Map(calendarOf(slots, config));
  const allChunks = chunks(changes, CHUNK);
  for (const [index, chunk] of allChunks.entries()) {
    const locked = row(chunk.some(({ stored }) => !stored));
    if (!locked) {
      return { kind: 'overtaken', problems };
    }
    const written = await sendTransaction(medplum, [
      ...slotChangeEntries(chunk),
      ...besideNew(chunk, calendar, termsOf, config).map((slot) => touchEntry(slot, config)),
      ...releaseRows(chunk, [offering], Date.now(), config, true),
      ...locked,
    ]);
    if (written.kind === 'invalid') {
      return { kind: 'refused', problems: [refused(written.outcome)] };
    }
    if (written.kind !== 'done') {
      return { kind: written.kind, problems };
    }
    for (const [id, slot] of calendarOf(ofType('Slot', resourcesOf(written.bundle)), config)) {
      calendar.set(id, slot);
    }
    if (!hasTime(written.bundle) && index + 1 < allChunks.length) {
      return { kind: 'unfinished', problems };
    }
  }
  return { kind: 'published', problems };
}
