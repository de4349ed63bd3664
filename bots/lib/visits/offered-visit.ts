import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { payerKindsOf } from '../../../core/fhir/payer-kind.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { proposalBundle } from '../../../core/visits/proposal.ts';
import type { Proposal } from '../../../core/visits/search.ts';
import type { Visit } from '../../../core/visits/visit.ts';
import { config } from '../config.ts';
import { newId } from '../medplum.ts';
import { processorTime } from '../processor-time.ts';
import { ofType } from '../read.ts';
import { findVisits, type Wish } from './visits.ts';

/** How long visits are looked for in order to offer them, as a share of the time that Medplum may take to answer. */
const SHARE = 0.3;

/** Until when visits are looked for in order to offer them. */
export const searchEnd = (now: number): number => now + config.timeout * 1_000 * SHARE;

/**
 * The first visit that is found, as appointments that can be offered; empty if there is none.
 *
 * @throws ReadError when the server does not answer
 */
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

/** A visit that was booked. */
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

/**
 * What could take the place of a visit: the earliest of the same steps, as appointments that can be offered; empty if there
 * is none.
 *
 * @throws ReadError when the server does not answer
 */
export async function findInstead(
  medplum: MedplumClient,
  { visit, steps }: Whole,
  { period, busy, now, ...wish }: Bounds,
): Promise<readonly Appointment[]> {
  // What its portal could not book is not offered either.
  const caller = { id: '', role: 'requestor' as const, limits: [] };
  const [payerKind] = steps.flatMap((appointment) => payerKindsOf(appointment, config));
  const frame = { ...caller, period, hours: { start: 0, end: DAY }, actors: [], payerKind, now, config };
  const isWanted = (proposal: Proposal): boolean =>
    proposal.every((one) => one.end <= period.end && !busy.some((time) => overlaps(one, time)));
  return firstVisit(medplum, { ...wish, caller, visit, frame, isWanted });
}
