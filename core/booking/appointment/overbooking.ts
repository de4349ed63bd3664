import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { timeOf } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isOverbooking } from '../../fhir/scheduling/slot-marks.ts';
import { type ExternalSlot, newExternalSlot } from '../../slots/guard.ts';
import { type CalendarSlot, isTaken } from '../../slots/slot.ts';
import { type Buffers, neededBuffers, type ScheduleServices, withBuffers } from '../../slots/terms.ts';
import { type Interval, overlaps, subtract, union } from '../../time/interval.ts';
import { neededSlotStatus } from './status.ts';

/** Whether an appointment takes time. A record of the past (closed status) takes none. */
export const takesTime = (appointment: Appointment): boolean =>
  neededSlotStatus(appointment) !== undefined && timeOf(appointment) !== undefined;

/**
 * The part of an appointment's time that none of its Slots in a Schedule covers. It is taken from every lane.
 * @param named - its existing Slots in that Schedule
 */
export function uncoveredTime(appointment: Appointment, named: readonly CalendarSlot[]): Interval[] {
  const time = timeOf(appointment);
  const covering = named.filter(({ role }) => role !== 'ended');
  return time && takesTime(appointment) ? [...subtract([time], union(covering))] : [];
}

/** The buffers of an appointment in a Schedule where it has no Slot. */
export function buffersWithoutSlot(of: ScheduleServices, appointment: Appointment, config: PublicConfig): Buffers {
  const time = timeOf(appointment) ?? { start: 0, end: 0 };
  const slot = newExternalSlot(of.schedule.id ?? '', time, { status: 'busy' });
  return neededBuffers(of, slot, appointment.serviceType ?? of.schedule.serviceType ?? [], config);
}

/** A part of the time of an appointment, with its buffers where the appointment begins and ends. */
export function withNeeded({ start, end }: Interval, appointment: Appointment, needed: Buffers): Interval {
  const time = timeOf(appointment);
  return {
    start: start === time?.start ? start - needed.before : start,
    end: end === time?.end ? end + needed.after : end,
  };
}

/**
 * The time that an appointment written by clinic staff takes: a part of each of its Slots, with the buffers of its
 * service, and the rest of its time from every lane.
 * @param named - its existing Slots
 * @param schedules - the Schedules that it takes time from: those of its Slots or, without any, that of its actor
 * @param isKnown - whether all its Slots exist; Slots of an unfinished transaction do not yet
 */
export function timesTaken(
  appointment: Appointment,
  named: readonly CalendarSlot[],
  schedules: readonly ScheduleServices[],
  isKnown: boolean,
  config: PublicConfig,
): Omit<ExternalSlot, 'against'>[] {
  const time = timeOf(appointment);
  return schedules.flatMap(({ schedule, services }) => {
    const id = schedule.id ?? '';
    const own = named.filter((slot) => slot.schedule === id);
    const parts = own
      .filter(({ role }) => role !== 'ended')
      .flatMap((slot) => {
        const needed = neededBuffers({ schedule, services }, slot, appointment.serviceType ?? [], config);
        const around = isTaken(slot) && slot.role !== 'bookable' ? slot : time && withBuffers(time, needed);
        return time && around && overlaps(slot, time) ? [{ from: slot, start: around.start, end: around.end }] : [];
      });
    const rest = (isKnown ? uncoveredTime(appointment, own) : []).map((uncovered) => {
      const needed = buffersWithoutSlot({ schedule, services }, appointment, config);
      const interval = withNeeded(uncovered, appointment, needed);
      return { from: newExternalSlot(id, interval, { status: 'busy' }), ...interval };
    });
    return [...parts, ...rest];
  });
}

/** Refuses an appointment on taken time that is not marked as an overbooking. */
export function overbookingIssue(
  appointment: Appointment,
  from: CalendarSlot,
  by: string,
  config: PublicConfig,
): Issue {
  const url = artefactUri(config, 'LocalOverbooking');
  const index = (appointment.slot ?? []).findIndex(({ reference }) => reference === `Slot/${from.id}`);
  return {
    code: 'schedule-overbooked',
    diagnostics: `${by}. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: index < 0 ? 'Appointment' : `Appointment.slot[${index}]`,
  };
}

/**
 * Whether an appointment must not lie on taken time: neither it nor one of its Slots is marked as an overbooking.
 * @param named - its existing Slots
 */
export const mustBeAlone = (appointment: Appointment, named: readonly CalendarSlot[], config: PublicConfig): boolean =>
  takesTime(appointment) &&
  ![appointment, ...named.map(({ resource }) => resource)].some((one) => isOverbooking(one, config));
