import { describe, expect, test } from '@jest/globals';
import type { Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { hoursData } from '../../../core/fhir/scheduling/hours-data.ts';
import {
  config,
  follows,
  minutes,
  optional,
  schedules,
  series,
  step,
  visiting,
} from '../../../test/core/visits/fixtures.ts';
import {
  emptyStep,
  movedUp,
  serviceWithVisit,
  type VisitDraft,
  visitDraftOf,
  visitProblems,
  withoutStep,
} from '../hours/visit-draft.ts';

const calendar: Schedule = { resourceType: 'Schedule', id: 'a', actor: [{ reference: 'HealthcareService/ecg' }] };
const ecg: HealthcareService = { resourceType: 'HealthcareService', id: 'ecg', active: true };
const data = hoursData([calendar, ecg, visiting()], config);

const ofService = (id: string): Extension => ({
  url: 'service',
  valueReference: { reference: `HealthcareService/${id}` },
});
const weekly: Extension = { url: 'every', valueDuration: { value: 1, code: 'wk' } };
const role: Extension = { url: 'with', extension: schedules('c', 'd') };
const same: Extension = { url: 'sameAs', valueString: 'A' };
const byStep: Extension = { url: 'byStep', valueBoolean: true };

const draftOf = (...extension: Extension[]): VisitDraft => visitDraftOf(visiting(...extension), config);
const stepsOf = (...extension: Extension[]) => draftOf(...extension).steps;

/** What is stored after other steps were typed, as the form reads it again. */
const storedAgain = (draft: VisitDraft): VisitDraft =>
  visitDraftOf(serviceWithVisit(visiting(), draft, config), config);

const problemsOf = (...extension: Extension[]) => visitProblems(visiting(), draftOf(...extension), data, config);

describe('what the form reads is what it stores', () => {
  test.each<[what: string, extension: Extension[]]>([
    [
      'steps',
      [step('A', minutes('duration', 20), optional), step('B', follows('A'), minutes('gapMax', 60), same), byStep],
    ],
    ['a step that needs somebody else, too', [step('A', ofService('ecg'), role, role)]],
    ['a series', [series(6, weekly, { url: 'sameActor', valueBoolean: true })]],
    ['parts that nobody knows', [step('A', { url: 'later', valueString: 'x' }), { url: 'new', valueBoolean: true }]],
    ['a step after one that is gone', [step('A', follows('gone'))]],
    ['lengths that cannot be read', [step('A', { url: 'gapMin', valueDuration: { value: 1, code: 'mo' } })]],
  ])('%s', (_, extension) => {
    const draft = draftOf(...extension);
    const next = serviceWithVisit(visiting(...extension), draft, config);
    expect(visitDraftOf(next, config)).toEqual(draft);
    const urls = (found: readonly Extension[] = []): unknown[] =>
      found.map(({ url, extension: inner }) => [url, ...urls(inner)]).sort();
    expect(urls(next.extension)).toEqual(urls(visiting(...extension).extension));
  });

  test('other extensions stay, and an ordinary service has no visit', () => {
    const extension: Extension = { url: 'https://clinic.example/other', valueBoolean: true };
    const service = { ...visiting(step('A')), extension: [extension, ...(visiting(step('A')).extension ?? [])] };
    const draft = visitDraftOf(service, config);
    expect(serviceWithVisit(service, draft, config).extension).toHaveLength(2);
    expect(serviceWithVisit(service, { ...draft, kind: 'one' }, config).extension).toEqual([extension]);
    expect(serviceWithVisit(visiting(step('A')), { ...draft, kind: 'one' }, config)).not.toHaveProperty('extension');
  });
});

describe('steps', () => {
  const [first, second, third] = stepsOf(step('A'), step('B', follows('A'), same), step('C', follows('B')));
  if (!first || !second || !third) {
    throw new Error('There are three steps.');
  }

  test('keep who waits for them under another name', () => {
    const draft = { ...draftOf(step('A')), steps: [{ ...first, name: 'Blood' }, second, third] };
    expect(storedAgain(draft).steps).toMatchObject([{ name: 'Blood' }, { after: [0], sameAs: 0 }, { after: [1] }]);
  });

  test('are added, moved up, and taken away with what waited for them', () => {
    expect(emptyStep([first, second, third])).toMatchObject({
      key: 3,
      name: '',
      service: '',
      schedules: [],
      after: [],
    });
    expect(movedUp([first, second, third], 2).map(({ name }) => name)).toEqual(['A', 'C', 'B']);
    expect(withoutStep([first, second, third], 0)).toMatchObject([
      { name: 'B', after: [], sameAs: undefined },
      { name: 'C', after: [1] },
    ]);
  });
});

describe('what cannot be used is said at its step', () => {
  test.each<[problem: string, extension: Extension[], said: [number, string][]]>([
    ['name', [step('A'), step(' ')], [[1, 'name']]],
    ['twice', [step('A'), step('A')], [[1, 'twice']]],
    ['nobody', [step('A'), { url: 'step', extension: [{ url: 'name', valueString: 'B' }] }], [[1, 'nobody']]],
    ['a service without calendars', [step('A', ofService('gone')), step('B', ofService('ecg'))], [[0, 'nobody']]],
    ['gaps', [step('A'), step('B', follows('A'), minutes('gapMin', 20), minutes('gapMax', 10))], [[1, 'gaps']]],
    ['a length', [step('A', minutes('duration', 2000))], [[0, 'step']]],
    ['a step that is gone', [step('A', follows('gone'))], [[0, 'step']]],
  ])('%s', (_, extension, said) => {
    const found = problemsOf(...extension);
    expect([...(found?.steps ?? [])]).toEqual(said);
    expect(found?.whole).toBeUndefined();
  });

  test.each<[problem: string, extension: Extension[]]>([
    ['order', [step('A', follows('B')), step('B', follows('A'))]],
    ['optional', [step('A', optional)]],
    ['many', Array.from({ length: 11 }, (_, index) => step(`${index}`))],
    ['series', [series(1, weekly)]],
    ['nobody', [series(6, weekly)]],
  ])('or of the whole: %s', (problem, extension) => {
    expect(problemsOf(...extension)).toMatchObject({ whole: problem, steps: new Map() });
  });

  test('steps are needed', () => {
    expect(visitProblems(visiting(), { ...draftOf(), kind: 'steps' }, data, config)?.whole).toBe('none');
  });

  test('what can be used has no problems', () => {
    expect(problemsOf(step('A', ofService('ecg')), step('B', follows('A')))).toBeUndefined();
    expect(visitProblems(visiting(), draftOf(), data, config)).toBeUndefined();
  });
});
