/** What can be wrong with the opening hours of a Schedule, and what it means. */
export const calendarProblems = {
  'service-not-found': 'The service that the Schedule names does not exist',
  'actor-not-single': 'The Schedule has not exactly one actor',
  'duration-missing': 'Neither the Schedule nor its service says how long an appointment lasts',
  'duration-invalid': 'A length of time is not one that can be used',
  'time-zone-missing': 'Neither the Schedule, its service nor its actor names a time zone',
  'time-zone-unknown': 'There is no such time zone',
  'alignment-invalid': 'The times at which appointments begin do not repeat every day',
  'capacity-invalid': 'The number of places is not a small positive number',
  'hours-invalid': 'Opening hours cannot be read',
  'period-invalid': 'A period of time cannot be read, or ends before it starts',
  'parameters-contradictory': 'Scheduling parameters contradict each other',
} as const;

/** Kind of a problem with opening hours. */
export type CalendarProblemCode = keyof typeof calendarProblems;

/** A problem with the opening hours of a Schedule. As long as it has one, its published Slots stay what they are. */
export interface CalendarProblem {
  readonly code: CalendarProblemCode;
  /** What was found and what is possible, as a whole sentence. */
  readonly diagnostics: string;
  /** FHIRPath of the element at fault. */
  readonly expression: string;
}

/** A value that was read, together with everything that is wrong with it. */
export interface Checked<T> {
  readonly value: T | undefined;
  readonly problems: readonly CalendarProblem[];
}

/** A value that nothing is wrong with. */
export function sound<T>(value: T): Checked<T> {
  return { value, problems: [] };
}

/** No value, for this reason. */
export function faulty(code: CalendarProblemCode, diagnostics: string, expression: string): Checked<never> {
  return { value: undefined, problems: [{ code, diagnostics, expression }] };
}

/** All of several lists as one, or everything that is wrong with them. */
export function together<T>(lists: readonly Checked<readonly T[]>[]): Checked<readonly T[]> {
  const problems = lists.flatMap((list) => list.problems);
  return problems.length > 0 ? { value: undefined, problems } : sound(lists.flatMap(({ value }) => value ?? []));
}
