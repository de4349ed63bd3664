import type { Coding } from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { formatReference, parseReference } from '../fhir/reference.ts';
import { isObject, isResource } from '../fhir/resource.ts';
import type { Interval } from '../time/interval.ts';
import { dateRange } from '../time/local-day.ts';
import { DAY } from '../time/time-zone.ts';
import { MAX_PERIOD } from './series.ts';

/** A request to `$find`. */
export interface FindRequest {
  /** Id of the HealthcareService. */
  readonly service: string;
  /** The whole visit must lie in it. */
  readonly period: Interval;
  readonly count: number;
  /** The hours of the day in which each appointment must be: milliseconds since midnight. */
  readonly hours: Interval;
  /** The wanted actors, `Type/id`. */
  readonly actors: readonly string[];
  /** Names of optional steps that are left out. */
  readonly without: readonly string[];
  /** Names of the wanted steps, for example the rest of a series to be moved; empty for all. */
  readonly steps: readonly string[];
  /** `Patient/id`, if it was named. */
  readonly patient: string | undefined;
  readonly payerKind: Coding | undefined;
}

interface ParsedFind {
  readonly request: FindRequest | undefined;
  readonly issues: readonly Issue[];
}

const MAX_PROPOSALS = 20;
const USUAL_PROPOSALS = 5;

const MAX_ACTORS = 50;

/** The most appointments in one booking. */
const MAX_STEPS = 20;

const actorTypes = ['Practitioner', 'PractitionerRole', 'Location', 'HealthcareService', 'Device'] as const;

interface Value {
  readonly service: string;
  readonly period: Interval;
  readonly count: number;
  readonly actor: string;
  readonly earliest: number;
  readonly latest: number;
  readonly without: string;
  readonly step: string;
  readonly patient: string;
  readonly 'payer-kind': Coding;
}

type Name = keyof Value;

interface Definition<T> {
  readonly most: number;
  /** The expected value, as words for an error message. */
  readonly said: string;
  readonly read: (value: Readonly<Record<string, unknown>>, config: BookingConfig) => T | undefined;
}

const timeOfDay = /^(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.\d+)?)?$/;

function sinceMidnight(value: unknown): number | undefined {
  const [hours, minutes, seconds] = typeof value === 'string' && timeOfDay.test(value) ? value.split(':') : [];
  return hours === undefined
    ? undefined
    : (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds ?? 0) * 1_000;
}

function periodOf(value: unknown, { timeZone }: BookingConfig): Interval | undefined {
  const { start, end } = isObject(value) ? value : {};
  const from = typeof start === 'string' ? dateRange(start, timeZone) : undefined;
  const to = typeof end === 'string' ? dateRange(end, timeZone) : undefined;
  const isDay = typeof end === 'string' && !end.includes('T');
  return from && to && { start: from.start, end: isDay ? to.end : to.start };
}

const referenceTo =
  (types: Parameters<typeof parseReference>[2]) =>
  ({ valueReference }: Readonly<Record<string, unknown>>, { baseUrl }: BookingConfig): string | undefined => {
    const read = isObject(valueReference) ? parseReference(valueReference.reference, baseUrl, types) : undefined;
    return read && formatReference(read);
  };

