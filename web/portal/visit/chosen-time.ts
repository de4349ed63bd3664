import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference/reference.ts';

/** A time that a patient has chosen; milliseconds since 1970 UTC. */
export interface ChosenTime {
  readonly slot: string;
  readonly schedule: string;
  readonly start: number;
  readonly end: number;
}

/** A chosen time as the value of a button. */
export function formatTime({ slot, schedule, start, end }: ChosenTime): string {
  return [slot, schedule, formatInstant(start), formatInstant(end)].join(' ');
}

function isReference(text: string, type: string): boolean {
  const [name, id, ...rest] = text.split('/');
  return name === type && isId(id) && rest.length === 0;
}

/** No value of a button is longer. */
const LONGEST = 250;

/** Reads the value of a button; `undefined` if it is not one. Whether the time can be booked is for the service to say. */
export function parseTime(text: string): ChosenTime | undefined {
  const [slot = '', schedule = '', from, to, ...rest] = text.length > LONGEST ? [] : text.split(' ');
  const [start, end] = [parseInstant(from), parseInstant(to)];
  const isTime =
    isReference(slot, 'Slot') && (schedule === '' || isReference(schedule, 'Schedule')) && rest.length === 0;
  return isTime && start !== undefined && end !== undefined && start < end ? { slot, schedule, start, end } : undefined;
}
