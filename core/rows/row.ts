import type { BundleEntry, Coding, Task, TaskInput } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';

interface RowKind {
  /** A description for people. */
  readonly display: string;
  /** The data about a person in a row: the request as it was sent, a reference, or nothing. */
  readonly person: 'request' | 'reference' | 'nothing';
  /** The task of staff, if there is one. They sort, claim, suspend and close it. */
  readonly forStaff?: string;
  /** Whether nothing reads the row after it has ended. */
  readonly isPassing?: true;
}

/**
 * A row is a Task that stores the state of the service, such as an outbox. The keys are codes of the CodeSystem
 * LocalTask.
 */
const kinds = {
  book: { display: 'An asynchronous booking', person: 'request', isPassing: true },
  outboxes: { display: 'The outboxes of the Subscriptions of one subscriber', person: 'nothing' },
  publish: { display: 'How far the opening hours of a schedule are published', person: 'nothing' },
  'publish-all': {
    display: 'How far the schedules have been checked for what is to be published',
    person: 'nothing',
  },
  'event-all': { display: 'The time up to which the events of all changes are recorded', person: 'nothing' },
  deletion: {
    display: 'An appointment that is about to be deleted, or was deleted a moment ago',
    person: 'nothing',
  },
  quota: { display: 'A limited number of appointments', person: 'nothing' },
  confirm: {
    display: 'A requested appointment that waits for the clinic',
    person: 'reference',
    forStaff: 'Confirm an appointment',
    isPassing: true,
  },
  collision: {
    display: 'An appointment whose time something else takes, or that no longer fits its visit: staff decide',
    person: 'reference',
    forStaff: 'Resolve a double booking, or a visit that no longer fits',
    isPassing: true,
  },
  message: { display: 'The messages to a person about an appointment', person: 'reference', isPassing: true },
  'calendar-feed': { display: 'The secret link of a calendar feed', person: 'nothing' },
  'message-all': { display: 'The time up to which messages follow the changes of appointments', person: 'nothing' },
  reconcile: {
    display: 'The time up to which slots and patients follow the changes of appointments',
    person: 'nothing',
  },
  release: {
    display: 'Released time of a schedule, to be offered to those who wait',
    person: 'nothing',
    isPassing: true,
  },
  absence: { display: 'Schedules in which nothing takes place for a while', person: 'reference', isPassing: true },
  absences: { display: 'All absences, only for the lock: an appointment has one row', person: 'nothing' },
  affected: {
    display: 'An appointment that an absence affects: another time is offered, or staff call',
    person: 'reference',
    forStaff: 'Tell a person about an absence',
    isPassing: true,
  },
  erasure: {
    display: 'What an erasure removes once it is over: it is about others now, too',
    person: 'reference',
  },
  refusal: { display: 'Whether an address wants messages; of the address a keyed hash', person: 'nothing' },
  undelivered: {
    display: 'A message that has not reached its person: staff call',
    person: 'reference',
    forStaff: 'Tell a person what a message did not',
    isPassing: true,
  },
} as const satisfies Record<string, RowKind>;

export type RowCode = keyof typeof kinds;

export const rowKinds: Readonly<Record<RowCode, RowKind>> = kinds;

const isRowCode = (code: string): code is RowCode => Object.hasOwn(kinds, code);

export const codesWhere = (isTrue: (kind: RowKind) => boolean): RowCode[] =>
  Object.keys(kinds)
    .filter(isRowCode)
    .filter((code) => isTrue(rowKinds[code]));

/** The coding in `Task.code` of a row. */
export const rowCoding = (code: RowCode, config: PublicConfig): Coding => ({
  system: artefactUri(config, 'LocalTask'),
  code,
});

/** The value of the search parameter `code` for rows of some kinds. */
export const rowCodes = (codes: readonly RowCode[], config: PublicConfig): string =>
  codes.map((code) => `${artefactUri(config, 'LocalTask')}|${code}`).join(',');

/** Whether a Task is a row of one of these kinds. */
export function isRow({ code }: Task, codes: readonly RowCode[], config: PublicConfig): boolean {
  const system = artefactUri(config, 'LocalTask');
  return code?.coding?.some((coding) => coding.system === system && codes.some((its) => its === coding.code)) ?? false;
}

/** The search for rows of some kinds, relative to the FHIR base address. */
export const rowSearch = (
  codes: readonly RowCode[],
  more: Readonly<Record<string, string>>,
  config: PublicConfig,
): string => `Task?${new URLSearchParams({ code: rowCodes(codes, config), ...more })}`;

/** A row with its code. `more` depends on the kind; `stored` is the row to replace. */
export function newRow(
  code: RowCode,
  more: Partial<Task> & Pick<Task, 'status'>,
  config: PublicConfig,
  stored?: Task,
): Task {
  const { forStaff: text } = rowKinds[code];
  return {
    resourceType: 'Task',
    ...(stored?.id && { id: stored.id }),
    intent: 'order',
    code: { coding: [rowCoding(code, config)], ...(text && { text }) },
    ...more,
  };
}

/** The entry that creates a row, unless the search `query` (`rowSearch`) finds one. */
export const creation = (resource: Task, query?: string): BundleEntry => ({
  request: { method: 'POST', url: 'Task', ...(query !== undefined && { ifNoneExist: query.replace('Task?', '') }) },
  resource,
});

type RowValue = TaskInput;

/** A named moment as a row's values; empty for `undefined`. Moments are milliseconds since 1970 UTC. */
export const moment = (text: string, time: number | undefined): RowValue[] =>
  time === undefined ? [] : [{ type: { text }, valueInstant: formatInstant(time) }];

export const valueIn = (values: readonly RowValue[] | undefined, name: string): RowValue | undefined =>
  values?.find(({ type }) => type.text === name);

/** The moment of a name, in milliseconds since 1970 UTC. */
export const momentIn = (values: readonly RowValue[] | undefined, name: string): number | undefined =>
  parseInstant(valueIn(values, name)?.valueInstant);

export const valuesBut = (values: readonly RowValue[] | undefined, name: string): RowValue[] =>
  (values ?? []).filter(({ type }) => type.text !== name);
