import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Slot } from '@medplum/fhirtypes';
import { heldSlotIssues, holdersUrl } from '../../core/booking/slots/held.ts';
import { artefactUri } from '../../core/config/config.ts';
import { formatInstant, timeOf } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { idIn, serviceIdsOf } from '../../core/fhir/reference.ts';
import { givesBack, takingSlot } from '../../core/slots/guard.ts';
import {
  calendarOf,
  calendarSlot,
  isBooked,
  isBuffer,
  isOverbooking,
  isTaken,
  withMarks,
} from '../../core/slots/slot.ts';
import type { Interval } from '../../core/time/interval.ts';
import { announce, announcementSearches, aroundUrl, contested, isDeletion } from '../lib/calendar/guard.ts';
import { config } from '../lib/config.ts';
import { ofType, readAhead, readInTransaction } from '../lib/read.ts';

function overbooked(slot: Slot, { id, start, end }: Interval & { readonly id: string }): Issue {
  const url = artefactUri(config, 'LocalOverbooking');
  return {
    code: 'schedule-overbooked',
    diagnostics: `Slot/${id} takes the time from ${formatInstant(start)} to ${formatInstant(end)}: look at the calendar again. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: slot.id ? `Slot.where(id = '${slot.id}')` : 'Slot',
  };
}

/** The services that a Slot names, as those that are published do. */
const servicesNamedBy = ({ serviceType }: Slot): Slot['serviceType'] =>
  serviceIdsOf({ serviceType }).length > 0 ? serviceType : undefined;

/** The time that a Slot takes, and of which Schedule; `undefined` if it takes none. */
function takenTime(slot: Slot): (Interval & { readonly schedule: string }) | undefined {
  const [schedule, time] = [idIn(slot.schedule, 'Schedule'), timeOf(slot)];
  return isTaken(slot) && schedule !== undefined && time ? { schedule, ...time } : undefined;
}

/** Announces the time that a Slot takes, unless the stored one takes it already. */
async function takingIssues(medplum: MedplumClient, slot: Slot, stored: Slot | undefined): Promise<readonly Issue[]> {
  const { schedule, start, end } = takenTime(slot) ?? {};
  if (schedule === undefined || start === undefined || end === undefined) {
    return [];
  }
  const earlier = stored && calendarSlot(stored, config);
  const own = earlier?.schedule === schedule ? earlier : undefined;
  if (own && isTaken(own) && own.start <= start && end <= own.end) {
    return [];
  }
  const from = own?.role === 'offer' ? own : takingSlot(schedule, { start, end }, slot);
  const mustBeAlone = (isBooked(slot) || isBuffer(slot)) && !isOverbooking(slot, config);
  const against = mustBeAlone ? 'appointments' : 'nothing';
  const announced = await announce(medplum, { from, start, end, against }, `Slot/${slot.id}`, servicesNamedBy(slot));
  if (announced.kind === 'announced') {
    return [];
  }
  return [announced.kind === 'taken' ? overbooked(slot, announced.by) : contested('Slot')];
}

/** A Slot that is set free as it is to be stored: void where it gives its time back to offers. */
async function opened(medplum: MedplumClient, slot: Slot, stored: Slot): Promise<Slot> {
  const taking = slot.status === 'free' ? calendarSlot(stored, config) : undefined;
  if (!taking || taking.role === 'offer') {
    return slot;
  }
  const [around] = await readInTransaction(medplum, [aroundUrl(taking.schedule, slot)]);
  const isVoid = givesBack(taking, slot, calendarOf(ofType('Slot', around), config), config);
  return isVoid ? { ...slot, status: 'entered-in-error' } : slot;
}

/**
 * Before Medplum stores it, checks a Slot that somebody else writes: a person, an import, or Medplum's own `$book` and
 * `$hold`. Medplum runs this Bot before the write, so that if a booking and another write take the same time, one of them
 * fails. Only the service itself may offer a Slot again, or move it, while an appointment holds it; and only the service
 * changes the marks that say what a Slot is.
 *
 * @param event - input: the Slot as it would be stored
 * @returns `true` or the Slot with its marks to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws Error when the calendar could not be read or written: the write fails
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  { input: slot, headers }: BotEvent<Slot>,
): Promise<true | Slot | OperationOutcome> {
  if (isDeletion({ headers })) {
    return true;
  }
  const { id } = slot;
  const time = takenTime(slot);
  const own = id === undefined ? [] : [holdersUrl(id), `Slot?_id=${id}`];
  const more = time ? announcementSearches(time.schedule, time, servicesNamedBy(slot)) : [];
  const reader = await readAhead(medplum, [...own, ...more]);
  const found = (await readInTransaction(reader, own)).flat();
  const stored = id === undefined ? undefined : ofType('Slot', found).find((one) => one.id === id);
  const issues = heldSlotIssues(slot, stored, ofType('Appointment', found), Date.now(), config);
  const all = issues.length > 0 ? issues : await takingIssues(reader, slot, stored);
  if (all.length > 0) {
    return toOperationOutcome(all, config, 'patch');
  }
  return stored ? withMarks(await opened(reader, slot, stored), stored, config) : true;
}
