import { describe, expect, test } from '@jest/globals';
import type { Extension, Schedule } from '@medplum/fhirtypes';
import { type StepTaken, visitIssues } from '../../../core/visits/check.ts';
import { readVisit, type Visit } from '../../../core/visits/visit.ts';
import { config, follows, minutes, optional, schedules, series, step, visiting } from './fixtures.ts';

const path = 'HealthcareService.extension[0]';

/** What is wrong with a visit: where, and the sentence. */
const problems = (...extension: Extension[]): string[] =>
  readVisit(visiting(...extension), config).issues.map(
    ({ code, expression, diagnostics }) => `${code} ${expression?.replace(path, '…')} ${diagnostics}`,
  );

const weekly: Extension = { url: 'every', valueDuration: { value: 1, code: 'wk' } };
const hours = (url: string, value: number): Extension => ({ url, valueDuration: { value, code: 'h' } });

describe('a visit that cannot be used is refused', () => {
  test.each<[problem: string, extension: Extension[], said: RegExp]>([
    ['a step without a name', [{ url: 'step' }], /must have a name/],
    ['nothing', [], /either steps or a series/],
    ['both', [step('A'), series(2, weekly)], /either steps or a series/],
    ['an unknown part', [step('A'), { url: 'x' }], /can only have the parts step, series/],
    ['an unknown part of a step', [step('A', { url: 'x' })], /A step can only have the parts/],
    ['a hundred steps', Array.from({ length: 100 }, (_, index) => step(`${index}`)), /at most 10 steps.*100/],
    ['two of a name', [step('A'), step('A')], /….extension\[1\] Two steps have the name A/],
    [
      'a pool of nobody',
      [{ url: 'step', extension: [{ url: 'name', valueString: 'A' }] }],
      /….extension\[0\] The step has nobody/,
    ],
    [
      'a role of nobody',
      [step('A', { url: 'with', extension: [] })],
      /extension\[0\]\.extension\[3\] This role has nobody/,
    ],
    ['a pool of two kinds', [step('A', ...schedules('a'), { url: 'service' })], /both a service and schedules/],
    ['a pool of too many', [step('A', ...schedules(...Array.from({ length: 101 }, String)))], /at most 100 schedules/],
    [
      'a pool of something else',
      [step('A', { url: 'service', valueReference: { reference: 'Schedule/1' } })],
      /to a HealthcareService/,
    ],
    ['a step that waits for no step', [step('A', follows('B'))], /comes after B, which is not a step/],
    ['a step that waits for itself', [step('A', follows('A'))], /cannot come after itself/],
    [
      'steps that wait for each other',
      [step('A', follows('C')), step('B', follows('A')), step('C', follows('B'))],
      /A before B before C before A/,
    ],
    [
      'a gap that cannot be',
      [step('A'), step('B', follows('A'), minutes('gapMin', 20), minutes('gapMax', 10))],
      /gapMax/,
    ],
    [
      'gaps that no order keeps',
      [
        step('A', minutes('duration', 30)),
        step('B', follows('A'), minutes('duration', 30), minutes('gapMax', 10)),
        step('C', follows('A'), minutes('duration', 30), minutes('gapMax', 10)),
      ],
      /No order/,
    ],
    ['a step of no length', [step('A', minutes('duration', 0))], /from 1 min to 1 d/],
    ['a gap of no unit', [step('A', { url: 'gapMin', valueDuration: { value: 1, code: 'mo' } })], /gapMin must be/],
    ['optional steps alone', [step('A', optional)], /must not be optional/],
    ['a duration twice', [step('A', minutes('duration', 1), minutes('duration', 2))], /more than once/],
    ['a wish for single steps that is no boolean', [step('A'), { url: 'byStep', valueString: 'yes' }], /valueBoolean/],
    ['a series of one', [series(1, weekly)], /from 2 to 20/],
    ['a series without end', [series(21, weekly)], /from 2 to 20/],
    ['a series of no interval', [series(2)], /whole days or weeks/],
    ['a series of hours', [series(2, hours('every', 36))], /whole days or weeks/],
    ['a tolerance in which two change places', [series(2, weekly, hours('tolerance', 84))], /shorter than half/],
  ])('%s', (_, extension, said) => {
    const found = problems(...extension);
    expect(found.join('\n')).toMatch(said);
    expect(found.every((one) => one.startsWith('visit-invalid …'))).toBe(true);
  });

  test('the visit given twice', () => {
    const [own] = visiting(step('A')).extension ?? [];
    const twice = own && { ...visiting(step('A')), extension: [own, own] };
    expect(twice && readVisit(twice, config).issues.map(({ expression }) => expression)).toEqual([
      'HealthcareService.extension[1]',
    ]);
  });
});

test('single steps may be changed only where the service says so', () => {
  expect(read(step('A')).isByStep).toBe(false);
  expect(read(step('A'), { url: 'byStep', valueBoolean: true }).isByStep).toBe(true);
});

test('a service without the extension has no visit', () => {
  expect(readVisit({ resourceType: 'HealthcareService' }, config)).toEqual({ visit: undefined, issues: [] });
});

function read(...extension: Extension[]): Visit {
  const { visit, issues } = readVisit(visiting(...extension), config);
  expect(issues).toEqual([]);
  if (!visit) {
    throw new Error('There is no visit');
  }
  return visit;
}

const scheduleOf = (id: string): Schedule => ({ resourceType: 'Schedule', id, actor: [] });

