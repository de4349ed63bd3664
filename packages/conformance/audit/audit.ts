import type { Appointment, Slot } from '@medplum/fhirtypes';
import { around, isCrowded, overlaps, type Period, type Terms } from '../attack/history.ts';

/** A version of an Appointment or a Slot; without a resource it is the deletion. */
export interface Version {
  readonly type: 'Appointment' | 'Slot';
  readonly id: string;
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  readonly resource?: Appointment | Slot;
}

/** A finding of an audit. */
export interface Finding {
  readonly kind: 'sold twice' | 'lost' | 'not bookable';
  /** Milliseconds since 1970 UTC. */
  readonly from: number;
  /** Milliseconds since 1970 UTC; absent if it continues. */
  readonly until?: number;
  readonly schedule: string;
  readonly time: Period;
  readonly resources: readonly string[];
  readonly says: string;
}

interface Rules {
  readonly termsOf: (schedule: string) => Terms;
  /** Allowed delay of the server, in milliseconds. */
  readonly within: number;
  readonly now: number;
}

/** The time in which a version was the latest. */
interface Span {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

interface Visit extends Span {
  readonly time: Period;
  readonly slots: readonly string[];
  /** The appointments or visit groups that it replaces. */
  readonly replaces: readonly string[];
  readonly group: string | undefined;
  /** Status `noshow`: its time may be released, but need not be. */
  readonly isMissed: boolean;
  /** Whether its confirmation deadline passed before the next version. */
  readonly isLapsed: boolean;
}

interface Stay extends Span {
  readonly time: Period;
  readonly status: string;
  readonly schedule: string;
}

const OPEN: readonly string[] = ['booked', 'pending', 'arrived', 'checked-in', 'fulfilled'];
const MISSED = 'noshow';
const HOLDING: readonly string[] = [...OPEN, MISSED];
/** Allowed delay after a deadline: the server releases the Slot at the next run of its scheduled job. */
const BY_THE_CLOCK = 60_000;
const TAKEN: readonly string[] = ['busy', 'busy-tentative', 'busy-unavailable'];

const periodOf = ({ start, end }: { start?: string; end?: string }): Period => ({
  start: Date.parse(start ?? ''),
  end: Date.parse(end ?? ''),
});

const isOverbooking = ({ extension = [] }: Appointment): boolean =>
  extension.some(({ url, valueBoolean }) => url.endsWith('LocalOverbooking') && valueBoolean === true);

function endOf({ status, extension = [] }: Appointment): number {
  const deadline = extension.find(({ url }) => url.endsWith('LocalConfirmationDeadline'))?.valueInstant;
  return status === 'pending' && deadline !== undefined ? Date.parse(deadline) : Number.POSITIVE_INFINITY;
}

const groupOf = ({ identifier = [] }: Appointment): string | undefined =>
  identifier.find(({ system }) => system?.endsWith('LocalVisitGroup'))?.value;

/** The appointments that one replaces, and their visit groups. */
function replacedBy({ extension = [] }: Appointment, named: ReadonlyMap<string, readonly Version[]>): string[] {
  const replaced = extension.flatMap(({ url, valueReference }) =>
    url.endsWith('Appointment.replaces') ? [local(valueReference?.reference, 'Appointment')] : [],
  );
  const groups = replaced.flatMap((name) =>
    (named.get(name) ?? []).flatMap(({ resource }) =>
      resource?.resourceType === 'Appointment' ? (groupOf(resource) ?? []) : [],
    ),
  );
  return [...replaced, ...groups];
}

/** `Type/id` of a reference, which may be absolute or versioned; empty if it has another type. */
export function local(reference: string | undefined, type: string): string {
  const parts = (reference ?? '').split('/');
  const place = parts.indexOf(type);
  return place < 0 ? '' : `${type}/${parts[place + 1]}`;
}

const byName = (versions: readonly Version[]): Map<string, Version[]> =>
  Map.groupBy(
    versions.toSorted((version, other) => version.at - other.at),
    ({ type, id }) => `${type}/${id}`,
  );

function spansOf<S>(
  versions: ReadonlyMap<string, Version[]>,
  make: (version: Version, span: Span) => S | undefined,
): S[] {
  return [...versions].flatMap(([name, own]) =>
    own.flatMap((version, index) => {
      const until = own[index + 1]?.at ?? Number.POSITIVE_INFINITY;
      const made = until > version.at ? make(version, { name, from: version.at, until }) : undefined;
      return made === undefined ? [] : [made];
    }),
  );
}

const isInPlaceOf = (visit: Visit, other: Visit): boolean =>
  visit.replaces.includes(other.name) || (other.group !== undefined && visit.replaces.includes(other.group));

const intersection = (span: Span, other: Span): Span => ({
  name: '',
  from: Math.max(span.from, other.from),
  until: Math.min(span.until, other.until),
});

function finding(
  kind: Finding['kind'],
  { from, until }: Span,
  about: Omit<Finding, 'kind' | 'from' | 'until'>,
): Finding {
  return { kind, from, ...(until !== Number.POSITIVE_INFINITY && { until }), ...about };
}

const isLong = ({ from, until }: Span, { within, now }: Rules): boolean => Math.min(until, now) - from > within;

function merged(findings: readonly Finding[]): Finding[] {
  const all = new Map<string, Finding>();
  for (const one of findings.toSorted((a, b) => a.from - b.from)) {
    const key = [one.kind, one.time.start, one.time.end, ...one.resources.toSorted()].join(' ');
    const known = all.get(key);
    if (known?.until !== undefined && known.until >= one.from) {
      const { until: _, ...rest } = known;
      all.set(key, one.until === undefined ? rest : { ...known, until: Math.max(known.until, one.until) });
    } else if (!known) {
      all.set(key, one);
    } else {
      all.set(`${key} ${one.from}`, one);
    }
  }
  return [...all.values()].toSorted((a, b) => a.from - b.from);
}

interface Book {
  readonly schedule: string;
  readonly terms: Terms;
  /** Its appointments and Slots, by start. */
  readonly visits: readonly Visit[];
  readonly slots: readonly Stay[];
}

/** Lists the times that were double-booked, lost, or free but not bookable. */
export function audit(versions: readonly Version[], rules: Rules): Finding[] {
  const named = byName(versions);
  const visits = spansOf<Visit>(named, ({ resource }, span) =>
    resource?.resourceType === 'Appointment' && HOLDING.includes(resource.status) && !isOverbooking(resource)
      ? {
          ...span,
          until: Math.min(span.until, endOf(resource)),
          time: periodOf(resource),
          slots: (resource.slot ?? []).map(({ reference }) => local(reference, 'Slot')),
          replaces: replacedBy(resource, named),
          group: groupOf(resource),
          isMissed: resource.status === MISSED,
          isLapsed: endOf(resource) < span.until,
        }
      : undefined,
  ).sort((visit, other) => visit.time.start - other.time.start);
  const stays = spansOf<Stay>(named, ({ resource }, span) =>
    resource?.resourceType === 'Slot'
      ? {
          ...span,
          time: periodOf(resource),
          status: resource.status,
          schedule: local(resource.schedule.reference, 'Schedule'),
        }
      : undefined,
  ).sort((stay, other) => stay.time.start - other.time.start);
  const scheduleOf = new Map(stays.map(({ name, schedule }) => [name, schedule]));
  const findings = [...new Set(scheduleOf.values())].flatMap((schedule) => {
    const book = {
      schedule,
      terms: rules.termsOf(schedule),
      visits: visits.filter(({ slots }) => slots.some((slot) => scheduleOf.get(slot) === schedule)),
      slots: stays.filter((stay) => stay.schedule === schedule),
    };
    return [...soldTwice(book, rules), ...notBookable(book, rules), ...lostTime(book, rules)];
  });
  return merged([...findings, ...lostAppointments(named, scheduleOf)]);
}

/** Open appointments that share a Slot, or that exceed the capacity. */
function soldTwice({ schedule, terms, visits }: Book, rules: Rules): Finding[] {
  const own = visits.filter(({ isMissed }) => !isMissed);
  const reach = (terms.before + terms.after) * 60_000;
  return own.flatMap((visit, index) => {
    const later = own.slice(index + 1);
    const end = later.findIndex(({ time }) => time.start >= visit.time.end + reach);
    return later.slice(0, end < 0 ? later.length : end).flatMap((other) => {
      const both = intersection(visit, other);
      const isSame = visit.slots.some((slot) => other.slots.includes(slot));
      const near = around(other.time, terms);
      const meanwhile = own
        .filter(({ from, until }) => from <= both.from && both.from < until)
        .map(({ time }) => around(time, terms))
        .filter((time) => overlaps(time, near));
      // The writes of one transaction may have different times.
      const isInstead = isInPlaceOf(visit, other) || isInPlaceOf(other, visit);
      const areTogether = both.from < both.until && (!isInstead || isLong(both, rules));
      const areNear = overlaps(around(visit.time, terms), near);
      if (visit.name === other.name || !areTogether || !areNear || !(isSame || isCrowded(meanwhile, terms.capacity))) {
        return [];
      }
      const time = {
        start: Math.max(visit.time.start, other.time.start),
        end: Math.min(visit.time.end, other.time.end),
      };
      const says = isSame ? 'two open appointments have one Slot' : 'more open appointments than places';
      return [finding('sold twice', both, { schedule, time, resources: [visit.name, other.name], says })];
    });
  });
}

function notBookable({ schedule, terms, visits, slots }: Book, rules: Rules): Finding[] {
  const free = slots.filter(({ status }) => status === 'free');
  return visits
    .filter(({ isMissed }) => !isMissed)
    .flatMap((visit) =>
      free.flatMap((stay) => {
        const both = intersection(visit, stay);
        const isItsOwn = visit.slots.includes(stay.name);
        const isOver = overlaps(stay.time, visit.time) && both.from < both.until && isLong(both, rules);
        const says = isItsOwn ? 'the Slot of an open appointment is free' : 'a free Slot lies over an open appointment';
        return isOver && (isItsOwn || terms.capacity === 1)
          ? [finding('not bookable', both, { schedule, time: stay.time, resources: [visit.name, stay.name], says })]
          : [];
      }),
    );
}

/** Slots that are still busy after their appointment has ended. */
function lostTime({ schedule, visits, slots }: Book, rules: Rules): Finding[] {
  const held = Map.groupBy(
    visits.flatMap((visit) => visit.slots.map((slot) => ({ slot, visit }))),
    ({ slot }) => slot,
  );
  return slots.flatMap((stay) => {
    const holders = (held.get(stay.name) ?? []).map(({ visit }) => visit);
    const last = holders.filter(
      ({ from, until }) => from < stay.until && until >= stay.from && until !== Number.POSITIVE_INFINITY,
    );
    const ended = Math.max(...last.map(({ until }) => until));
    const next = Math.min(...holders.filter(({ from }) => from >= ended).map(({ from }) => from));
    const span = { name: '', from: Math.max(ended, stay.from), until: Math.min(stay.until, next) };
    const isByItself = last.some(({ until, isLapsed }) => until === ended && isLapsed);
    const due = { ...span, from: span.from + (isByItself ? BY_THE_CLOCK : 0) };
    const isHeld = holders.some((one) => one.from <= span.from && span.from < one.until) || stay.time.end < rules.now;
    const isLost =
      TAKEN.includes(stay.status) && last.length > 0 && !isHeld && span.until > span.from && isLong(due, rules);
    const says = 'the appointment has ended, and its Slot is still taken';
    const resources = [last.at(-1)?.name ?? '', stay.name];
    return isLost ? [finding('lost', span, { schedule, time: stay.time, resources, says })] : [];
  });
}

/** Appointments that were deleted while they were open. */
function lostAppointments(
  named: ReadonlyMap<string, readonly Version[]>,
  scheduleOf: ReadonlyMap<string, string>,
): Finding[] {
  return [...named].flatMap(([name, own]) => {
    const index = own.findIndex(({ resource }) => !resource);
    const before = own[index - 1]?.resource;
    const deleted = own[index];
    if (!deleted || before?.resourceType !== 'Appointment' || !OPEN.includes(before.status)) {
      return [];
    }
    const schedule = scheduleOf.get(local(before.slot?.[0]?.reference, 'Slot')) ?? '';
    const about = { schedule, time: periodOf(before), resources: [name], says: 'an open appointment was deleted' };
    return [finding('lost', { name, from: deleted.at, until: Number.POSITIVE_INFINITY }, about)];
  });
}