const text = ({ valueString }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof valueString === 'string' && valueString !== '' ? valueString : undefined;

function count({ valuePositiveInt, valueInteger }: Readonly<Record<string, unknown>>): number | undefined {
  const value = valuePositiveInt ?? valueInteger;
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_PROPOSALS
    ? value
    : undefined;
}

function coding({ valueCoding }: Readonly<Record<string, unknown>>): Coding | undefined {
  const { system, code } = isObject(valueCoding) ? valueCoding : {};
  return typeof system === 'string' && typeof code === 'string' && code !== '' ? { system, code } : undefined;
}

const definitions: { readonly [K in Name]: Definition<Value[K]> } = {
  service: { most: 1, said: 'a valueReference to a HealthcareService', read: referenceTo(['HealthcareService']) },
  period: {
    most: 1,
    said: 'a valuePeriod with start and end',
    read: ({ valuePeriod }, config) => periodOf(valuePeriod, config),
  },
  count: { most: 1, said: `a valuePositiveInt from 1 to ${MAX_PROPOSALS}`, read: count },
  actor: { most: MAX_ACTORS, said: `a valueReference to ${actorTypes.join(', ')}`, read: referenceTo(actorTypes) },
  earliest: {
    most: 1,
    said: 'a valueTime such as 08:00:00',
    read: ({ valueTime }) => sinceMidnight(valueTime),
  },
  latest: {
    most: 1,
    said: 'a valueTime such as 12:00:00',
    read: ({ valueTime }) => sinceMidnight(valueTime),
  },
  without: { most: 10, said: 'a valueString, the name of an optional step', read: text },
  step: { most: MAX_STEPS, said: 'a valueString, the name of a step', read: text },
  patient: { most: 1, said: 'a valueReference to a Patient', read: referenceTo(['Patient']) },
  'payer-kind': { most: 1, said: 'a valueCoding with system and code', read: coding },
};

const isName = (name: unknown): name is Name => typeof name === 'string' && Object.hasOwn(definitions, name);

/** Checks one parameter of `$find`; `isTooOften` if there are more of its name than permitted. */
function parameterIssues(parameter: unknown, path: string, isTooOften: boolean, config: BookingConfig): Issue[] {
  const name = isObject(parameter) ? parameter.name : undefined;
  if (!isObject(parameter) || typeof name !== 'string') {
    return [{ code: 'malformed-request', diagnostics: 'Every parameter needs a name.', expression: path }];
  }
  if (!isName(name)) {
    const known = Object.keys(definitions).join(', ');
    const diagnostics = `$find has no parameter ${JSON.stringify(name).slice(0, 80)}; its parameters are ${known}.`;
    return [{ code: 'parameter-unknown', diagnostics, expression: `${path}.name` }];
  }
  const { most, said, read }: Definition<unknown> = definitions[name];
  if (isTooOften) {
    const diagnostics = `The parameter ${name} can be given ${most === 1 ? 'once' : `${most} times`}.`;
    return [{ code: 'malformed-request', diagnostics, expression: path }];
  }
  return read(parameter, config) === undefined
    ? [{ code: 'malformed-request', diagnostics: `The parameter ${name} must hold ${said}.`, expression: path }]
    : [];
}

function missing(name: Name, { said }: { readonly said: string }): Issue {
  return {
    code: 'element-missing',
    diagnostics: `The parameter ${name} is missing: ${said}.`,
    expression: 'Parameters',
  };
}

/** Checks the requested period and the hours of the day. */
function timeIssues(period: Interval | undefined, hours: Interval, now: number): Issue[] {
  const expression = "Parameters.parameter.where(name = 'period')";
  const noHours = { code: 'period-invalid', diagnostics: 'latest must be later than earliest.' } as const;
  if (period && period.end <= period.start) {
    return [{ code: 'period-invalid', diagnostics: 'The period must end after it starts.', expression }];
  }
  if (period && period.end - period.start > MAX_PERIOD) {
    return [{ code: 'too-costly', diagnostics: 'Ask for a period of at most a year.', expression }];
  }
  return [
    ...(period && period.end <= now
      ? [{ code: 'start-in-past', diagnostics: 'The period is over.', expression } as const]
      : []),
    ...(hours.end <= hours.start ? [{ ...noHours, expression: "Parameters.parameter.where(name = 'latest')" }] : []),
  ];
}

/**
 * Reads the body of `$find`.
 * @param body - parsed JSON of any kind
 * @returns the request if it has no problems, or all problems
 */
export function parseFind(body: unknown, now: number, config: BookingConfig): ParsedFind {
  const isParameters = isResource(body, 'Parameters');
  const sent: unknown = isParameters ? body.parameter : undefined;
  const all: readonly unknown[] = Array.isArray(sent) ? sent : [];
  if (!isParameters || (sent !== undefined && !Array.isArray(sent))) {
    const diagnostics = 'Send Parameters with service and period.';
    return { request: undefined, issues: [{ code: 'malformed-request', diagnostics, expression: 'Parameters' }] };
  }
  const seen = new Map<unknown, number>();
  const malformed = all.flatMap((parameter, index) => {
    const name = isObject(parameter) ? parameter.name : undefined;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    const isTooOften = isName(name) && (seen.get(name) ?? 0) > definitions[name].most;
    return parameterIssues(parameter, `Parameters.parameter[${index}]`, isTooOften, config);
  });
  const valuesOf = <K extends Name>(wanted: K): Value[K][] =>
    all
      .map((one) => (isObject(one) && one.name === wanted ? definitions[wanted].read(one, config) : undefined))
      .filter((value) => value !== undefined);
  const firstOf = <K extends Name>(wanted: K): Value[K] | undefined => valuesOf(wanted)[0];
  const [service, period] = [firstOf('service'), firstOf('period')];
  const hours = { start: firstOf('earliest') ?? 0, end: firstOf('latest') ?? DAY };
  const issues = [
    ...malformed,
    ...(seen.has('service') ? [] : [missing('service', definitions.service)]),
    ...(seen.has('period') ? [] : [missing('period', definitions.period)]),
    ...timeIssues(period, hours, now),
  ];
  if (issues.length > 0 || !service || !period) {
    return { request: undefined, issues };
  }
  return {
    request: {
      service: service.replace('HealthcareService/', ''),
      period: { start: Math.max(period.start, now), end: period.end },
      count: firstOf('count') ?? USUAL_PROPOSALS,
      hours,
      actors: valuesOf('actor'),
      without: valuesOf('without'),
      steps: valuesOf('step'),
      patient: firstOf('patient'),
      payerKind: firstOf('payer-kind'),
    },
    issues,
  };
}
