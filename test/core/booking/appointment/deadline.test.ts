import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { deadlineExtensions } from '../../../../core/booking/appointment/expiry.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { appointment, at, config, now } from '../support.ts';

const url = artefactUri(config, 'LocalConfirmationDeadline');

const pending = (deadline: string): Appointment => ({
  ...appointment({ status: 'pending' }),
  id: 'one',
  extension: [{ url, valueInstant: deadline }],
});

const HOUR = 3_600_000;

describe('a request with a deadline', () => {
  it('that is booked again at the same time keeps its deadline, unless that is over', () => {
    const policies = [{ policy: { confirmWithin: HOUR }, saidBy: {}, isReadable: true }];
    const time = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };
    const deadline = Date.parse(at('08:00'));
    const given = (previous: Appointment, moment: number, interval = time) =>
      deadlineExtensions(policies, interval, previous, moment, config)[0]?.valueInstant;
    const one = pending(at('08:00'));
    expect(given(one, deadline - 1)).toBe(at('08:00'));
    expect(given(one, deadline)).toBe(at('09:00'));
    expect(given({ ...one, status: 'booked' }, now)).toBe(new Date(now + HOUR).toISOString());
    expect(given(one, now, { ...time, end: time.end + 1 })).toBe(new Date(now + HOUR).toISOString());
  });
});
