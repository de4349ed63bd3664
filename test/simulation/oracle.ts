import { SchedulingSlotCapacityURI, SchedulingUnvalidatedBookingURI, type WithId } from '@medplum/core';
import type { Appointment, Extension, Slot, Task } from '@medplum/fhirtypes';
import { offerReason } from '../../core/booking/appointment/expiry.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { serviceIdOf } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { REPLACES } from '../../core/fhir/tags.ts';
import { visitGroupOf } from '../../core/visits/visit.ts';
import { offeredFor, type Stage } from './acts.ts';
import { instant, MINUTE, periodOf, type Stored } from './clinic.ts';
import { config } from './config.ts';

/** Something that must never be. */
export interface Violation {
  readonly rule: string;
  readonly text: string;
}

interface Interval {
  readonly start: number;
  readonly end: number;
}

/** An open appointment in one calendar, as everybody can see it. */
interface Visit extends Interval {
  readonly id: string;
  readonly status: string;
  readonly isOverbooking: boolean;
  readonly isByStaff: boolean;
  /** What of its time its Slots give it that were on offer once: it has a place there. */
  readonly offered: readonly Interval[];
  /** Ids of all its Slots. */
  readonly slots: readonly string[];
  /** Whether it has time that staff took as it is, without buffers. */
  readonly isAsTaken: boolean;
}

/** Time that no place of the calendar has: a Slot that was never free, by somebody else than the service. */
interface ExternalSlot extends Interval {
  readonly id: string;
  /** Whether it was on offer until staff took it: then it takes one place. */
  readonly isPlace: boolean;
  /** Whether it is a block, not an appointment. */
  readonly isBlock: boolean;
  readonly isOverbooking: boolean;
}

const overlaps = (interval: Interval, other: Interval): boolean =>
  interval.start < other.end && other.start < interval.end;

const times = ({ start, end }: { start?: string; end?: string }): Interval => ({
  start: Date.parse(start ?? ''),
  end: Date.parse(end ?? ''),
});

const clock = (time: number): string => instant(time).slice(11, 16);
const text = ({ start, end }: Interval): string => `${clock(start)}–${clock(end)}`;

const OVERBOOKING: readonly string[] = [artefactUri(config, 'LocalOverbooking'), SchedulingUnvalidatedBookingURI];
const HELD_UNTIL = artefactUri(config, 'LocalHeldUntil');

const isOverbooking = ({ extension = [] }: Appointment | Slot): boolean =>
  extension.some(({ url, valueBoolean }) => OVERBOOKING.includes(url) && valueBoolean === true);

/** Whether Medplum booked a Slot as one of several at its time. */
const isStamped = ({ extension = [] }: Slot): boolean =>
  extension.some(({ url, valuePositiveInt = 1 }) => url === SchedulingSlotCapacityURI && valuePositiveInt > 1);

const openStatuses: readonly string[] = ['booked', 'pending', 'arrived', 'checked-in'];

/** Whether an appointment has its time: a hold has it until it ends. */
export function isOpen({ status, extension = [] }: Appointment, now: number): boolean {
  const until = extension.find(({ url }) => url === HELD_UNTIL)?.valueInstant;
  return openStatuses.includes(status) || (status === 'proposed' && until !== undefined && Date.parse(until) > now);
}

const taken: readonly string[] = ['busy', 'busy-tentative', 'busy-unavailable'];

const reference = (slot: { reference?: string }): string => slot.reference?.split('/')[1] ?? '';

/** What a calendar holds. */
interface Content {
  readonly calendar: Stored;
  readonly slots: readonly WithId<Slot>[];
  readonly visits: readonly Visit[];
  readonly takings: readonly ExternalSlot[];
}

/** What the versions of a Slot tell: whether it began as an offer, who made it, and who gave it its status. */
function originOf(
  { world }: Stage,
  id: string,
): { wasOffered: boolean; isMadeByService: boolean; isSetByStaff: boolean } {
  const versions = world.medplum.unit
    .versions('Slot', id)
    .flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
  const isByService = (slot: Slot | undefined): boolean => slot?.meta?.author?.reference?.startsWith('Bot/') ?? false;
  const [latest] = versions;
  const other = versions.findIndex(({ status }) => status !== latest?.status);
  const set = other < 0 ? versions.at(-1) : versions[other - 1];
  const first = versions.at(-1);
  return { wasOffered: first?.status === 'free', isMadeByService: isByService(first), isSetByStaff: !isByService(set) };
}

/**
 * Whether an appointment that somebody wrote past the service still has to be followed: the Slot that it names belongs to
 * another one. Which of the two stays is decided within seconds.
 */
function isContested(appointment: Appointment, open: readonly Appointment[]): boolean {
  const own = (appointment.slot ?? []).map(reference);
  const isByService = appointment.meta?.author?.reference?.startsWith('Bot/') ?? false;
  const others = open.filter(
    (one) => one.id !== appointment.id && one.slot?.some((slot) => own.includes(reference(slot))),
  );
  const isEarlier = others.every(
    (one) =>
      !one.meta?.author?.reference?.startsWith('Bot/') &&
      (one.meta?.lastUpdated ?? '') > (appointment.meta?.lastUpdated ?? ''),
  );
  return !isByService && others.length > 0 && !isEarlier;
}

