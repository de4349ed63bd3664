import type { ParametersParameter } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { parseReference } from '../fhir/reference.ts';
import { isObject, isResource } from '../fhir/resource.ts';
import type { Interval } from '../time/interval.ts';
import { dateRange } from '../time/local-day.ts';
import { YEAR } from '../time/time-zone.ts';
import type { Proposal } from './plan.ts';

/** The actions for an appointment if the personal offer gets no reply. */
export const silences = ['keep', 'cancel', 'move'] as const;

export type Silence = (typeof silences)[number];

export interface Wish {
  /** Id of the appointment. */
  readonly appointment: string;
  /** `undefined`: nothing is offered; staff call. */
  readonly proposal: Proposal | undefined;
  /** The FHIRPath of the entry. */
  readonly path: string;
}

export interface NamedSchedule {
  readonly id: string;
  readonly path: string;
}

/** A request to `$absence`. All moments are in milliseconds since 1970 UTC. */
export interface AbsenceRequest {
  readonly schedules: readonly NamedSchedule[];
  readonly substitutes: readonly NamedSchedule[];
  readonly period: Interval;
  readonly reason: string;
  readonly isDry: boolean;
  /** The changes that staff made to the plan. */
  readonly wishes: readonly Wish[];
  /** Its presence confirms the plan. */
  readonly silence: Silence | undefined;
  readonly end: number | undefined;
}

/** Maximum numbers of parameters, and the maximum length of a reason in characters. */
const most = { schedule: 100, substitute: 100, plan: 2_000, slot: 50, reason: 500 } as const;

const malformed = (diagnostics: string, expression: string): Issue => ({
  code: 'malformed-request',
  diagnostics,
  expression,
});

const missing = (diagnostics: string, expression: string): Issue => ({
  code: 'element-missing',
  diagnostics,
  expression,
});

type Read<T> = (sent: Readonly<Record<string, unknown>>, path: string, config: PublicConfig) => T | Issue;

const isIssue = (value: unknown): value is Issue => isObject(value) && 'code' in value && 'diagnostics' in value;

const reference =
  <T extends 'Schedule' | 'Slot' | 'Appointment'>(type: T): Read<string> =>
  ({ valueReference, valueUri }, path, { baseUrl }) => {
    const text = isObject(valueReference) ? valueReference.reference : valueUri;
    const found = parseReference(text, baseUrl, [type]);
    return found?.id ?? malformed(`Name a ${type} of this service, such as ${type}/123.`, path);
  };

const instant: Read<number> = ({ valueInstant, valueDateTime }, path) =>
  parseInstant(valueInstant ?? valueDateTime) ??
  malformed('This must be an instant with an offset, such as 2027-01-31T08:00:00+01:00.', path);

const boolean: Read<boolean> = ({ valueBoolean }, path) =>
  typeof valueBoolean === 'boolean' ? valueBoolean : malformed('This must be a valueBoolean.', path);

const text: Read<string> = ({ valueString }, path) =>
  typeof valueString === 'string' && valueString.length <= most.reason
    ? valueString.trim()
    : malformed(`This must be a valueString of at most ${most.reason} characters.`, path);

const silence: Read<Silence> = ({ valueCode }, path) =>
  silences.find((one) => one === valueCode) ?? malformed(`This must be one of ${silences.join(', ')}.`, path);

/** A period of instants or of days in the clinic's time zone. The last day is included. */
const period: Read<Interval> = ({ valuePeriod }, path, { timeZone }) => {
  const { start, end } = isObject(valuePeriod) ? valuePeriod : {};
  const [from, to] = [start, end].map((value) => (typeof value === 'string' ? dateRange(value, timeZone) : undefined));
  if (!from || !to) {
    return malformed('This must be a valuePeriod with start and end: instants, or days of the clinic.', path);
  }
  const isDay = typeof end === 'string' && !end.includes('T');
  const interval = { start: from.start, end: isDay ? to.end : to.start };
  if (interval.start >= interval.end) {
    return { code: 'period-invalid', diagnostics: 'The end must be later than the start.', expression: path };
  }
  return interval.end - interval.start > YEAR + 86_400_000
    ? { code: 'period-invalid', diagnostics: 'An absence lasts at most a year.', expression: path }
    : interval;
};

