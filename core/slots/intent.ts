import type { BundleEntry, Extension } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../config/config.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { updateEntry } from '../fhir/resource.ts';
import { type Interval, overlaps } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import type { Calendar, CalendarSlot } from './slot.ts';

/**
 * How long an intent counts, in milliseconds: until what was announced is stored and followed, by the clock if need be,
 * which runs every minute.
 */
export const INTENT_LIFETIME = 90_000;

/** How many intents one resource carries: of more, as an import announces them, the oldest are probably followed already. */
const MOST = 100;

/** Time that somebody is about to take, and until when that must be expected. */
interface Intent extends Interval {
  readonly until: number;
  /** What is about to be stored, `Type/id`: a write that Medplum tries again is the same. */
  readonly by: string | undefined;
}

function intentIn({ extension = [] }: Extension): Intent {
  const period = extension.find(({ url }) => url === 'time')?.valuePeriod;
  const until = parseInstant(extension.find(({ url }) => url === 'until')?.valueInstant) ?? 0;
  const by = extension.find(({ url }) => url === 'by')?.valueString;
  return { start: parseInstant(period?.start) ?? 0, end: parseInstant(period?.end) ?? 0, until, by };
}

/** What may carry intents: an offer; where there is none, the publication row of its Schedule, for whoever creates one. */
interface Carrier {
  readonly extension?: Extension[];
}

function intentsOn({ extension = [] }: Carrier, now: number, config: PublicConfig): Extension[] {
  const url = artefactUri(config, 'LocalWithheld');
  return extension.filter((one) => one.url === url && now < intentIn(one).until);
}

/**
 * Whether a time within an offer must not be taken at a moment, because something else is about to take it.
 *
 * @param by - what is about to be stored: its own intent does not count
 */
export function isWithheld(
  slot: CalendarSlot,
  time: Interval,
  now: number,
  config: PublicConfig,
  by?: string,
): boolean {
  return intentsOn(slot.resource, now, config)
    .map(intentIn)
    .some((one) => overlaps(one, time) && (by === undefined || one.by !== by));
}

/** Whether what was written at a moment may have been announced a while before, and is still expected. */
export const isRecent = (moment: number, now: number): boolean => now - moment < INTENT_LIFETIME;

/**
 * A calendar whose offers no longer expect what was announced on them, because it was stored and has given its time back.
 *
 * @param by - what it was, `Type/id`
 */
export function withoutIntentsOf(calendar: Calendar, by: string, now: number, config: PublicConfig): Calendar {
  const url = artefactUri(config, 'LocalWithheld');
  const isIts = (one: Extension): boolean => one.url === url && intentIn(one).by === by;
  return new Map(
    [...calendar].map(([id, slot]) => {
      const { resource } = slot;
      const isAnnounced = intentsOn(resource, now, config).some(isIts);
      const extension = (resource.extension ?? []).filter((one) => !isIts(one));
      return [id, isAnnounced ? { ...slot, resource: { ...resource, extension } } : slot];
    }),
  );
}

/**
 * The intents that stay on a Slot when it is written. A new part of an offer has those of the part that it comes from, and
 * a new offer those of the row that lie near; what took the time of an intent and is stored needs it no longer.
 *
 * @param before - the calendar as it is stored
 * @param row - the publication row with which a new offer is created
 */
export function intentsFor(
  slot: CalendarSlot,
  before: Calendar,
  now: number,
  config: PublicConfig,
  row: Carrier = {},
): Extension[] {
  const all = [...before.values()];
  const isPart = (one: CalendarSlot): boolean => one.origin === slot.origin && one.schedule === slot.schedule;
  const near = { start: slot.start - DAY, end: slot.end + DAY };
  const found = slot.isNew
    ? [
        ...all.filter(isPart).flatMap(({ resource }) => intentsOn(resource, now, config)),
        ...intentsOn(row, now, config).filter((one) => overlaps(intentIn(one), near)),
      ]
    : intentsOn(slot.resource, now, config);
  const isStored = (time: Interval): boolean =>
    all.some(
      (one) =>
        one.role === 'taking' && one.schedule === slot.schedule && one.start <= time.start && time.end <= one.end,
    );
  return found.filter((one) => !isStored(intentIn(one)));
}

/**
 * A resource with the intent to take some time; itself if it has it already: a write that Medplum tries again asks again.
 *
 * @param by - what is about to be stored, `Type/id`
 */
export function withIntent<Type extends Carrier>(
  resource: Type,
  time: Interval,
  by: string,
  now: number,
  config: PublicConfig,
): Type {
  const live = intentsOn(resource, now, config);
  const isAnnounced = live.some((one) => {
    const known = intentIn(one);
    return known.start === time.start && known.end === time.end && known.by === by;
  });
  const url = artefactUri(config, 'LocalWithheld');
  const valuePeriod = { start: formatInstant(time.start), end: formatInstant(time.end) };
  const intent: Extension = {
    url,
    extension: [
      { url: 'time', valuePeriod },
      { url: 'until', valueInstant: formatInstant(now + INTENT_LIFETIME) },
      { url: 'by', valueString: by },
    ],
  };
  const others = (resource.extension ?? []).filter((one) => one.url !== url);
  return isAnnounced ? resource : { ...resource, extension: [...others, ...live.slice(1 - MOST), intent] };
}

/** The transaction entry that announces an intent on a Slot, on condition of the version that was read, unless it has it. */
export function intentEntry(
  { resource }: CalendarSlot,
  time: Interval,
  by: string,
  now: number,
  config: PublicConfig,
): BundleEntry[] {
  const announced = withIntent(resource, time, by, now, config);
  return announced === resource ? [] : [updateEntry(resource, announced)];
}