function contentOf(stage: Stage, calendar: Stored, isQuiet = true): Content {
  const { medplum } = stage.world;
  const now = medplum.now();
  const ofSchedule = `Schedule/${calendar.schedule.id}`;
  const slots = medplum.all<Slot>('Slot').filter(({ schedule }) => schedule.reference === ofSchedule);
  const byId = new Map(slots.map((slot) => [slot.id, slot]));
  const isOnlySchedule =
    [...stage.clinic.calendars.values()].filter(({ actor }) => actor === calendar.actor).length === 1;
  const appointments = medplum.all<Appointment>('Appointment').filter((appointment) => isOpen(appointment, now));
  const open = appointments.filter((appointment) => isQuiet || !isContested(appointment, appointments));
  const visits = open.flatMap((appointment): Visit[] => {
    const own = (appointment.slot ?? []).flatMap((slot) => byId.get(reference(slot)) ?? []);
    const isActor = appointment.participant.some(({ actor }) => actor?.reference === calendar.actor) && isOnlySchedule;
    if (own.length === 0 && !(isActor && !appointment.slot?.length)) {
      return [];
    }
    const origins = own.map(({ id }) => originOf(stage, id));
    const offered = own.filter((slot, index) => origins[index]?.wasOffered || isStamped(slot)).map(times);
    return [
      {
        id: appointment.id,
        status: appointment.status,
        ...times(appointment),
        isOverbooking: isOverbooking(appointment),
        isByStaff: !stage.world.medplum.unit
          .versions('Appointment', appointment.id)
          .at(-1)
          ?.resource?.meta?.author?.reference?.startsWith('Bot/'),
        offered,
        slots: own.map(({ id }) => id),
        isAsTaken:
          own.length > 0 && origins.every(({ wasOffered, isMadeByService }) => !wasOffered && !isMadeByService),
      },
    ];
  });
  const held = new Set(visits.flatMap((visit) => visit.slots));
  const externals = slots
    .filter((slot) => taken.includes(slot.status) && !held.has(slot.id))
    .flatMap((slot): ExternalSlot[] => {
      const { wasOffered, isMadeByService, isSetByStaff } = originOf(stage, slot.id);
      return (wasOffered ? !isSetByStaff : isMadeByService)
        ? []
        : [
            {
              id: slot.id,
              ...times(slot),
              isPlace: wasOffered,
              isBlock: slot.status === 'busy-unavailable',
              isOverbooking: isOverbooking(slot),
            },
          ];
    });
  return { calendar, slots, visits, takings: externals };
}

const placesOf = ({ plan }: Stored): number => plan.offers?.length ?? plan.capacity ?? 1;

/** An appointment with the time that its service needs around it. */
function around({ start, end }: Interval, { plan: { before = 0, after = 0 } }: Stored): Interval {
  return { start: start - before * MINUTE, end: end + after * MINUTE };
}

/** Whether two appointments cannot both have one place. */
const exclude = (interval: Interval, other: Interval, calendar: Stored): boolean =>
  overlaps(around(interval, calendar), around(other, calendar));

/** Whether an appointment has all of its time from offers; else it takes time from every place. */
const isPlaced = ({ offered, start, end }: Visit): boolean => {
  let reached = start;
  for (const interval of [...offered].sort((a, b) => a.start - b.start)) {
    reached = interval.start <= reached ? Math.max(reached, interval.end) : reached;
  }
  return reached >= end;
};

/** The times at one moment that are more than there are places, if there are. */
function crowdIn(times: readonly Interval[], places: number): Interval[] | undefined {
  const ordered = times.toSorted((interval, other) => interval.start - other.start);
  return ordered
    .map((interval) => ordered.filter((other) => other.start <= interval.start && interval.start < other.end))
    .find((together) => together.length > places);
}

/** Since when a resource has the time that it has: an instant. */
function since({ world }: Stage, type: 'Appointment' | 'Slot', id: string): string {
  let first = '';
  let time: string | undefined;
  for (const { resource, lastUpdated } of world.medplum.unit.versions(type, id)) {
    const is = isResource(resource, 'Appointment') || isResource(resource, 'Slot') ? resource : undefined;
    const own = `${is?.start} ${is?.end}`;
    time ??= own;
    if (own !== time) {
      break;
    }
    first = lastUpdated;
  }
  return first;
}

