import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource } from '@medplum/fhirtypes';
import { immutableIssues } from '../../../../core/booking/appointment/elements.ts';
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
