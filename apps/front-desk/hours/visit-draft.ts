import type { Extension, HealthcareService } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { milliseconds } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import type { HoursData } from '../../../core/fhir/scheduling/hours-data.ts';
import { isInPool, MAX_STEPS, readVisit } from '../../../core/visits/visit.ts';
import { listOf } from '../../../packages/web/elements.ts';

/** A duration as typed; empty if unspecified. */
export interface TypedLength {
  readonly value: number | '';
  /** UCUM. */
  readonly unit: string;
}

/** A step of a visit, as typed. */
export interface StepRow {
  /** Identifies the step in other steps, even if its name changes. */
  readonly key: number;
  readonly name: string;
  /** Id of the service whose calendars can perform the step; empty if calendars are named. */
  readonly service: string;
  readonly schedules: readonly string[];
  readonly duration: TypedLength;
  /** Keys of the steps that must end before this one. */
  readonly after: readonly number[];
  readonly gapMin: TypedLength;
  readonly gapMax: TypedLength;
  /** Key of the step that has the same calendar. */
  readonly sameAs: number | undefined;
  readonly isOptional: boolean;
  /** Extensions that the form does not show. They stay. */
  readonly kept: readonly Extension[];
}

/** A series, as typed. */
export interface SeriesDraft {
  readonly count: number | '';
  readonly every: TypedLength;
  readonly tolerance: TypedLength;
  readonly isSameActor: boolean;
  readonly kept: readonly Extension[];
}

/** The kinds of services: one appointment, several steps, or a series. */
export const visitKinds = ['one', 'steps', 'series'] as const;

/** The visit of a service, as typed. Only the parts of its kind are stored. */
export interface VisitDraft {
  readonly kind: (typeof visitKinds)[number];
  readonly steps: readonly StepRow[];
  readonly series: SeriesDraft;
  readonly isByStep: boolean;
  readonly kept: readonly Extension[];
}

const nothing = (unit: string): TypedLength => ({ value: '', unit });

/** Takes parts out of an extension by name. Unreadable and repeated parts remain in `left`. */
class ExtensionParts {
  readonly left: Extension[];

  constructor(extension: Extension | undefined) {
    this.left = [...listOf(extension?.extension)];
  }

  first<T>(url: string, read: (part: Extension) => T | undefined): T | undefined {
    const index = this.left.findIndex((extension) => extension.url === url && read(extension) !== undefined);
    const [found] = index < 0 ? [] : this.left.splice(index, 1);
    return found && read(found);
  }

  all<T>(url: string, read: (part: Extension) => T | undefined): T[] {
    const found = this.first(url, read);
    return found === undefined ? [] : [found, ...this.all(url, read)];
  }

  length(url: string, unit: string): TypedLength {
    const read = ({ valueDuration: given }: Extension): TypedLength | undefined =>
      milliseconds(given) === undefined
        ? undefined
        : { value: given?.value ?? '', unit: given?.code ?? given?.unit ?? '' };
    return this.first(url, read) ?? nothing(unit);
  }

  boolean(url: string): boolean {
    return (
      this.first(url, ({ valueBoolean }) => (typeof valueBoolean === 'boolean' ? valueBoolean : undefined)) === true
    );
  }
}

const text = ({ valueString }: Extension): string | undefined =>
  typeof valueString === 'string' ? valueString : undefined;

function stepRow(extension: Extension, key: number, names: readonly (string | undefined)[]): StepRow {
  const parts = new ExtensionParts(extension);
  const other = (part: Extension): number | undefined => {
    const index = names.indexOf(text(part) ?? '');
    return index < 0 ? undefined : index;
  };
  const schedules = parts.all('schedule', ({ valueReference }) => idIn(valueReference, 'Schedule'));
  return {
    key,
    name: parts.first('name', text) ?? '',
    service:
      schedules.length > 0
        ? ''
        : (parts.first('service', ({ valueReference }) => idIn(valueReference, 'HealthcareService')) ?? ''),
    schedules,
    duration: parts.length('duration', 'min'),
    after: parts.all('after', other),
    gapMin: parts.length('gapMin', 'min'),
    gapMax: parts.length('gapMax', 'min'),
    sameAs: parts.first('sameAs', other),
    isOptional: parts.boolean('optional'),
    kept: parts.left,
  };
}