function twiceSold(stage: Stage, { calendar, visits, takings }: Content, isQuiet: boolean): Violation[] {
  const exclusive = visits.filter((one) => !one.isOverbooking);
  const placed = exclusive.filter(isPlaced);
  // What two of the staff write at the same moment is decided by the jobs that follow: until then each is judged without
  // the others.
  const byStaff = isQuiet ? [] : placed.filter((one) => one.isByStaff);
  const others = placed.filter((one) => !byStaff.includes(one));
  const crowd = [others, ...byStaff.map((one) => [...others, one])]
    .map((validated) => validated.map((one) => around(one, calendar)))
    .map((times) => crowdIn(times, placesOf(calendar)))
    .find((times) => times !== undefined);
  const found: Violation[] = [];
  if (crowd) {
    const those = placed.filter((one) => crowd.some((interval) => overlaps(around(one, calendar), interval)));
    const rule = 'no two open appointments have the same place at the same time, buffers included';
    found.push({ rule, text: `${calendar.name}: ${those.map((one) => `${one.status} ${text(one)}`).join(' and ')}` });
  }
  for (const one of exclusive.filter((each) => !isPlaced(each))) {
    const isSeen = (each: Visit): boolean => isQuiet || !each.isByStaff || !one.isByStaff;
    for (const other of exclusive.filter(
      (each) =>
        each !== one &&
        isSeen(each) &&
        (one.isByStaff ? overlaps(one, each.isAsTaken ? each : around(each, calendar)) : exclude(each, one, calendar)),
    )) {
      const rule = 'an appointment that was given no place has its time alone';
      found.push({ rule, text: `${calendar.name}: ${one.status} ${text(one)} and ${other.status} ${text(other)}` });
    }
  }
  const places = placesOf(calendar);
  for (const external of takings.filter((externalSlot) => !externalSlot.isOverbooking)) {
    // Staff may block time that is booked, and see to the appointments afterwards.
    const under = exclusive.filter(
      (visit) =>
        overlaps(visit.isByStaff ? visit : around(visit, calendar), external) &&
        // What two of the staff write at the same moment is seen once it is followed.
        (isQuiet || !visit.isByStaff) &&
        // A new Slot of theirs that no appointment names is a block, whatever its status.
        !(
          (external.isBlock || !external.isPlace) &&
          since(stage, 'Appointment', visit.id) <= since(stage, 'Slot', external.id)
        ),
    );
    const blocked = takings.filter((externalSlot) => externalSlot.isPlace && overlaps(externalSlot, external));
    const taken = [...under.map((one) => around(one, calendar)), ...blocked];
    if (under.length > 0 && (!external.isPlace || crowdIn(taken, places))) {
      const rule = 'nothing overlaps what takes time';
      const visit = under[0] ?? external;
      found.push({ rule, text: `${calendar.name}: an appointment ${text(visit)} and a taken Slot ${text(external)}` });
    }
  }
  return found;
}

function slotsTaken(stage: Stage, isQuiet: boolean): Violation[] {
  const { medplum } = stage.world;
  const now = medplum.now();
  const slots = new Map(medplum.all<Slot>('Slot').map((slot) => [slot.id, slot]));
  const appointments = medplum.all<Appointment>('Appointment').filter((one) => isOpen(one, now));
  const open = appointments.filter((one) => isQuiet || !isContested(one, appointments));
  const holders = new Map<string, Appointment[]>();
  const found: Violation[] = [];
  for (const appointment of open) {
    const isByService = appointment.meta?.author?.reference?.startsWith('Bot/') ?? false;
    const name = `${appointment.status} ${text(times(appointment))}`;
    for (const id of (appointment.slot ?? []).map(reference)) {
      const status = slots.get(id)?.status;
      // Sent before its new Slot, one request after the other, it names none yet.
      if (id) {
        holders.set(id, [...(holders.get(id) ?? []), appointment]);
      }
      if ((isQuiet || (isByService && status)) && !taken.includes(status ?? '') && !isOverbooking(appointment)) {
        const rule = 'every slot of an open appointment is taken';
        found.push({ rule, text: `${name} has a Slot that is ${status ?? 'deleted'}` });
      }
    }
  }
  for (const both of holders.values()) {
    if (both.filter((one) => !isOverbooking(one)).length > 1) {
      const rule = 'a slot belongs to one open appointment alone';
      found.push({ rule, text: both.map((one) => `${one.status} ${text(times(one))}`).join(' and ') });
    }
  }
  return found;
}

