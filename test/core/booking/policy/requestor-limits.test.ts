import { describe, expect, it } from '@jest/globals';
import type { Appointment, BundleEntry, Resource } from '@medplum/fhirtypes';
import {
  answeredYes,
  furtherQuestions,
  type LimitQuestion,
  markEntry,
  questionsFor,
  requestorLimitIssues,
  requestorLimitReads,
  slackOf,
} from '../../../../core/booking/policy/requestor-limits.ts';
import { requestorQuery } from '../../../../core/fhir/tags.ts';
import { appointment, config, issuesOf, now, plan, requestor, stateOf } from '../support.ts';

const limited = { ...config, requestors: { maxOpenAppointments: 100, maxBookingsPerMinute: 20 } };

const found = (...resources: Resource[]): BundleEntry => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
});

it('each limit is one search that reads one resource: the one with which the limit is reached', () => {
  const urls = requestorLimitReads(['open', 'rate', 'jobs'], requestor, now, limited).map(
    ({ request }) => new URLSearchParams(request?.url.split('?')[1]),
  );
  expect(urls.map((query) => [query.get('_offset'), query.get('_count'), query.get('_tag')])).toEqual(
    ['99', '19', '19'].map((offset) => [offset, '1', requestorQuery(requestor, config)]),
  );
  expect(urls.map((query) => query.get('date') ?? query.get('_lastUpdated') ?? query.get('status'))).toEqual([
    'ge2027-01-01T00:00:00.000Z',
    'ge2026-12-31T23:59:00.000Z',
    'requested',
  ]);
});

it('a limit is reached where something was found', () => {
  expect(answeredYes(['open', 'rate'], [found(), found(appointment())])).toEqual(new Set(['rate']));
  expect(answeredYes(['open', 'rate'], [found(appointment()), found()])).toEqual(new Set(['open']));
  expect(answeredYes(['open', 'rate'], [])).toEqual(new Set());
});

it('a mark that may not be read counts as there, an appointment that may not be read does not', () => {
  const forbidden = { response: { status: '403' } };
  expect(answeredYes(['marked', 'open'], [forbidden, forbidden])).toEqual(new Set(['marked']));
});