/** A new step without values. */
export function emptyStep(steps: readonly StepRow[]): StepRow {
  const key = Math.max(-1, ...steps.map((row) => row.key)) + 1;
  return stepRow({ url: 'step' }, key, []);
}

/** The visit of a service, to be edited. */
export function visitDraftOf(service: HealthcareService, config: PublicConfig): VisitDraft {
  const url = artefactUri(config, 'LocalVisit');
  const visit = new ExtensionParts(listOf(service.extension).find((extension) => extension.url === url));
  const steps = visit.all('step', (part) => part);
  const names = steps.map((step) => listOf(step.extension).find((part) => part.url === 'name')?.valueString);
  const stored = visit.first('series', (part) => part);
  const series = new ExtensionParts(stored);
  return {
    kind: stored ? 'series' : steps.length > 0 ? 'steps' : 'one',
    steps: steps.map((step, index) => stepRow(step, index, names)),
    series: {
      count: series.first('count', ({ valuePositiveInt }) => valuePositiveInt) ?? '',
      every: series.length('every', 'wk'),
      tolerance: series.length('tolerance', 'd'),
      isSameActor: series.boolean('sameActor'),
      kept: series.left,
    },
    isByStep: visit.boolean('byStep'),
    kept: visit.left,
  };
}

const lengthPart = (url: string, { value, unit }: TypedLength): Extension[] =>
  value === '' ? [] : [{ url, valueDuration: { value, unit, system: 'http://unitsofmeasure.org', code: unit } }];

const truePart = (url: string, isSo: boolean): Extension[] => (isSo ? [{ url, valueBoolean: true }] : []);

function stepPart(row: StepRow, steps: readonly StepRow[]): Extension {
  const nameOf = (key: number): string => steps.find((one) => one.key === key)?.name.trim() ?? '';
  const name = row.name.trim();
  return {
    url: 'step',
    extension: [
      ...(name === '' ? [] : [{ url: 'name', valueString: name }]),
      ...(row.service === ''
        ? row.schedules.map((id) => ({ url: 'schedule', valueReference: { reference: `Schedule/${id}` } }))
        : [{ url: 'service', valueReference: { reference: `HealthcareService/${row.service}` } }]),
      ...lengthPart('duration', row.duration),
      ...row.after.flatMap((key) => (nameOf(key) === '' ? [] : [{ url: 'after', valueString: nameOf(key) }])),
      ...lengthPart('gapMin', row.gapMin),
      ...lengthPart('gapMax', row.gapMax),
      ...(row.sameAs === undefined ? [] : [{ url: 'sameAs', valueString: nameOf(row.sameAs) }]),
      ...truePart('optional', row.isOptional),
      ...row.kept,
    ],
  };
}

function seriesPart({ count, every, tolerance, isSameActor, kept }: SeriesDraft): Extension {
  return {
    url: 'series',
    extension: [
      ...(count === '' ? [] : [{ url: 'count', valuePositiveInt: count }]),
      ...lengthPart('every', every),
      ...lengthPart('tolerance', tolerance),
      ...truePart('sameActor', isSameActor),
      ...kept,
    ],
  };
}

/** The service with the typed visit. Extensions that the form does not show stay. */
export function serviceWithVisit(
  service: HealthcareService,
  { kind, steps, series, isByStep, kept }: VisitDraft,
  config: PublicConfig,
): HealthcareService {
  const url = artefactUri(config, 'LocalVisit');
  const { extension: stored, ...rest } = service;
  const parts = kind === 'series' ? [seriesPart(series)] : steps.map((row) => stepPart(row, steps));
  const visit: Extension = { url, extension: [...parts, ...truePart('byStep', isByStep), ...kept] };
  const others = (stored ?? []).filter((one) => one.url !== url);
  const extension = kind === 'one' ? others : [...others, visit];
  return extension.length > 0 ? { ...rest, extension } : rest;
}