/** The Slots of an open appointment are those of its time: never some of another one, and all of it when all is quiet. */
function ofTheirTime(stage: Stage, isQuiet: boolean): Violation[] {
  const { medplum } = stage.world;
  const slots = new Map(medplum.all<Slot>('Slot').map((slot) => [slot.id, slot]));
  const calendars = [...stage.clinic.calendars.values()];
  return medplum
    .all<Appointment>('Appointment')
    .filter((appointment) => isOpen(appointment, medplum.now()))
    .flatMap((appointment): Violation[] => {
      const own = (appointment.slot ?? []).flatMap((slot) => slots.get(reference(slot)) ?? []);
      const isNear = (slot: Slot): boolean => {
        const calendar = calendars.find(({ schedule }) => slot.schedule.reference === `Schedule/${schedule.id}`);
        return !calendar || overlaps(times(slot), around(times(appointment), calendar));
      };
      const schedules = Map.groupBy(own.filter(isNear), ({ schedule }) => schedule.reference);
      const isWhole =
        own.length > 0 &&
        [...schedules.values()].every(
          (some) => some.map(times).reduce<Interval[]>(subtract, [times(appointment)]).length === 0,
        );
      const hadSlots = medplum.unit
        .versions('Appointment', appointment.id)
        .some(({ resource }) => isResource(resource, 'Appointment') && resource.slot?.length);
      const text_ = `${appointment.status} ${text(times(appointment))}: ${own.map((slot) => text(times(slot))).join(', ')}`;
      // What somebody has done to a Slot since is still to be followed, and so is a time that staff have written.
      const isFollowed =
        (appointment.meta?.author?.reference?.startsWith('Bot/') ?? false) &&
        own.every(({ meta }) => (meta?.lastUpdated ?? '') <= (appointment.meta?.lastUpdated ?? ''));
      if ((isQuiet || isFollowed) && own.some(isNear) && !own.every(isNear)) {
        return [{ rule: 'an appointment has no Slots of another time', text: text_ }];
      }
      return isQuiet && hadSlots && !isWhole
        ? [{ rule: 'an open appointment has Slots for all of its time', text: text_ }]
        : [];
    });
}

/** What is moved is told as one change: it gets its new time once, and is not cancelled in between. */
function toldOnce({ world: { medplum }, moves }: Stage): Violation[] {
  return [...moves].flatMap(([id, most]): Violation[] => {
    const versions = medplum.unit
      .versions('Appointment', id)
      .flatMap(({ resource }) => (isResource(resource, 'Appointment') ? [resource] : []))
      .toReversed();
    const changes = versions.filter((one, index) => index > 0 && one.start !== versions[index - 1]?.start);
    const isRevived = versions.some(
      (one, index) => one.status !== 'cancelled' && versions[index - 1]?.status === 'cancelled',
    );
    return changes.length > most || isRevived
      ? [{ rule: 'a move is told once', text: versions.map((one) => `${one.status} ${text(times(one))}`).join(', ') }]
      : [];
  });
}

/** What somebody was told, and what is stored. */
function kept(stage: Stage, isQuiet: boolean): Violation[] {
  const { acknowledged, blocked, released, refused } = stage;
  const { medplum } = stage.world;
  // What becomes of those who do not answer for an absence.
  const stored = new Map(medplum.all<Appointment>('Appointment').map((appointment) => [appointment.id, appointment]));
  const silenced = new Set(
    rowsOf(stage, 'affected')
      .filter((row) => inputOf(row, 'silence')[0]?.valueCode !== 'keep')
      .flatMap((row) => {
        const offer = stored.get(offerIn(row));
        return [reference(row.focus ?? {}), ...(offer ? offeredFor(offer) : [])];
      }),
  );
  const slots = new Map(medplum.all<Slot>('Slot').map((slot) => [slot.id, slot]));
  const found: Violation[] = [];
  // What an appointment of theirs took goes with it.
  const ended = [...stored.values()]
    .filter(({ status }) => status === 'cancelled')
    .flatMap(({ slot = [] }) => slot.map(reference));
  for (const [id, status] of blocked) {
    const slot = slots.get(id);
    if (slot?.status !== status && !ended.includes(id)) {
      const rule = 'a Slot that staff set stays as they set it';
      found.push({ rule, text: `${slot ? text(times(slot)) : ''} was ${status} and is ${slot?.status ?? 'deleted'}` });
    }
  }
  for (const { id, start, end, isHold } of acknowledged.values()) {
    const one = stored.get(id);
    const isOver = isHold && one !== undefined && !isOpen({ ...one, status: 'proposed' }, medplum.now());
    const wasGivenWay = one?.cancelationReason?.coding?.some(({ code }) => code === 'slot-not-free');
    if (released.has(id) || isOver || wasGivenWay || silenced.has(id)) {
      continue;
    }
    const isThere = one && isOpen(one, medplum.now()) && times(one).start === start && times(one).end === end;
    // An appointment follows a Slot that staff have moved.
    const isFollowing = (one?.slot ?? [])
      .flatMap((each) => slots.get(reference(each)) ?? [])
      .some((slot) => times(slot).start === start && times(slot).end === end);
    if (!isThere && (isQuiet || !isFollowing)) {
      const rule = 'what was acknowledged is there until somebody ends it';
      const now = one ? `${one.status} ${text(times(one))}` : 'gone';
      found.push({ rule, text: `${isHold ? 'a hold' : 'a booking'} ${text({ start, end })} is ${now}` });
    }
  }
  for (const one of stored.values()) {
    const value = one.identifier?.find(({ system }) => system === 'urn:portal')?.value;
    if (value !== undefined && refused.has(value) && isOpen(one, medplum.now())) {
      const rule = 'what was refused left nothing';
      found.push({ rule, text: `${one.status} ${text(times(one))} was refused` });
    }
  }
  return found;
}

