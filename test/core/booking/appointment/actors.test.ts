import { describe, expect, it } from '@jest/globals';
import type { Appointment, AppointmentParticipant, Resource } from '@medplum/fhirtypes';
import { addedActorIssues } from '../../../../core/booking/appointment/actors.ts';
import { immutableIssues } from '../../../../core/booking/appointment/elements.ts';
import { told } from '../../../lib/told.ts';
import { config, stored } from '../stored.ts';

const by = (reference: string): AppointmentParticipant => ({ actor: { reference }, status: 'accepted' });

/** What is wrong with participants that a change adds. */
function issuesOf(participants: readonly AppointmentParticipant[], contained?: unknown): string[] {
  const participant = [...stored.participant, ...participants];
  const result: Appointment = { ...stored, participant, contained: contained as Resource[] };
  return told(addedActorIssues(stored, result, config.baseUrl));
}

describe('a participant that a change adds', () => {
  it.each(['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson', 'Device', 'HealthcareService', 'Location'])(
    'may be a %s of this service',
    (type) => {
      expect(issuesOf([by(`${type}/1`), by(`${config.baseUrl}/${type}/1`)])).toEqual([]);
    },
  );

  it.each(['Basic/1', 'practitioner/1', 'https://other.example/fhir/Practitioner/1', 'Practitioner', '#p', ''])(
    'cannot be %s',
    (reference) => {
      expect(issuesOf([by('Practitioner/1'), by(reference)])).toEqual([
        'malformed-request Appointment.participant[3].actor',
      ]);
    },
  );

  it('may be contained, unless it is a patient', () => {
    const contained = [null, { resourceType: 'Practitioner', id: 'p' }, { resourceType: 'Patient', id: 'q' }, {}];
    expect(issuesOf([by('#p')], contained)).toEqual([]);
    expect(issuesOf([by('#q')], contained)).toEqual(['malformed-request Appointment.participant[2].actor']);
    expect(issuesOf([by('#undefined')], contained)).toEqual(['malformed-request Appointment.participant[2].actor']);
    expect(issuesOf([by('#p')], { 0: contained[1] })).toEqual(['malformed-request Appointment.participant[2].actor']);
  });

  it('is judged only if it is new: what was stored before the rule stays', () => {
    const odd = { ...stored, participant: [by('Basic/1')] };
    expect(addedActorIssues(odd, odd, config.baseUrl)).toEqual([]);
    const bare: object = { ...odd, participant: undefined };
    expect(addedActorIssues(bare as Appointment, odd, config.baseUrl)).toHaveLength(1);
    expect(addedActorIssues(odd, bare as Appointment, config.baseUrl)).toEqual([]);
  });
});

describe('an actor counts as a patient', () => {
  it.each<[string, object, Resource?]>([
    ['somebody else is contained', { reference: '#x' }, { resourceType: 'Practitioner', id: 'x' }],
    ['the contained one is not referred to', { reference: '#y' }, { resourceType: 'Patient', id: 'x' }],
    ['it is a practitioner', { reference: 'Practitioner/x' }],
    ['it is nobody', { display: 'The nurse' }],
  ])('not if %s', (_, actor, inside) => {
    const participant = [...stored.participant, { actor, status: 'accepted' as const }];
    const changed = { ...stored, participant, contained: inside ? [inside] : [] };
    expect(immutableIssues(stored, changed, config.baseUrl)).toEqual([]);
  });
});
