import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { holdExtensions } from '../../../../core/booking/appointment/expiry.ts';
import {
  deactivationIssues,
  MOST_APPOINTMENTS,
  type PolicedAppointment,
} from '../../../../core/booking/patient/deactivation.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { appointment, at, config, now, requestor } from '../support.ts';

const own = (more: Partial<Appointment> = {}): Appointment =>
  appointment({ status: 'booked', meta: { tag: [requestorTag(requestor, config)] }, ...more });

const until = (hours: number) => ({
  policy: { cancelUntil: hours * 3_600_000 },
  saidBy: { cancelUntil: 'Schedule/calendar' },
  isReadable: true,
});

const issues = (...open: readonly PolicedAppointment[]): string[] =>
  deactivationIssues(open, requestor, Date.parse(at('08:00')), config).map(({ code, diagnostics, expression }) => {
    expect(expression).toBe('Patient.active');
    return `${code}: ${diagnostics}`;
  });

const asked = 'ask the clinic to make the patient inactive.';

describe('a portal makes its patient inactive', () => {
  it('if it may cancel all open appointments of the patient', () => {
    expect(issues()).toEqual([]);
    expect(issues({ appointment: own(), policies: [] }, { appointment: own(), policies: [until(1)] })).toEqual([]);
    expect(issues({ appointment: own({ status: 'pending' }), policies: [] })).toEqual([]);
  });

  it('not if it has not booked one of them', () => {
    const theirs = appointment({ status: 'booked', meta: { tag: [requestorTag('another', config)] } });
    expect(issues({ appointment: own(), policies: [] }, { appointment: theirs, policies: [] })).toEqual([
      `patient-has-appointments: The patient has an appointment that you did not book: ${asked}`,
    ]);
  });

  it('not while one goes on', () => {
    expect(issues({ appointment: own({ status: 'arrived' }), policies: [] })).toEqual([
      `patient-has-appointments: The patient has an appointment that is arrived: ${asked}`,
    ]);
  });

  it('not if it is too late to cancel one; a hold can always be given back', () => {
    expect(issues({ appointment: own(), policies: [until(2)] })).toEqual([
      expect.stringMatching(/^cancellation-closed: /),
    ]);
    const held = own({ status: 'proposed', extension: holdExtensions(now, false, config) });
    expect(issues({ appointment: held, policies: [until(2)] })).toEqual([]);
  });

  it('and is told each reason once', () => {
    const theirs = { appointment: appointment({ status: 'booked' }), policies: [] };
    expect(issues(theirs, theirs)).toHaveLength(1);
  });

  it('not if there are more appointments than are looked at', () => {
    const open = Array.from({ length: MOST_APPOINTMENTS }, () => ({ appointment: own(), policies: [] }));
    expect(issues(...open)).toEqual([
      `patient-has-appointments: The patient has 100 open appointments or more: ${asked}`,
    ]);
    expect(issues(...open.slice(1))).toEqual([]);
  });
});