/** Of a visit all appointments are open, or none, unless staff have ended one. */
function whole({ world: { medplum }, split }: Stage): Violation[] {
  const groups = Map.groupBy(medplum.all<Appointment>('Appointment'), (one) => visitGroupOf(one, config));
  return [...groups].flatMap(([group, some]): Violation[] => {
    // What an absence offered in place of one step has replaced it.
    const replaced = some.flatMap(({ extension = [] }) =>
      extension.flatMap(({ url, valueReference }) => (url === REPLACES ? (valueReference?.reference ?? []) : [])),
    );
    const all = some.filter(({ id }) => !replaced.includes(`Appointment/${id}`));
    if (group === undefined || split.has(group)) {
      return [];
    }
    const open = all.filter((one) => isOpen(one, medplum.now()));
    const isWhole = all.length > 1 && (open.length === 0 || open.length === all.length);
    const now = all.map((one) => `${one.status} ${text(times(one))}`).join(' and ');
    return isWhole ? [] : [{ rule: 'a visit is whole, or not there', text: now }];
  });
}

/** Whether a Slot was freed since somebody waits. */
function wasFreedSince({ world }: Stage, slot: string, moment: string): boolean {
  const versions = world.medplum.unit.versions('Slot', slot);
  const isFree = (index: number): boolean => {
    const resource = versions[index]?.resource;
    return isResource(resource, 'Slot') && resource.status === 'free';
  };
  return versions.some(
    ({ lastUpdated }, index) =>
      lastUpdated > moment && isFree(index) && index + 1 < versions.length && !isFree(index + 1),
  );
}

/** What was refused although it was accepted in time. */
export const judgeAnswers = ({ unkept }: Stage): Violation[] =>
  unkept.map((text) => ({ rule: 'an offer accepted in time is kept', text }));

/** What must hold of those who wait: each has one offer at most, and freed time is offered. */
function waited(stage: Stage, contents: readonly Content[], isQuiet: boolean): Violation[] {
  const { medplum } = stage.world;
  const appointments = medplum.all<Appointment>('Appointment');
  const offers = appointments.filter((appointment) => offeredFor(appointment).length > 0);
  const current = offers.filter(
    (appointment) => appointment.status === 'proposed' && isOpen(appointment, medplum.now()),
  );
  const found: Violation[] = [];
  for (const entry of appointments.filter(({ status }) => status === 'waitlist')) {
    const own = current.filter((appointment) => offeredFor(appointment).includes(entry.id));
    const joined = medplum.unit.versions('Appointment', entry.id).at(-1)?.lastUpdated ?? '';
    const replaced = entry.extension?.find(({ url }) => url === REPLACES)?.valueReference;
    const stood =
      replaced &&
      appointments.find(
        (appointment) => appointment.id === reference(replaced) && openStatuses.includes(appointment.status),
      );
    // Whoever has an offer is not asked for another time that is freed meanwhile: that is everybody's. Nobody is asked twice.
    const isSamePerson = ({ participant: [one] }: Appointment): boolean =>
      reference(one?.actor ?? {}) === reference(entry.participant[0]?.actor ?? {});
    // Whether freed time makes a whole visit possible is not known here.
    const isOfVisit = entry.serviceType?.some((type) => serviceIdOf(type) === stage.clinic.visit);
    const isAsked = offers.some(
      (appointment) => offeredFor(appointment).includes(entry.id) || isSamePerson(appointment),
    );
    if (new Set(own.map((appointment) => visitGroupOf(appointment, config) ?? appointment.id)).size > 1) {
      found.push({
        rule: 'one offer at a time',
        text: own.map((appointment) => text(times(appointment))).join(' and '),
      });
    }
    const free = contents
      .filter(({ calendar }) => calendar.plan.refill)
      .flatMap(({ slots }) => slots.filter(({ status }) => status === 'free'))
      .filter(({ id, start, end }) => {
        const isWished = entry.requestedPeriod?.some(
          (wish) => Date.parse(wish.start ?? '') <= Date.parse(start) && Date.parse(end) <= Date.parse(wish.end ?? ''),
        );
        const isEarlier = !stood || start < (stood.start ?? '');
        return isWished && !isOfVisit && isEarlier && wasFreedSince(stage, id, joined);
      });
    if (isQuiet && !isAsked && free.length > 0) {
      found.push({ rule: 'freed time is offered to those who wait', text: free.map(times).map(text).join(', ') });
    }
  }
  return found;
}

const rowsOf = ({ world: { medplum } }: Stage, code: 'absence' | 'affected' | 'book'): WithId<Task>[] =>
  medplum.all<Task>('Task').filter((row) => row.code?.coding?.some((coding) => coding.code === code));

const inputOf = ({ input = [] }: Task, name: string) => input.filter(({ type }) => type.text === name);

const offerIn = (row: Task): string => reference(inputOf(row, 'offer')[0]?.valueReference ?? {});