describe('where nothing is remembered', () => {
  const large = { ...config, requestors: { maxOpenAppointments: 5_000, maxBookingsPerMinute: 600 } };
  const limits = ['open', 'rate'] as const;
  const mark: Resource = { resourceType: 'Task', id: 'mark', status: 'completed', intent: 'order' };

  it.each<[number, LimitQuestion[]]>([
    [0, ['marked', 'near-open', 'near-rate']],
    [0.0099, ['marked', 'near-open', 'near-rate']],
    [0.01, ['marked', 'near-rate']],
    [0.083, ['marked', 'near-rate']],
    [0.084, ['marked']],
    [0.999, ['marked']],
  ])('with %s of chance it is asked: %j', (random, questions) => {
    expect(questionsFor(limits, random, large)).toEqual(questions);
  });

  it('a small limit, and waiting jobs, are asked for with every booking', () => {
    const small = { ...config, requestors: { maxOpenAppointments: 99, maxBookingsPerMinute: 100 } };
    expect(questionsFor(['open', 'rate', 'jobs'], 0.999, small)).toEqual(['marked', 'open', 'jobs']);
    expect(questionsFor(['open'], 0.999, small)).toEqual(['open']);
    expect(furtherQuestions(['open', 'rate'], ['marked', 'open'], new Set(['marked', 'open']), small)).toEqual([
      'near-rate',
      'rate',
    ]);
  });

  it.each<[LimitQuestion[], LimitQuestion[], LimitQuestion[]]>([
    [['marked'], [], []],
    [['marked'], ['marked'], ['near-open', 'near-rate', 'open', 'rate']],
    [['marked', 'near-rate'], ['near-rate'], ['rate']],
    [['marked', 'near-open', 'near-rate'], ['near-open'], ['open']],
    [['marked', 'near-rate'], ['marked'], ['near-open', 'open', 'rate']],
  ])('of %j with a yes to %j follows %j', (asked, yes, further) => {
    expect(furtherQuestions(limits, asked, new Set(yes), large)).toEqual(further);
  });

  it('who is marked is marked for both limits, even where one is asked for', () => {
    expect(furtherQuestions(['open'], ['marked'], new Set(['marked']), large)).toEqual([
      'near-open',
      'near-rate',
      'open',
    ]);
  });

  const all: LimitQuestion[] = ['marked', 'near-open', 'near-rate'];
  it.each<[string, LimitQuestion[], LimitQuestion[], string | undefined]>([
    ['nobody near a limit', all, [], undefined],
    ['who comes near one', all, ['near-rate'], 'POST Task'],
    ['who comes near one, not knowing of the other', ['marked', 'near-open'], ['near-open'], 'POST Task'],
    ['who is near one and marked', all, ['marked', 'near-open'], undefined],
    ['who is near none any more', all, ['marked'], 'DELETE Task/mark'],
    ['who may be near the other', ['marked', 'near-open'], ['marked'], undefined],
    ['who was not looked at', ['marked'], [], undefined],
  ])('%s', (_, asked, yes, request) => {
    const answers = asked.map((one) => (yes.includes(one) ? found(one === 'marked' ? mark : appointment()) : found()));
    const { method, url } = markEntry(asked, answers, requestor, large)?.request ?? {};
    expect(method && `${method} ${url}`).toBe(request);
  });

  it('a mark is made once, where it is looked for', () => {
    const { url, ifNoneExist } = markEntry(all, [found(), found(appointment())], requestor, large)?.request ?? {};
    const [read] = requestorLimitReads(['marked'], requestor, now, large);
    expect(read?.request?.url.startsWith(`${url}?${ifNoneExist}&`)).toBe(true);
  });

  /** Books until so many bookings were tried in one minute: how many were made, and how often they were counted. */
  function bookings(tries: number, config: typeof large, random: () => number) {
    let [open, counted, isMarked] = [0, 0, false];
    const { maxOpenAppointments, maxBookingsPerMinute } = config.requestors;
    for (let index = 0; index < tries; index++) {
      const first = questionsFor(limits, random(), config);
      const isYes = (one: LimitQuestion) =>
        (one === 'marked' && isMarked) ||
        (one === 'near-open' && open >= 0.8 * maxOpenAppointments) ||
        (one === 'near-rate' && open >= 0.8 * maxBookingsPerMinute) ||
        (one === 'open' && open >= maxOpenAppointments) ||
        (one === 'rate' && open >= maxBookingsPerMinute);
      const asked = [...first, ...furtherQuestions(limits, first, new Set(first.filter(isYes)), config)];
      const answers = asked.map((one) => (isYes(one) ? found(one === 'marked' ? mark : appointment()) : found()));
      const method = markEntry(asked, answers, requestor, config)?.request?.method;
      isMarked = method === undefined ? isMarked : method === 'POST';
      counted += asked.filter((one) => one !== 'marked').length;
      const yes = answeredYes(asked, answers);
      open += yes.has('open') || yes.has('rate') ? 0 : 1;
    }
    return { open, counted };
  }

  const randomFrom = (start: number) => {
    let seed = start;
    return () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
  };

  it.each([
    [5_000, 10_000],
    [10_000, 600],
    [100, 10_000],
  ])('limits of %i and %i hold all the same', (maxOpenAppointments, maxBookingsPerMinute) => {
    const requestors = { maxOpenAppointments, maxBookingsPerMinute };
    const limit = Math.min(maxOpenAppointments, maxBookingsPerMinute);
    expect(bookings(2 * limit, { ...config, requestors }, randomFrom(limit)).open).toBe(limit);
  });

  it('few of the bookings before that count', () => {
    expect(bookings(480, large, randomFrom(1)).counted).toBeLessThan(100);
  });
});

it('who moves or replaces an open appointment gets no further one; who books anew after a cancellation does', () => {
  const codes = (status: Appointment['status'] | undefined) =>
    requestorLimitIssues(new Set(['open']), [status && appointment({ status }), undefined], 'Appointment', limited);
  expect(codes('booked')).toEqual([]);
  expect([codes('cancelled'), codes(undefined)].flat().map(({ code }) => code)).toEqual(
    Array(2).fill('portal-limit-reached'),
  );
});

it('a requestor is refused, staff are not', () => {
  const reached = new Set(['open', 'rate'] as const);
  expect(issuesOf(plan(appointment(), stateOf(), { reached }))).toEqual([
    'portal-limit-reached Appointment',
    'too-many-bookings Appointment',
  ]);
  expect(plan(appointment(), stateOf(), { reached }, undefined, 'repository').kind).toBe('write');
});

it.each([
  ['open', 2],
  ['rate', 0],
] as const)('one booking in a hundred of the limit %s need not ask for it again', (limit, expected) => {
  const requestors = { maxOpenAppointments: 299, maxBookingsPerMinute: 99 };
  expect(slackOf(limit, { ...config, requestors })).toBe(expected);
});
