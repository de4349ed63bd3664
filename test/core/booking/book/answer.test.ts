import { describe, expect, it } from '@jest/globals';
import {
  ANSWER_HEADER,
  AS_PARAMETERS,
  formatBookingAnswer,
  parseBookingAnswer,
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