/** The parts of a parameter, or the parameters of the body, by name, each with its path. */
type Named = Map<string, { readonly sent: Readonly<Record<string, unknown>>; readonly path: string }[]>;

/** Groups parameters or parts by name. One with another name than the allowed ones is an issue. */
function groupByName(list: unknown, path: string, allowed: readonly string[], issues: Issue[]): Named {
  const found: Named = new Map();
  for (const [index, sent] of (Array.isArray(list) ? list : []).entries()) {
    const partPath = `${path}[${index}]`;
    const name = isObject(sent) && typeof sent.name === 'string' ? sent.name : '';
    if (!isObject(sent) || !allowed.includes(name)) {
      const diagnostics = `There are the parameters ${allowed.join(', ')}.`;
      issues.push({ code: 'parameter-unknown', diagnostics, expression: partPath });
    } else {
      found.set(name, [...(found.get(name) ?? []), { sent, path: partPath }]);
    }
  }
  return found;
}

/** The readable values of a parameter, with their paths. Unreadable ones are added to `issues`. */
function readAll<T>(named: Named, name: string, read: Read<T>, issues: Issue[], config: PublicConfig) {
  return (named.get(name) ?? []).flatMap(({ sent, path }) => {
    const value = read(sent, path, config);
    if (isIssue(value)) {
      issues.push(value);
      return [];
    }
    return [{ value, path }];
  });
}

function single<T>(named: Named, name: string, read: Read<T>, issues: Issue[], config: PublicConfig): T | undefined {
  const [, second] = named.get(name) ?? [];
  if (second) {
    issues.push(malformed(`${name} can be given once only.`, second.path));
  }
  return readAll(named, name, read, issues, config)[0]?.value;
}

/** Reads a proposal; `undefined` if it adds an issue. */
function readProposal(list: unknown, path: string, issues: Issue[], config: PublicConfig): Proposal | undefined {
  const named = groupByName(list, path, ['schedule', 'slot', 'start', 'end'], issues);
  const issuesBefore = issues.length;
  const schedule = single(named, 'schedule', reference('Schedule'), issues, config);
  const slots = readAll(named, 'slot', reference('Slot'), issues, config).map(({ value }) => value);
  const [start, end] = [single(named, 'start', instant, issues, config), single(named, 'end', instant, issues, config)];
  for (const [name, value] of Object.entries({ schedule, slot: slots[0], start, end })) {
    if (value === undefined && !named.has(name)) {
      issues.push(missing(`A proposal has the part ${name}.`, path));
    }
  }
  if (slots.length > most.slot) {
    issues.push(malformed(`A proposal has at most ${most.slot} Slots.`, path));
  }
  if (start !== undefined && end !== undefined && start >= end) {
    issues.push({ code: 'period-invalid', diagnostics: 'The end must be later than the start.', expression: path });
  }
  return issues.length === issuesBefore && schedule !== undefined && start !== undefined && end !== undefined
    ? { schedule, slots, start, end }
    : undefined;
}

const partsOf = ({ part }: Readonly<Record<string, unknown>>): unknown => part;

/** Reads an entry of the plan; empty without a readable appointment. */
function readWish(
  { sent, path }: { readonly sent: Readonly<Record<string, unknown>>; readonly path: string },
  issues: Issue[],
  config: PublicConfig,
): Wish[] {
  // A plan from a response can be sent back unchanged, so its other parts are allowed.
  const named = groupByName(partsOf(sent), `${path}.part`, ['appointment', 'proposal', 'reach', 'outcome'], issues);
  const appointment = single(named, 'appointment', reference('Appointment'), issues, config);
  const [first, second] = named.get('proposal') ?? [];
  if (!named.has('appointment')) {
    issues.push(missing('An entry of the plan names its appointment.', path));
  }
  if (second) {
    issues.push(malformed('An entry of the plan has one proposal at most.', second.path));
  }
  const proposed = first && readProposal(partsOf(first.sent), `${first.path}.part`, issues, config);
  return appointment === undefined ? [] : [{ appointment, proposal: proposed, path }];
}

