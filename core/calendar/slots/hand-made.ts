import type { Extension, Schedule, Slot } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import { contains, overlaps } from '../../time/interval.ts';
import { type IntervalSet, subtract, union } from '../../time/interval-set.ts';
import type { SlotChange } from '../publish/slot-change.ts';
import { isTaken, type PlacedSlot, servicesOffered, takesFrom } from './slot-role.ts';
import { withoutWithheld } from './withhold.ts';

type OfferConfig = ArtefactConfig;

/** What offers made by hand depend on besides the Slots. */
export interface OfferContext {
  readonly schedule: Schedule;
  /** Ids of Slots that must not be changed although they look free. */
  readonly held: ReadonlySet<string>;
  /** Only offers that overlap it are considered. */
  readonly window: Interval;
  /** The period whose Slots are all known: an offer that extends beyond it is not changed. */
  readonly known: Interval;
  readonly now: number;
}

/** The elements that all fragments of a slot share. */
const offerElements = ['schedule', 'serviceCategory', 'serviceType', 'specialty', 'appointmentType'] as const;

/** An offer made by hand: a Slot, the fragments split off from it, and the parts that a taking has withdrawn. */
interface Offer {
  readonly origin: string;
  readonly members: readonly PlacedSlot[];
  /** The time for which it was offered before a taking narrowed it. */
  readonly whole: Interval | undefined;
}

function wholeOf({ extension = [] }: Slot, url: string): Interval | undefined {
  const period = extension.find((one) => one.url === url)?.valuePeriod;
  const [start, end] = [parseInstant(period?.start), parseInstant(period?.end)];
  return start !== undefined && end !== undefined && start < end ? { start, end } : undefined;
}

function withWhole(extension: readonly Extension[] = [], whole: Interval | undefined, url: string): Extension[] {
  const others = extension.filter((one) => one.url !== url);
  const valuePeriod = whole && { start: formatInstant(whole.start), end: formatInstant(whole.end) };
  return valuePeriod ? [...others, { url, valuePeriod }] : others;
}

/** Slots withdrawn because of a taking count; Slots that staff marked as entered in error do not. */
function offersIn(slots: readonly PlacedSlot[], config: OfferConfig): Offer[] {
  const url = artefactUri(config, 'LocalOffered');
  const members = new Map<string, PlacedSlot[]>();
  for (const slot of slots) {
    const isWithdrawn = slot.role.kind === 'none' && wholeOf(slot.resource, url) !== undefined;
    if (slot.role.kind === 'offer' || isWithdrawn) {
      members.set(slot.origin, [...(members.get(slot.origin) ?? []), slot]);
    }
  }
  return [...members].map(([origin, found]) => {
    const whole = found.map(({ resource }) => wholeOf(resource, url)).find((one) => one !== undefined);
    const live = found.filter(({ resource }) => resource.status !== 'entered-in-error');
    // If a piece was moved elsewhere by hand, the offer stays as staff left it.
    const isCurrent = whole !== undefined && live.every((slot) => contains(whole, slot));
    return { origin, members: found, whole: isCurrent ? whole : undefined };
  });
}

/** A Slot that is a piece of an offer. */
function piece(source: Slot, origin: string, { start, end }: Interval, config: OfferConfig): Slot {
  const common = Object.fromEntries(
    offerElements.filter((name) => source[name] !== undefined).map((name) => [name, source[name]]),
  );
  return {
    resourceType: 'Slot',
    ...(source.meta?.profile && { meta: { profile: source.meta.profile } }),
    schedule: source.schedule,
    ...common,
    identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: origin }],
    status: 'free',
    start: formatInstant(start),
    end: formatInstant(end),
  };
}

function sameSet(one: IntervalSet, other: IntervalSet): boolean {
  return (
    one.length === other.length &&
    one.every(({ start, end }, index) => start === other[index]?.start && end === other[index]?.end)
  );
}

