import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource } from '@medplum/fhirtypes';
import { immutableIssues, inStoredSpelling } from '../../../../core/booking/appointment/elements.ts';
import { told } from '../../../lib/told.ts';
import { appointment, config } from '../support.ts';

const { baseUrl } = config;
const stored = appointment({ id: 'a', status: 'booked' });
const [anna] = stored.participant;
const issuesOf = (more: Partial<Appointment>, before = stored) =>
  told(immutableIssues(before, { ...before, ...more }, baseUrl));
const with_ = (actor: object, contained: readonly Resource[] = []): Partial<Appointment> => ({
  participant: [...(anna ? [anna] : []), { actor, status: 'accepted' as const }],
  contained: [...contained],
});

describe('an actor counts as a patient', () => {
  const inside = (resourceType: 'Patient' | 'Practitioner', id = 'x') => [{ resourceType, id }];
  it.each<[string, Partial<Appointment>, string[]]>([
    ['not if somebody else is contained', with_({ reference: '#x' }, inside('Practitioner')), []],
    ['not if the contained one is not referred to', with_({ reference: '#y' }, inside('Patient')), []],
    ['not if it is a practitioner', with_({ reference: 'Practitioner/x' }), []],
    ['not if it is nobody', with_({ display: 'The nurse' }), []],
  ])('%s', (_, more, expected) => {
    expect(issuesOf(more)).toEqual(expected);
  });
});

describe('start, end and slots', () => {
  it('are the same in another spelling, and are kept in the stored one', () => {
    const respelled: Appointment = {
      ...stored,
      start: '2027-01-04T10:00:00+01:00',
      end: '2027-01-04T10:30:00+01:00',
      slot: [{ reference: `${baseUrl}/Slot/nine` }],
      participant: [{ actor: { reference: `${baseUrl}/Patient/anna` }, status: 'accepted' }],
    };
    expect(immutableIssues(stored, respelled, baseUrl)).toEqual([]);
    expect(inStoredSpelling(stored, respelled, baseUrl)).toEqual(stored);
    const { start: _, end: __, slot: ___, ...open } = stored;
    expect(inStoredSpelling(open, open, baseUrl)).toEqual(open);
  });
});