const names = ['schedule', 'period', 'reason', 'substitute', 'dry-run', 'plan', 'silence', 'end'] as const;

/**
 * Reads the body of `$absence`.
 * @param body - parsed JSON of any kind
 * @returns the request, if it could be read, and all its issues
 */
export function parseAbsenceRequest(
  body: unknown,
  now: number,
  config: PublicConfig,
): { readonly request?: AbsenceRequest; readonly issues: readonly Issue[] } {
  if (!isResource(body, 'Parameters')) {
    return { issues: [malformed('The body must be Parameters.', 'Parameters')] };
  }
  const issues: Issue[] = [];
  const { parameter }: { parameter?: ParametersParameter[] } = body;
  const named = groupByName(parameter, 'Parameters.parameter', names, issues);
  for (const name of ['schedule', 'substitute', 'plan'] as const) {
    if ((named.get(name) ?? []).length > most[name]) {
      return { issues: [malformed(`There can be at most ${most[name]} of ${name}.`, 'Parameters.parameter')] };
    }
  }
  const schedules = readAll(named, 'schedule', reference('Schedule'), issues, config);
  const substitutes = readAll(named, 'substitute', reference('Schedule'), issues, config);
  const absentIds = new Set(schedules.map(({ value }) => value));
  const [absent, reason, isDry, chosenSilence, end] = [
    single(named, 'period', period, issues, config),
    single(named, 'reason', text, issues, config),
    single(named, 'dry-run', boolean, issues, config),
    single(named, 'silence', silence, issues, config),
    single(named, 'end', instant, issues, config),
  ];
  const wishes = (named.get('plan') ?? []).flatMap((one) => readWish(one, issues, config));
  for (const name of ['schedule', 'period'] as const) {
    if (!named.has(name)) {
      issues.push(missing(`Name the ${name} of the absence.`, 'Parameters'));
    }
  }
  for (const { value, path } of substitutes.filter((one) => absentIds.has(one.value))) {
    issues.push(malformed(`Schedule/${value} is absent, and cannot be its own substitute.`, path));
  }
  const repeated = wishes.filter((one, index) => wishes.findIndex((w) => w.appointment === one.appointment) !== index);
  for (const { path } of repeated) {
    issues.push(malformed('An appointment stands in the plan once.', path));
  }
  if (wishes.length > 0 && chosenSilence === undefined && !named.has('silence')) {
    issues.push(missing('Say what happens if nobody answers, in silence.', 'Parameters'));
  }
  if (end !== undefined && (chosenSilence !== undefined || wishes.length > 0)) {
    issues.push(malformed('An absence is confirmed, or ended early.', 'Parameters'));
  }
  if (absent && absent.end <= now && end === undefined) {
    issues.push({ code: 'start-in-past', diagnostics: 'This time is over.', expression: 'Parameters' });
  }
  if (issues.length > 0 || !absent) {
    return { issues };
  }
  const unique = (list: typeof schedules): NamedSchedule[] => [
    ...new Map(list.map(({ value, path }) => [value, { id: value, path }])).values(),
  ];
  return {
    issues,
    request: {
      schedules: unique(schedules),
      substitutes: unique(substitutes),
      period: absent,
      reason: reason ?? '',
      isDry: isDry ?? false,
      wishes,
      silence: chosenSilence,
      end,
    },
  };
}

export const keyOf = ({ schedules, period: { start, end } }: Pick<AbsenceRequest, 'schedules' | 'period'>): string =>
  [...schedules.map(({ id }) => id).sort(), formatInstant(start), formatInstant(end)].join('/');