/** The steps without one of them. References to it are removed. */
export function withoutStep(steps: readonly StepRow[], key: number): StepRow[] {
  return steps
    .filter((row) => row.key !== key)
    .map((row) => ({
      ...row,
      after: row.after.filter((other) => other !== key),
      sameAs: row.sameAs === key ? undefined : row.sameAs,
    }));
}

/** Swaps a step with the one before it. */
export function movedUp(steps: readonly StepRow[], index: number): StepRow[] {
  return steps.map((row, at) => (at === index - 1 ? steps[index] : at === index ? steps[index - 1] : undefined) ?? row);
}

/** A problem of a step: its name is missing or repeated, nobody can perform it, its gaps, or something else. */
export type StepProblem = 'name' | 'twice' | 'nobody' | 'gaps' | 'step';

type WholeProblem = 'none' | 'many' | 'optional' | 'order' | 'series' | 'nobody';

interface VisitProblems {
  /** By the keys of steps. */
  readonly steps: ReadonlyMap<number, StepProblem>;
  readonly whole: WholeProblem | undefined;
  readonly sentences: readonly string[];
}

function stepProblem(row: StepRow, steps: readonly StepRow[]): StepProblem {
  const name = row.name.trim();
  const first = steps.find((one) => one.name.trim() === name);
  const [least, most] = [row.gapMin, row.gapMax].map(({ value, unit }) => milliseconds({ value, code: unit }));
  if (name === '') {
    return 'name';
  }
  if (row.service === '' && row.schedules.length === 0) {
    return 'nobody';
  }
  if (first !== row) {
    return 'twice';
  }
  return least !== undefined && most !== undefined && most < least ? 'gaps' : 'step';
}

function wholeProblem({ kind, steps }: VisitDraft): WholeProblem {
  if (kind === 'series') {
    return 'series';
  }
  if (steps.length === 0 || steps.length > MAX_STEPS) {
    return steps.length === 0 ? 'none' : 'many';
  }
  return steps.every(({ isOptional }) => isOptional) ? 'optional' : 'order';
}

/** The problems of a draft by the rule of the store, and services without a calendar; `undefined` if there are none. */
export function visitProblems(
  service: HealthcareService,
  draft: VisitDraft,
  data: HoursData,
  config: PublicConfig,
): VisitProblems | undefined {
  const { kind, steps: rows } = draft;
  const { issues } = readVisit(serviceWithVisit(service, draft, config), config);
  const isOffered = (id: string): boolean =>
    data.services.some((one) => one.id === id) &&
    data.schedules.some((one) => isInPool({ kind: 'service', service: id }, one));
  const steps = new Map<number, StepProblem>();
  for (const row of kind === 'steps' ? rows : []) {
    if (row.service !== '' && !isOffered(row.service)) {
      steps.set(row.key, 'nobody');
    }
  }
  const isEmpty = kind === 'series' && !isOffered(service.id ?? '');
  let whole: WholeProblem | undefined = isEmpty ? 'nobody' : undefined;
  for (const { expression = '' } of issues) {
    const [, part = ''] = /^HealthcareService\.extension\[\d+\]\.extension\[(\d+)\]/.exec(expression) ?? [];
    const row = kind === 'steps' && part !== '' ? rows[Number(part)] : undefined;
    if (row) {
      steps.set(row.key, stepProblem(row, rows));
    } else {
      whole = wholeProblem(draft);
    }
  }
  const sentences = [...new Set(issues.map(({ diagnostics }) => diagnostics))];
  return steps.size > 0 || whole ? { steps, whole, sentences } : undefined;
}