/** An appointment: `A 09:00-09:30 a`, on the day of the test or, after a slash, another one. */
function taken(text: string, index = 0): StepTaken {
  const [name = '', time = '', ...rooms] = text.split(' ');
  const [day = '', hours = ''] = time.includes('/') ? time.split('/') : ['2027-03-01', time];
  const [from, to] = hours.split('-').map((hour) => Date.parse(`${day}T${hour}:00Z`));
  return { step: name, start: from ?? 0, end: to ?? 0, schedules: rooms.map(scheduleOf), path: `[${index}]` };
}

const said = (visit: Visit, ...appointments: string[]): string[] =>
  visitIssues(visit, appointments.map(taken), 'Europe/Berlin', 'Parameters').map(
    ({ code, expression, diagnostics }) => `${code} ${expression}: ${diagnostics}`,
  );

describe('appointments are compared with the visit', () => {
  const visit = read(
    step('A', minutes('duration', 30)),
    step('B', follows('A'), optional, { url: 'with', extension: schedules('c') }),
    step('C', follows('B'), minutes('gapMin', 10), minutes('gapMax', 60)),
  );

  test.each([
    ['all', ['A 09:00-09:30 a', 'B 09:30-10:00 b c', 'C 10:10-10:40 a']],
    ['without what is optional', ['C 09:40-10:00 b', 'A 09:00-09:30 a']],
  ])('%s', (_, appointments) => {
    expect(said(visit, ...appointments)).toEqual([]);
  });

  test.each<[problem: string, appointments: string[], issues: string[]]>([
    ['a missing step', ['A 09:00-09:30 a'], ['Parameters: The step C is missing.']],
    [
      'an unknown step',
      ['A 09:00-09:30 a', 'C 09:40-10:00 a', 'D 11:00-12:00 a'],
      ['[2].extension: The visit has no step D.'],
    ],
    [
      'a step twice',
      ['A 09:00-09:30 a', 'C 09:40-10:00 a', 'A 11:00-11:30 a'],
      ['[2].extension: The step A is booked twice.'],
    ],
    ['another order', ['C 09:00-09:30 a', 'A 10:00-10:30 a'], ['[0].start: The step C must come after the step A.']],
    [
      'an overlap, and with it too short a gap',
      ['A 09:00-09:30 a', 'C 09:20-10:00 b'],
      ['[1].start: The steps A and C overlap.', '[1].start: The step C must start at least 10 min after A.'],
    ],
    [
      'too long a gap',
      ['A 09:00-09:30 a', 'C 10:40-11:00 b'],
      ['[1].start: The step C must start at most 1 h after A.'],
    ],
    ['another length', ['A 09:00-09:20 a', 'C 09:40-10:00 b'], ['[0].end: The step A must take 30 min.']],
    [
      'another room',
      ['A 09:00-09:30 c', 'C 09:40-10:00 b'],
      ['[0].slot: These slots cannot be booked for the step A.'],
    ],
    [
      'a role that nobody fills',
      ['A 09:00-09:30 a', 'B 09:30-10:00 b', 'C 10:10-10:40 a'],
      ['[1].slot: These slots cannot be booked for the step B.'],
    ],
  ])('%s', (_, appointments, issues) => {
    expect(said(visit, ...appointments)).toEqual(issues.map((issue) => `visit-mismatch ${issue}`));
  });
});

describe('appointments are compared with the series', () => {
  const ofService: Schedule[] = ['a', 'b'].map((id) => ({
    ...scheduleOf(id),
    actor: [{ reference: 'HealthcareService/visit' }],
  }));
  const sameActor: Extension = { url: 'sameActor', valueBoolean: true };
  const visit = read(series(3, weekly, hours('tolerance', 24), sameActor));
  const saidOf = (...appointments: string[]): string[] =>
    visitIssues(
      visit,
      appointments.map(taken).map((one) => ({
        ...one,
        schedules: one.schedules.map(
          ({ id }) => ofService.find((schedule) => schedule.id === id) ?? scheduleOf(id ?? ''),
        ),
      })),
      'Europe/Berlin',
      'Parameters',
    ).map(({ expression, diagnostics }) => `${expression}: ${diagnostics}`);

  test.each([
    [
      'by the clocks of the clinic, over the night in which they change',
      ['1 2027-03-22/08:00-08:30 a', '2 2027-03-29/07:00-07:30 a', '3 2027-04-05/07:00-07:30 a'],
    ],
    [
      'within the tolerance',
      ['1 2027-03-01/08:00-08:30 a', '2 2027-03-09/08:00-08:30 a', '3 2027-03-15/08:00-08:30 a'],
    ],
    ['in part', ['1 2027-03-01/08:00-08:30 a', '3 2027-03-15/08:00-08:30 a']],
  ])('%s', (_, appointments) => {
    expect(saidOf(...appointments)).toEqual([]);
  });

  test.each<[problem: string, appointments: string[], said: RegExp]>([
    ['too far apart', ['1 2027-03-01/08:00-08:30 a', '2 2027-03-11/08:00-08:30 a'], /7 d apart, each at most 1 d/],
    ['too many', ['1 2027-03-01/08:00-08:30 a', '4 2027-03-22/08:00-08:30 a'], /steps 1 to 3, and no 4/],
    ['of somebody else', ['1 2027-03-01/08:00-08:30 a', '2 2027-03-08/08:00-08:30 b'], /\[1\]\.slot: .*same schedule/],
    ['of another service', ['1 2027-03-01/08:00-08:30 c'], /cannot be booked for the step 1/],
  ])('%s', (_, appointments, text) => {
    expect(saidOf(...appointments).join('\n')).toMatch(text);
  });
});
