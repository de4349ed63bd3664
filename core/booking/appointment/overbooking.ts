import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import { isOverbooking } from '../../calendar/slots/slot-role.ts';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Interval } from '../../time/interval.ts';
import { type ResourceSet, resourcesOfType } from '../resource-set.ts';
import { search, searchByIds } from '../search.ts';
import { calendarOf } from '../slots/calendar.ts';
import { takenTime, takenTimeReads, unmarkedIn } from '../slots/takings.ts';
import { hasEnded } from './ended.ts';
import { slotIdsOf } from './slot-use.ts';
import { holdsSlots, neededSlotStatus, statusQuery } from './status.ts';

type OverbookingConfig = ArtefactConfig;

function timeOf({ start, end }: Appointment): Interval | undefined {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  return from !== undefined && to !== undefined && from < to ? { start: from, end: to } : undefined;
}

/** Whether an appointment takes time without saying that it is an overbooking. A record of what took place takes none. */
function mustBeAlone(appointment: Appointment, config: OverbookingConfig): boolean {
  return neededSlotStatus(appointment) !== undefined && !isOverbooking(appointment, config);
}

/** What must be read to tell whether the slots of a new appointment are taken; empty if that does not matter for it. */
export function overbookingReads(appointment: Appointment, config: OverbookingConfig): BundleEntry[] {
  const ids = slotIdsOf(appointment);
  if (ids.length === 0 || !mustBeAlone(appointment, config)) {
    return [];
  }
  return [
    ...searchByIds('Slot', ids, [['_include', 'Slot:schedule']]),
    search('Appointment', [
      ['slot', ids.map((id) => `Slot/${id}`).join(',')],
      ['status', statusQuery(holdsSlots)],
      ['_count', '200'],
    ]),
    ...takenTimeReads(timeOf(appointment), ids),
  ];
}

/** The ids of the Slots whose history must be read to know whether they take the appointment's time. */
export function unmarkedFor(appointment: Appointment, state: ResourceSet, config: OverbookingConfig): string[] {
  const interval = timeOf(appointment);
  return interval ? unmarkedIn(state, interval, config) : [];
}

/**
 * Checks whether staff put a new appointment on time that is taken: a slot that another appointment holds, or time of the
 * Schedule that something else takes.
 *
 * @param state - as read by `overbookingReads`
 * @param offered - ids, among those of `unmarkedFor`, of Slots that were once free
 * @param now - milliseconds since 1970 UTC: an expired hold or request takes no time, tidied up or not
 * @returns `schedule-overbooked` for each slot at fault; nothing if the appointment says that it is an overbooking
 */
export function overbookingIssues(
  appointment: Appointment,
  state: ResourceSet,
  offered: ReadonlySet<string>,
  now: number,
  config: OverbookingConfig,
): Issue[] {
  const interval = timeOf(appointment);
  if (!mustBeAlone(appointment, config)) {
    return [];
  }
  const ids = slotIdsOf(appointment);
  const appointments = resourcesOfType(state, 'Appointment').filter((one) => one.id !== appointment.id);
  const others = appointments.filter((one) => holdsSlots(one) && !hasEnded(one, now, config));
  const givenBack = appointments.filter((one) => hasEnded(one, now, config)).flatMap(slotIdsOf);
  const held = ids.flatMap((id) => {
    const holder = others.find((one) => slotIdsOf(one).includes(id));
    return holder ? [{ id, by: `Slot/${id} is held by Appointment/${holder.id}` }] : [];
  });
  const calendar = calendarOf(resourcesOfType(state, 'Slot'), artefactUri(config, 'LocalSlotOrigin'));
  const slots = ids.flatMap((id) => calendar.get(id) ?? []);
  const wanted = interval && { interval, slots, services: appointment.serviceType, givenBack };
  const taken = wanted ? takenTime(wanted, state, offered, config) : [];
  const inTheWay = taken.map(({ from, taken: { id, start, end } }) => ({
    id: from.id,
    by: `Slot/${id} takes the time from ${formatInstant(start)} to ${formatInstant(end)}`,
  }));
  const url = artefactUri(config, 'LocalOverbooking');
  return [...held, ...inTheWay.filter(({ id }) => !held.some((one) => one.id === id))].map(({ id, by }) => ({
    code: 'schedule-overbooked',
    diagnostics: `${by}. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: `Appointment.slot[${ids.indexOf(id)}]`,
  }));
}