/** Assigns the free fragments of a slot to its remaining intervals: existing fragments first, then new ones. */
function rearranged(
  offer: Offer,
  pieces: readonly PlacedSlot[],
  left: IntervalSet,
  whole: Interval | undefined,
  config: OfferConfig,
): SlotChange[] {
  const url = artefactUri(config, 'LocalOffered');
  const free = union(pieces.filter(({ resource }) => resource.status === 'free'));
  const changed = [...subtract(free, left), ...subtract(left, free)];
  const group = offer.origin;
  const isFree = ({ resource }: PlacedSlot): boolean => resource.status === 'free';
  const rank = (slot: PlacedSlot): number => (slot.id === offer.origin ? 0 : isFree(slot) ? 1 : 2);
  const ordered = [...pieces].sort((a, b) => rank(a) - rank(b) || a.start - b.start);
  const [source] = offer.members;
  const written = ordered.map(({ resource }, index): SlotChange => {
    const { extension, ...rest } = withoutWithheld(resource, changed, config);
    const kept = withWhole(extension, whole, url);
    const stretch = left[index];
    const time = stretch
      ? { status: 'free' as const, start: formatInstant(stretch.start), end: formatInstant(stretch.end) }
      : { status: 'entered-in-error' as const };
    return { stored: resource, resource: { ...rest, ...(kept.length > 0 && { extension: kept }), ...time }, group };
  });
  const made = left.slice(ordered.length).map((stretch): SlotChange[] => {
    const resource = source && piece(source.resource, offer.origin, stretch, config);
    return resource
      ? [
          {
            stored: undefined,
            resource: { ...resource, ...(whole && { extension: withWhole([], whole, url) }) },
            group,
          },
        ]
      : [];
  });
  return [...written, ...made.flat()];
}

/** From the start of the first piece of an offer to the end of the last. */
function hullOf(members: readonly PlacedSlot[]): Interval | undefined {
  const live = members.filter(({ resource }) => resource.status !== 'entered-in-error');
  return live.length > 0
    ? { start: Math.min(...live.map(({ start }) => start)), end: Math.max(...live.map(({ end }) => end)) }
    : undefined;
}

function changesOf(
  offer: Offer,
  takings: readonly PlacedSlot[],
  { schedule, held, window, known, now }: OfferContext,
  config: OfferConfig,
): SlotChange[] {
  const hull = offer.whole ?? hullOf(offer.members);
  if (!hull || !overlaps(hull, window) || !contains(known, hull)) {
    return [];
  }
  const isHeld = ({ id, resource }: PlacedSlot): boolean => isTaken(resource) || held.has(id);
  const pieces = offer.members.filter((slot) => !isHeld(slot));
  const free = union(pieces.filter(({ resource }) => resource.status === 'free'));
  const [source] = offer.members;
  const possible = offer.whole ? subtract([offer.whole], union(offer.members.filter(isHeld))) : free;
  const services = source && servicesOffered(source.resource, schedule);
  const inTheWay = takings.filter(
    (taking) => possible.some((stretch) => overlaps(stretch, taking)) && takesFrom(taking.resource, services),
  );
  const left = subtract(possible, union(inTheWay));
  const isWhole = inTheWay.length === 0;
  const url = artefactUri(config, 'LocalOffered');
  const isRemembered = isWhole ? !pieces.some(({ resource }) => wholeOf(resource, url)) : offer.whole !== undefined;
  if (possible.every(({ end }) => end <= now) || (sameSet(free, left) && isRemembered)) {
    return [];
  }
  return rearranged(offer, pieces, left, isWhole ? undefined : hull, config);
}

/**
 * Narrows free Slots made by hand to the time that takings leave, and restores their time when a taking is gone. While
 * a Slot is narrowed, its extension LocalOffered contains the time for which it was offered.
 *
 * @param slots - all of the Schedule
 * @param takings - the Slots that take time from every place
 */
export function offerChanges(
  slots: readonly PlacedSlot[],
  takings: readonly PlacedSlot[],
  context: OfferContext,
  config: OfferConfig,
): SlotChange[] {
  return offersIn(slots, config).flatMap((offer) => changesOf(offer, takings, context, config));
}
