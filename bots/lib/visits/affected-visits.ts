import type { MedplumClient } from '@medplum/core';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import type { Absent } from '../../../core/absence/plan.ts';
import { isAffected } from '../../../core/absence/rows.ts';
import { decisionTask } from '../../../core/booking/appointment/collision.ts';
import { canBeMoved } from '../../../core/booking/appointment/status.ts';
import { parseInstant, timeOf } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { payerKindsOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { findResource, resourceSet } from '../../../core/rows/resource-set.ts';
import { chunks, searchByIds } from '../../../core/rows/search.ts';
import { slotIdsOf } from '../../../core/slots/slot.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { partOf, STAYS, type StepTaken, stepFits } from '../../../core/visits/check.ts';
import { proposalBundle } from '../../../core/visits/proposal.ts';
import type { Proposal } from '../../../core/visits/search.ts';
import { notifiedGroupOf, otherAppointmentsOf, stepOf, type Visit, visitOf } from '../../../core/visits/visit.ts';
import { config } from '../config.ts';
import { newId } from '../medplum.ts';
import { ofType, readByIds, readInBatch } from '../read.ts';
import { writeRows } from '../rows.ts';
import { groupSearch } from './dependent-appointments.ts';
import { findVisits, processorTime, type Wish } from './visits.ts';

/** Time limit of the search for visits to offer, as a share of the Bot's timeout. */
const SHARE = 0.3;

/** The end of the search for visits to offer, in milliseconds since 1970 UTC. */
export const searchEnd = (now: number): number => now + config.timeout * 1_000 * SHARE;

/** The first visit that is found, as appointments that can be offered; empty if there is none. */
export async function firstVisit(
  medplum: MedplumClient,
  wish: Omit<Wish, 'count' | 'time'>,
): Promise<readonly Appointment[]> {
  const found = await findVisits(medplum, { ...wish, count: 1, time: processorTime() });
  const [first] = 'nobody' in found ? [] : found.visits;
  if (!first || 'nobody' in found) {
    return [];
  }
  const { visit, frame } = wish;
  const { payerKind } = frame;
  const proposing = { visit, isPlain: false, ...found, patient: undefined, payerKind, newId, config };
  return ofType(
    'Appointment',
    (proposalBundle(first.proposal, proposing).entry ?? []).flatMap(({ resource }) => resource ?? []),
  );
}

export interface Whole {
  /** With exactly the steps that were booked. */
  readonly visit: Visit;
  /** Its appointments, in order of their times. */
  readonly steps: readonly Appointment[];
}

/** Within what another visit is looked for. */
export interface Bounds extends Pick<Wish, 'mayTake' | 'deadline'> {
  readonly period: Interval;
  /** When its patient has other appointments. */
  readonly busy: readonly Interval[];
  readonly now: number;
}

/** Finds the earliest replacement of a visit with the same steps, as appointments to offer; empty if there is none. */
export async function findInstead(
  medplum: MedplumClient,
  { visit, steps }: Whole,
  { period, busy, now, ...wish }: Bounds,
): Promise<readonly Appointment[]> {
  // Times that its portal could not book are not offered.
  const caller = { id: '', role: 'requestor' as const, limits: [] };
  const [payerKind] = steps.flatMap((appointment) => payerKindsOf(appointment, config));
  const frame = { ...caller, period, hours: { start: 0, end: DAY }, actors: [], payerKind, now, config };
  const isWanted = (proposal: Proposal): boolean =>
    proposal.every((one) => one.end <= period.end && !busy.some((time) => overlaps(one, time)));
  return firstVisit(medplum, { ...wish, caller, visit, frame, isWanted });
}

interface AffectedVisits {
  /** Whether other steps of its visit cannot take place: then another time of this step does not save the visit. */
  readonly isMore: (appointment: Appointment) => boolean;
  /** Whether an appointment may be at a time in some Schedules: as a step of its visit, the rest of which stays. */
  readonly fits: (appointment: Appointment, time: Interval, schedules: readonly Schedule[]) => boolean;
  /** Whether the order and the gaps of its visit are kept by an appointment as it is stored. */
  readonly isInOrder: (appointment: Appointment) => boolean;
  /** The whole visit, if another one can replace it: it has several steps, is no series, and none has begun. */
  readonly wholeOf: (appointment: Appointment) => Whole | undefined;
}

const TOGETHER = 20;

/** Reads all open appointments of the visits of some appointments. A series is no visit. */
export async function readVisits(medplum: MedplumClient, appointments: readonly Appointment[]): Promise<Appointment[]> {
  const groups = [...new Set(appointments.flatMap((appointment) => notifiedGroupOf(appointment, config) ?? []))];
  const found: Appointment[] = [];
  for (const some of chunks(groups, TOGETHER)) {
    found.push(
      ...(await readInBatch(medplum, some.map(groupSearch))).flatMap((resources) => ofType('Appointment', resources)),
    );
  }
  return found;
}

/** The appointments whose visit has no row yet. A visit has one row, even if several people are absent. */
export async function withoutListed(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  lines: ReadonlySet<string> | ReadonlyMap<string, unknown>,
): Promise<readonly Appointment[]> {
  const listed = (await readVisits(medplum, appointments))
    .filter(({ id = '' }) => lines.has(id))
    .flatMap((appointment) => notifiedGroupOf(appointment, config) ?? []);
  return appointments.filter(
    (appointment) => lines.has(appointment.id ?? '') || !listed.includes(notifiedGroupOf(appointment, config) ?? ''),
  );
}

export async function readAffectedVisits(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  absent: readonly Absent[],
  now: number,
): Promise<AffectedVisits> {
  const all = await readVisits(medplum, appointments);
  const services = [...new Set(appointments.flatMap((appointment) => stepOf(appointment, config)?.service ?? []))];
  const [slots, read] = await Promise.all([
    readByIds(medplum, 'Slot', [...new Set(all.flatMap(slotIdsOf))]),
    readInBatch(
      medplum,
      searchByIds('HealthcareService', services).flatMap(({ request }) => request?.url ?? []),
    ),
  ]);
  const state = resourceSet(all);
  const known = resourceSet(read.flat());
  const found = ofType('Slot', slots);
  const othersOf = (appointment: Appointment): Appointment[] =>
    notifiedGroupOf(appointment, config) === undefined ? [] : otherAppointmentsOf(appointment, state, now, config);
  const taken = (
    appointment: Appointment,
    time: Interval,
    schedules: readonly Schedule[],
    path: string,
  ): StepTaken[] => {
    const mark = stepOf(appointment, config);
    return mark ? [{ ...time, step: mark.step, schedules, path }] : [];
  };
  const staying = (appointment: Appointment): StepTaken[] => {
    const time = timeOf(appointment);
    const own = slotIdsOf(appointment).flatMap((id) => schedulesIn(found.find((slot) => slot.id === id)));
    return time ? taken(appointment, time, own, STAYS) : [];
  };
  const fitsRest = (appointment: Appointment, moved: StepTaken | undefined): boolean => {
    const mark = stepOf(appointment, config);
    const visit = mark && visitOf(mark.service, known, config);
    const others = othersOf(appointment).flatMap(staying);
    return !visit || visit.series !== undefined || !moved || stepFits(visit, moved, others, config.timeZone);
  };
  return {
    isMore: (appointment) => othersOf(appointment).some((other) => isAffected(other, found, absent)),
    fits: (appointment, time, schedules) => fitsRest(appointment, taken(appointment, time, schedules, 'moved')[0]),
    isInOrder: ({ id = '' }) => {
      const current = findResource(state, 'Appointment', id);
      return !current || !canBeMoved(current) || fitsRest(current, staying(current)[0]);
    },
    wholeOf: (appointment) => {
      const mark = stepOf(appointment, config);
      const visit = mark && visitOf(mark.service, known, config);
      const steps = [appointment, ...othersOf(appointment)].toSorted((a, b) =>
        (a.start ?? '') < (b.start ?? '') ? -1 : 1,
      );
      const hasBegun = (parseInstant(steps[0]?.start) ?? 0) <= now;
      const names = steps.flatMap((step) => stepOf(step, config)?.step ?? []);
      return !visit || visit.series || steps.length < 2 || hasBegun
        ? undefined
        : { visit: partOf(visit, names), steps };
    },
  };
}

/** The Schedule of a Slot, of which only the id is known. */
const schedulesIn = (slot: Slot | undefined): Schedule[] => {
  const id = idIn(slot?.schedule, 'Schedule');
  return id ? [{ resourceType: 'Schedule', id, actor: [] }] : [];
};

/** Asks staff about a visit of which they have changed a step, if its steps no longer fit each other. */
export async function checkVisit(medplum: MedplumClient, appointment: Appointment): Promise<void> {
  if (!stepOf(appointment, config)) {
    return;
  }
  const { isInOrder } = await readAffectedVisits(medplum, [appointment], [], Date.now());
  const description = 'The steps of this visit no longer have their order or their gaps: move or cancel one of them.';
  const task = decisionTask(appointment, { description }, config);
  await (isInOrder(appointment) || writeRows(medplum, [task], `The visit of Appointment/${appointment.id}`));
}
