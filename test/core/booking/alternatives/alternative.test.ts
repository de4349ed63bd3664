import { describe, expect, it } from '@jest/globals';
import { asksForAlternatives, proposeIn, requestFor } from '../../../../core/booking/alternatives/alternative.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { type BookingErrorCode, bookingErrors } from '../../../../core/fhir/outcome/errors.ts';
import { appointment, at, config, parameters, resourceParameter } from '../support.ts';

const issue = (code: BookingErrorCode) => ({ code, diagnostics: code });
const proposing = [
  'slot-not-free',
  'too-soon',
  'too-far-ahead',
  'hold-expired',
  'schedule-inactive',
  'slot-not-found',
] as const;
const aboutTime = ['slot-mismatch', 'period-invalid', 'start-in-past'] as const;
const codes = Object.keys(bookingErrors) as BookingErrorCode[];
const others = codes.filter((code) => ![...proposing, ...aboutTime].some((one) => one === code));

describe('a refusal asks for other times', () => {
  it.each(proposing)('for %s alone, and beside what another time may solve', (code) => {
    expect(asksForAlternatives([issue(code)])).toBe(true);
    expect(asksForAlternatives([issue('slot-mismatch'), issue(code), issue('start-in-past')])).toBe(true);
  });

  it('not for what another time only may solve, and for nothing', () => {
    expect(aboutTime.filter((code) => asksForAlternatives([issue(code)]))).toEqual([]);
    expect(asksForAlternatives([])).toBe(false);
  });

  it('not where something else speaks against the booking', () => {
    expect(others.length).toBeGreaterThan(20);
    expect(others.filter((code) => asksForAlternatives([issue('slot-not-free'), issue(code)]))).toEqual([]);
  });
});

describe('the times stand', () => {
  const times = [{ slots: ['nine'], start: 1, end: 2 }];

  it('in the issues that ask for them', () => {
    const issues = [issue('slot-mismatch'), issue('slot-not-free')];
    expect(proposeIn(issues, times)).toEqual([issues[0], { ...issues[1], alternatives: times }]);
  });

  it('nowhere if there are none', () => {
    expect(proposeIn([issue('slot-not-free')], [])).toEqual([issue('slot-not-free')]);
  });
});

it('the request for another time is the same but for time and slots', () => {
  const body = parameters(resourceParameter('appt-resource', appointment({ comment: 'Left knee' })), {
    name: 'schedule',
    valueReference: { reference: 'Schedule/calendar' },
  });
  const { request } = parseBookRequest(body, config);
  if (!request) {
    throw new Error('It cannot be read.');
  }
  const interval = { start: Date.parse(at('11:00')), end: Date.parse(at('11:30')) };
  const other = requestFor({ slots: ['a', 'b'], ...interval }, request);
  const path = 'Parameters.parameter[0].resource';
  expect(other).toEqual({
    ...request,
    interval,
    slots: [
      { value: 'a', path: `${path}.slot[0]` },
      { value: 'b', path: `${path}.slot[1]` },
    ],
    schedule: undefined,
    appointment: { path, value: { ...request.appointment.value, start: at('11:00'), end: at('11:30') } },
  });
});
