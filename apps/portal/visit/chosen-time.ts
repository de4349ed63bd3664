import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference.ts';
import { type ChosenStep, visitTime } from '../../../packages/web/refusal.ts';

/** A time that a patient has chosen; milliseconds since 1970 UTC. */
export interface ChosenTime {
  readonly slot: string;
  readonly schedule: string;
  readonly start: number;
  readonly end: number;
  /** The steps of a visit; absent for a single appointment. */
  readonly steps?: readonly ChosenStep[];
}

export function chosenVisit(steps: readonly ChosenStep[]): ChosenTime | undefined {
  const time = visitTime(steps);
  return time && { ...time, schedule: '' };
}

/** Sum of the durations of the appointments, in milliseconds. */
export const lengthOf = ({ start, end, steps }: ChosenTime): number =>
  (steps ?? [{ start, end }]).reduce((sum, step) => sum + (step.end - step.start), 0);

/** Times have base 36, to keep the value for a series short. */
const stepText = ({ name, slots, start, end }: ChosenStep): string =>
  [encodeURIComponent(name), slots.join(','), start.toString(36), (end - start).toString(36)].join('|');

/** Formats a time as the value of a button. */
export function formatTime({ slot, schedule, start, end, steps }: ChosenTime): string {
  return steps ? steps.map(stepText).join(' ') : [slot, schedule, formatInstant(start), formatInstant(end)].join(' ');
}

function isReference(text: string, type: string): boolean {
  const [name, id, ...rest] = text.split('/');
  return name === type && isId(id) && rest.length === 0;
}

/** Limits of a button's value; a visit has as many steps as a series may have. */
const MAX_LENGTH = 250;
const MAX_VISIT = 12_000;
const MAX_STEPS = 20;
const MAX_SLOTS = 50;

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text) || undefined;
  } catch {
    return undefined;
  }
}

function parseStep(text: string): ChosenStep | undefined {
  const [encoded = '', ids = '', from = '', length = '', ...rest] = text.split('|');
  const [name, slots] = [decoded(encoded), ids.split(',')];
  const isStep = slots.length <= MAX_SLOTS && slots.every(isId) && rest.length === 0;
  const isTime = [from, length].every((time) => /^[1-9a-z][0-9a-z]{0,8}$/.test(time));
  const start = Number.parseInt(from, 36);
  return name !== undefined && isStep && isTime
    ? { name, slots, start, end: start + Number.parseInt(length, 36) }
    : undefined;
}

function parseVisit(text: string): ChosenTime | undefined {
  const steps = (text.length > MAX_VISIT ? [] : text.split(' ')).map(parseStep);
  const known = steps.filter((step) => step !== undefined);
  return known.length === steps.length && known.length <= MAX_STEPS ? chosenVisit(known) : undefined;
}

/** Parses the value of a button; `undefined` if it is invalid. The service decides whether the time is bookable. */
export function parseTime(text: string): ChosenTime | undefined {
  if (text.includes('|')) {
    return parseVisit(text);
  }
  const [slot = '', schedule = '', from, to, ...rest] = text.length > MAX_LENGTH ? [] : text.split(' ');
  const [start, end] = [parseInstant(from), parseInstant(to)];
  const isTime =
    isReference(slot, 'Slot') && (schedule === '' || isReference(schedule, 'Schedule')) && rest.length === 0;
  return isTime && start !== undefined && end !== undefined && start < end ? { slot, schedule, start, end } : undefined;
}
