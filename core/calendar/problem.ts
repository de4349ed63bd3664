const calendarProblems = {
  'service-not-found': 'The service that the Schedule names does not exist',
  'actor-not-single': 'The Schedule does not have exactly one actor',
  'duration-missing': 'Neither the Schedule nor its service has a duration of appointments',
  'duration-invalid': 'A duration is not supported',
  'time-zone-unknown': 'The time zone does not exist',
  'alignment-invalid': 'The times at which appointments begin do not repeat every day',
  'capacity-invalid': 'The number of places is out of range',
  'slots-too-many': 'The opening hours ask for more Slots a day than are published',
  'hours-invalid': 'The opening hours are invalid',
  'period-invalid': 'A period is invalid, or ends before it starts',
  'parameters-contradictory': 'Scheduling parameters contradict each other',
  'slots-refused': 'Medplum does not accept the Slots that the opening hours ask for',
} as const;

type CalendarProblemCode = keyof typeof calendarProblems;

/** A problem with the opening hours of a Schedule. Until it is solved, the published Slots stay as they are. */
export interface CalendarProblem {
  readonly code: CalendarProblemCode;
  /** The finding and the possible values, as a whole sentence. */
  readonly diagnostics: string;
  /** FHIRPath of the faulty element. */
  readonly expression: string;
}

/** A value that was read, with its problems. */
export interface Checked<T> {
  readonly value: T | undefined;
  readonly problems: readonly CalendarProblem[];
}

export function sound<T>(value: T): Checked<T> {
  return { value, problems: [] };
}

/** A problem instead of a value. */
export function faulty(code: CalendarProblemCode, diagnostics: string, expression: string): Checked<never> {
  return { value: undefined, problems: [{ code, diagnostics, expression }] };
}

/** All of several lists as one, or all their problems. */
export function combine<T>(lists: readonly Checked<readonly T[]>[]): Checked<readonly T[]> {
  const problems = lists.flatMap((list) => list.problems);
  return problems.length > 0 ? { value: undefined, problems } : sound(lists.flatMap(({ value }) => value ?? []));
}
