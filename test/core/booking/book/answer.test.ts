import { describe, expect, it } from '@jest/globals';
import {
  ANSWER_HEADER,
  AS_PARAMETERS,
  askForTurn,
  formatBookingAnswer,
  formatDryRunAnswer,
  isAskingForTurn,
  isDryRunAnswer,
  parseBookingAnswer,
  wouldBeCarriedOut,
} from '../../../../core/booking/book/answer.ts';
import { appointment } from '../support.ts';

const answer = { appointment: appointment({ id: 'a1' }), isExisting: true };

describe('the answer of the Bot book', () => {
  it.each([[undefined], [{}], [{ [ANSWER_HEADER]: 'bundle' }]])('is the Appointment for headers %j', (headers) => {
    expect(formatBookingAnswer(answer, headers)).toEqual(answer.appointment);
  });

  it('says whether the appointment is new if the gateway asks, and is read as written', () => {
    for (const isExisting of [true, false]) {
      const formatted = formatBookingAnswer({ ...answer, isExisting }, { [ANSWER_HEADER]: AS_PARAMETERS });
      expect(formatted.resourceType).toBe('Parameters');
      expect(parseBookingAnswer(formatted)).toEqual({ ...answer, isExisting });
    }
  });

  it('is not one without a stored Appointment', () => {
    expect(parseBookingAnswer(appointment())).toBeUndefined();
    expect(parseBookingAnswer({ resourceType: 'Parameters' })).toBeUndefined();
    expect(parseBookingAnswer(undefined)).toBeUndefined();
  });
});

describe('the answer to a dry run', () => {
  it('is an outcome, to the gateway in Parameters, by which it is known', () => {
    const formatted = formatDryRunAnswer({ [ANSWER_HEADER]: AS_PARAMETERS });
    expect([formatDryRunAnswer({}), isDryRunAnswer(formatted)]).toEqual([wouldBeCarriedOut, true]);
  });

  it('says, as a piece of information, that nothing was written', () => {
    expect(wouldBeCarriedOut).toEqual({
      resourceType: 'OperationOutcome',
      id: 'ok',
      issue: [
        { severity: 'information', code: 'informational', diagnostics: expect.stringContaining('Nothing was written') },
      ],
    });
  });

  it.each([
    [wouldBeCarriedOut],
    [{ resourceType: 'Parameters' }],
    [{ resourceType: 'Parameters', parameter: [{ name: 'return' }] }],
    [undefined],
  ])('is not %j', (body) => {
    expect(isDryRunAnswer(body)).toBe(false);
  });
});

describe('the wish for a turn', () => {
  it('is known by its parameter', () => {
    expect(isAskingForTurn(askForTurn)).toBe(true);
  });

  it.each([
    [answer.appointment],
    [{ resourceType: 'Parameters' }],
    [{ resourceType: 'Parameters', parameter: [{ name: 'turn', valueBoolean: false }] }],
    [{ resourceType: 'Parameters', parameter: [{ name: 'existing', valueBoolean: true }] }],
    [undefined],
  ])('is not %j', (body) => {
    expect(isAskingForTurn(body)).toBe(false);
  });
});