/** What is offered in place of appointments that cannot take place, and until when. */
export function absenceOffers({ world: { medplum } }: Stage): { readonly id: string; readonly until: number }[] {
  return medplum
    .all<Appointment>('Appointment')
    .filter(
      (appointment) =>
        appointment.status === 'proposed' &&
        isOpen(appointment, medplum.now()) &&
        offerReason(appointment, config) === 'absence',
    )
    .map(({ id, extension }) => ({
      id,
      until: Date.parse(extension?.find(({ url }) => url === HELD_UNTIL)?.valueInstant ?? ''),
    }));
}

/** What must hold of absences after every step: an offer stands as long as a row waits for its answer, or its person is to be called. */
function offeredInstead(stage: Stage): Violation[] {
  const appointments = stage.world.medplum.all<Appointment>('Appointment');
  const groupOf = (id: string): string =>
    appointments.flatMap((appointment) =>
      appointment.id === id ? (visitGroupOf(appointment, config) ?? []) : [],
    )[0] ?? id;
  const waiting = new Set(
    rowsOf(stage, 'affected')
      // A person who is called is called with a time that is held.
      .filter(({ status }) => status === 'in-progress' || status === 'ready')
      .map((row) => groupOf(offerIn(row))),
  );
  return absenceOffers(stage)
    .filter(({ id }) => !waiting.has(groupOf(id)))
    .map(({ id }) => ({ rule: 'an offer of an absence has a row that waits for its answer', text: id }));
}

/** How an appointment that an absence affects has ended; `undefined` if it has not. */
function endOf({ status, businessStatus }: Task): string | undefined {
  const said = businessStatus?.coding?.[0]?.code;
  return said ?? (status === 'cancelled' ? 'over' : undefined);
}

const isReplacing = ({ url, valueReference }: Extension, id: string | undefined): boolean =>
  url === REPLACES && valueReference?.reference === `Appointment/${id}`;

/** Whether an appointment is where its row says. */
function isAsSaid(stage: Stage, row: Task): boolean {
  const { medplum } = stage.world;
  const appointments = medplum.all<Appointment>('Appointment');
  const appointment = appointments.find(({ id }) => id === reference(row.focus ?? {}));
  const isThere = appointment !== undefined && isOpen(appointment, medplum.now());
  const before = inputOf(row, 'start')[0]?.valueDateTime ?? inputOf(row, 'start')[0]?.valueInstant;
  const offered = appointments.find(({ id }) => id === offerIn(row));
  switch (endOf(row)) {
    case 'moved':
      return (
        (isThere && Date.parse(appointment.start ?? '') !== Date.parse(before ?? '')) ||
        (!isThere &&
          appointments.some(({ extension = [] }) => extension.some((its) => isReplacing(its, appointment?.id)))) ||
        (!isThere && offered !== undefined && (isOpen(offered, medplum.now()) || stage.released.has(offered.id)))
      );
    case 'declined':
      return !isThere;
    default:
      return true;
  }
}

/** What must hold of absences when all is quiet: each appointment under one has ended in exactly one way. */
export function judgeAbsences(stage: Stage): Violation[] {
  const { medplum } = stage.world;
  const now = medplum.now();
  const rows = rowsOf(stage, 'affected');
  const found: Violation[] = [];
  const slots = new Map(medplum.all<Slot>('Slot').map((slot) => [slot.id, slot]));
  const absent = rowsOf(stage, 'absence')
    .filter(({ status }) => status === 'in-progress' || status === 'completed')
    .flatMap((row) =>
      inputOf(row, 'block').flatMap(({ valueReference = {} }) => slots.get(reference(valueReference)) ?? []),
    );
  for (const appointment of medplum.all<Appointment>('Appointment')) {
    const own = rows.filter(({ focus }) => reference(focus ?? {}) === appointment.id);
    const isUnder =
      (appointment.status === 'booked' || appointment.status === 'pending') &&
      times(appointment).start > now &&
      (appointment.slot ?? []).some((slot) => {
        const schedule = slots.get(reference(slot))?.schedule.reference;
        return absent.some(
          (block) => block.schedule.reference === schedule && overlaps(times(block), times(appointment)),
        );
      });
    const ends = own.map((row) => endOf(row) ?? 'nothing yet').filter((end) => end !== 'over');
    // A visit has one line, whichever of its steps cannot take place.
    const group = visitGroupOf(appointment, config);
    const isNotified = rows.some(({ focus, ...row }) => {
      const other = medplum.all<Appointment>('Appointment').find(({ id }) => id === reference(focus ?? {}));
      const isSame = group !== undefined && other && visitGroupOf(other, config) === group;
      return isSame && endOf({ ...row, focus } as Task) === 'call';
    });
    const isWell = isUnder ? ends.includes('call') || isNotified : !ends.includes('nothing yet');
    const isOnce = own.filter(({ status }) => status === 'ready').length <= 1 && new Set(ends).size <= 1;
    if (!isWell || !isOnce || !own.every((row) => isAsSaid(stage, row))) {
      const rule = 'an appointment under an absence ends in exactly one of moved, declined, to call';
      found.push({
        rule,
        text: `${appointment.status} ${text(times(appointment))}: ${ends.join(' and ') || 'nothing'}`,
      });
    }
  }
  return found;
}

/** What must hold of asynchronous bookings when all is quiet: each was answered once, by what is so. */
export function judgeAsked({ world: { medplum }, asked }: Stage): Violation[] {
  const appointments = medplum.all<Appointment>('Appointment');
  return [...asked].flatMap(([id, value]) => {
    const versions = medplum.unit.versions('Task', id).map(({ resource }) => resource as Task | undefined);
    const answers = versions.filter((task) => task?.status !== 'requested');
    const open = appointments.filter(
      (appointment) => appointment.identifier?.some((own) => own.value === value) && isOpen(appointment, medplum.now()),
    );
    const [outcome] = answers[0]?.contained ?? [];
    const isRefused = isResource(outcome, 'OperationOutcome') && outcome.issue.every(({ details }) => details?.coding);
    const isSo = answers[0]?.status === 'completed' ? open.length === 1 : isRefused && open.length === 0;
    const text = `${answers.map((task) => task?.status).join(' and ') || 'nothing'}, ${open.length} booked`;
    return answers.length === 1 && isSo ? [] : [{ rule: 'what is asked for is answered once, by what is so', text }];
  });
}

/** What must hold after every step. */
export function judge(stage: Stage, isQuiet = false): Violation[] {
  const contents = [...stage.clinic.calendars.values()].map((calendar) => contentOf(stage, calendar, isQuiet));
  return [
    ...contents.flatMap((content) => twiceSold(stage, content, isQuiet)),
    ...slotsTaken(stage, isQuiet),
    ...ofTheirTime(stage, isQuiet),
    ...toldOnce(stage),
    ...whole(stage),
    ...kept(stage, isQuiet),
    ...waited(stage, contents, isQuiet),
    ...offeredInstead(stage),
  ];
}

/** Whether a place has all of this time: of a place whose Slots are made by hand it is known what it has. */
function hasTime({ plan }: Stored, place: number, { start, end }: Interval): boolean {
  const offers = plan.offers?.[place]?.map((offer) => periodOf(offer, plan));
  return offers === undefined || offers.reduce<Interval[]>(subtract, [{ start, end }]).length === 0;
}

/** All ways in which appointments can have the places of a calendar. */
function* arrangements(visits: readonly Visit[], places: number, calendar: Stored): Iterable<Visit[][]> {
  const [first, ...others] = visits;
  if (!first) {
    yield Array.from({ length: places }, () => []);
    return;
  }
  for (const arranged of arrangements(others, places, calendar)) {
    for (const [index, place] of arranged.entries()) {
      if (hasTime(calendar, index, first) && place.every((visit) => !exclude(visit, first, calendar))) {
        yield arranged.map((each, position) => (position === index ? [...each, first] : each));
      }
    }
  }
}

function subtract(from: readonly Interval[], { start, end }: Interval): Interval[] {
  return from.flatMap((interval) =>
    overlaps(interval, { start, end })
      ? [
          { start: interval.start, end: Math.min(interval.end, start) },
          { start: Math.max(interval.start, end), end: interval.end },
        ].filter((left) => left.start < left.end)
      : [interval],
  );
}

/** What of a calendar must be on offer if its appointments have these places: for each place, the times of its Slots. */
function expected(
  stage: Stage,
  { calendar, takings, slots }: Content,
  arranged: readonly Visit[][],
  alone: readonly Visit[],
) {
  const { plan, schedule } = calendar;
  const { duration = 5, grid = duration, before = 0, after = 0 } = plan;
  // Medplum's own appointments name the Slots around them, too.
  const theirs = slots.filter(({ id }) => alone.some((visit) => visit.slots.includes(id))).map(times);
  // An overbooking on a Slot has time around it like any other.
  const overbooked = alone.map((visit) => (isPlaced(visit) ? around(visit, calendar) : visit));
  const everywhere = [...takings, ...overbooked, ...theirs];
  const spread = (before + after) * MINUTE;
  const blocks = everywhere.map(({ start, end }) => ({ start: start - after * MINUTE, end: end + before * MINUTE }));
  return arranged.map((visits, index): Interval[] => {
    if (plan.offers) {
      const own = visits.map(({ start, end }) => ({ start: start - spread, end: end + spread }));
      const offers = (plan.offers[index] ?? []).map((offer) => periodOf(offer, plan));
      const left = [...own, ...blocks].reduce<Interval[]>(subtract, offers);
      return left.filter(({ start, end }) => end - start >= duration * MINUTE);
    }
    const hours = stage.hours.get(schedule.id) ?? plan.hours;
    if (!hours) {
      return [];
    }
    const { start: opens, end: closes } = periodOf(hours, plan);
    const starts: Interval[] = [];
    for (let start = opens; start < closes; start += grid * MINUTE) {
      const slot = { start, end: start + duration * MINUTE };
      const whole = around(slot, calendar);
      const isInHours = opens <= whole.start && whole.end <= closes;
      const isFree = [...visits.map((visit) => around(visit, calendar)), ...everywhere].every(
        (interval) => !overlaps(interval, whole),
      );
      if (isInHours && isFree) {
        starts.push(slot);
      }
    }
    return starts;
  });
}

const length = ({ start, end }: Interval): number => end - start;

/** Which of the wanted times no Slot has; of a longer Slot the rest remains. */
function uncovered(wanted: readonly Interval[], free: readonly Interval[]): Interval[] {
  let left = [...free];
  return wanted
    .toSorted((interval, other) => length(other) - length(interval))
    .filter((interval) => {
      const [best] = left
        .filter((other) => other.start <= interval.start && interval.end <= other.end)
        .sort((other, another) => length(other) - length(another));
      if (best) {
        left = [...left.filter((other) => other !== best), ...subtract([best], interval)];
      }
      return !best;
    });
}

/** How many of some times lie at a moment. */
const countAt = (intervals: readonly Interval[], moment: number): number =>
  intervals.filter(({ start, end }) => start <= moment && moment < end).length;

/** The appointments that have a place of their own: an overbooking may share one with what it overlaps. */
function withOwnPlace(visits: readonly Visit[], externals: readonly Interval[]): Visit[] {
  const isOverTaking = (visit: Visit): boolean => externals.some((external) => overlaps(visit, external));
  return visits.filter(
    (visit, index) => !(visit.isOverbooking && (isOver(visit, visits, index) || isOverTaking(visit))),
  );
}

/** Whether an overbooking overlaps another appointment; of two overbookings only the later one does. */
const isOver = (visit: Visit, visits: readonly Visit[], index: number): boolean =>
  visits.some((other, at) => overlaps(visit, other) && (other.isOverbooking ? at < index : true));

/** The Slots that are free although every place is taken at their time. */
function offeredTwice({ calendar, slots, visits, takings }: Content): string[] {
  const everywhere = [...takings.filter(({ isPlace }) => !isPlace), ...visits.filter((visit) => !isPlaced(visit))];
  const ofPlaces = takings.filter(({ isPlace }) => isPlace);
  const placed = [...ofPlaces, ...withOwnPlace(visits.filter(isPlaced), ofPlaces)];
  const free = slots.filter(({ status }) => status === 'free').map(times);
  return free
    .filter(
      (slot) =>
        everywhere.some((one) => overlaps(one, slot)) ||
        placed.some(
          (one) => overlaps(one, slot) && countAt(placed, Math.max(one.start, slot.start)) >= placesOf(calendar),
        ),
    )
    .map(text);
}

/** What is missing from the offers of a calendar; empty if nothing is. */
function missing(stage: Stage, content: Content): string[] {
  const { calendar, slots, visits } = content;
  const placed = visits.filter((visit) => isPlaced(visit) && !visit.isOverbooking);
  const alone = visits.filter((visit) => !isPlaced(visit) || visit.isOverbooking);
  const free = slots.filter(({ status }) => status === 'free').map(times);
  const removed = [...stage.removed].flatMap((id) => stage.world.medplum.unit.versions('Slot', id).slice(1, 2));
  // Nor need the time be offered of a Slot that staff set.
  const set = slots.filter(({ id }) => stage.blocked.has(id)).map(times);
  const optional = [
    ...set,
    ...removed.flatMap(({ resource }) => (isResource(resource, 'Slot') ? [times(resource)] : [])),
  ];
  let least: string[] | undefined;
  for (const arranged of arrangements(placed, placesOf(calendar), calendar)) {
    const wanted = expected(stage, content, arranged, alone)
      .flat()
      .filter((interval) => !optional.some((other) => overlaps(interval, other)));
    const absent = uncovered(wanted, free);
    if (least === undefined || absent.length < least.length) {
      least = absent.map(text);
    }
  }
  return least ?? [];
}

/** What must hold when all is quiet, besides `judge`: whatever can be offered is on offer. */
export function judgeOffers(stage: Stage): Violation[] {
  return [...stage.clinic.calendars.values()].flatMap((calendar): Violation[] => {
    const content = contentOf(stage, calendar);
    const absent = missing(stage, content);
    const rule = 'what could be offered is on offer';
    const twice = offeredTwice(content);
    return [
      ...(absent.length > 0 ? [{ rule, text: `${calendar.name}: nobody is offered ${absent.join(', ')}` }] : []),
      ...(twice.length > 0
        ? [{ rule: 'what is taken is not on offer', text: `${calendar.name}: ${twice.join(', ')}` }]
        : []),
    ];
  });
}

/** The Slots that a portal is offered. */
export function offersOf({ world: { medplum }, clinic }: Stage): { slot: WithId<Slot>; calendar: Stored }[] {
  const now = medplum.now();
  return medplum.all<Slot>('Slot').flatMap((slot) => {
    const calendar = [...clinic.calendars.values()].find(
      ({ schedule }) => slot.schedule.reference === `Schedule/${schedule.id}`,
    );
    return calendar && slot.status === 'free' && Date.parse(slot.start) >= now ? [{ slot, calendar }] : [];
  });
}
