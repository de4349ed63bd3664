import { describe, expect, it } from '@jest/globals';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { told } from '../../../lib/told.ts';
import {
  appointment,
  config,
  issuesOf,
  parameters,
  patient,
  plan,
  resourceParameter,
  schedule,
  slot,
  stateOf,
} from '../support.ts';

const issues = (body: unknown): string[] => told(parseBookRequest(body, config).issues);
const many = <T>(count: number, entry: T): T[] => Array.from({ length: count }, () => entry);
const slots = many(51, { reference: 'Slot/nine' });
const answers = (count: number) =>
  many(count, resourceParameter('patientSubmittedInformation', { resourceType: 'QuestionnaireResponse' }));

describe('the bounds of a booking', () => {
  it.each([
    ['slots', appointment({ slot: slots }), 'Appointment.slot'],
    ['slots that are none', { ...appointment(), slot: many(4_000, 0) }, 'Appointment.slot'],
    [
      'participants',
      appointment({ participant: many(51, { status: 'accepted' as const }) }),
      'Appointment.participant',
    ],
    ['identifiers', appointment({ identifier: many(51, { value: '1' }) }), 'Appointment.identifier'],
    [
      'slots in Parameters',
      parameters(resourceParameter('appt-resource', appointment({ slot: slots }))),
      'Parameters.parameter[0].resource.slot',
    ],
    [
      'answers',
      parameters(resourceParameter('appt-resource', appointment()), ...answers(21)),
      'Parameters.parameter[21].resource',
    ],
    ['parameters', parameters(...many(51, { name: 'unknown' })), 'Parameters.parameter'],
  ])('%s: one issue, and nothing else is looked at', (_, body, expression) => {
    expect(issues(body)).toEqual([`malformed-request ${expression}`]);
  });

  it('fifty slots and twenty answers are read', () => {
    const distinct = many(50, 0).map((_, index) => ({ reference: `Slot/${index}` }));
    expect(issues(appointment({ slot: distinct }))).toEqual([]);
    expect(issues(parameters(resourceParameter('appt-resource', appointment()), ...answers(20)))).toEqual([]);
  });

  it('what is nested too deep is refused whatever it is', () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) {
      deep = [deep];
    }
    expect(issues({ ...appointment(), supportingInformation: deep })).toEqual(['malformed-request http.body']);
  });
});

describe('what a booking may not bring in', () => {
  it.each([
    ['Appointment', (one: object) => ({ ...appointment(), ...one }), 'Appointment'],
    [
      'Patient',
      (one: object) =>
        parameters(
          resourceParameter('appt-resource', appointment()),
          resourceParameter('patient', { resourceType: 'Patient', ...one }),
        ),
      'Parameters.parameter[1].resource',
    ],
  ])('%s: implicitRules, modifierExtension, references by search', (_, body, path) => {
    expect(issues(body({ implicitRules: 'urn:x' }))).toEqual([`malformed-request ${path}.implicitRules`]);
    expect(issues(body({ modifierExtension: [{ url: 'urn:x' }] }))).toEqual([
      `malformed-request ${path}.modifierExtension`,
    ]);
    expect(issues(body({ extension: [{ url: 'urn:x', valueReference: { reference: 'Patient?name=x' } }] }))).toEqual([
      `malformed-request ${path}.extension[0].valueReference.reference`,
    ]);
    expect(issues(body({ text: { status: 'generated', div: '<<<' } }))).toEqual([`profile-violation ${path}.text.div`]);
  });

  it('a patient that is contained', () => {
    const contained = [{ resourceType: 'Patient' as const, id: 'p' }];
    const participant = [{ actor: { reference: '#p' }, status: 'accepted' as const }];
    const body = parameters(
      resourceParameter('appt-resource', appointment({ contained, participant })),
      resourceParameter('patient', { resourceType: 'Patient', id: 'p' }),
    );
    expect(issues(body)).toEqual(['malformed-request Parameters.parameter[0].resource.participant[0].actor']);
    expect(issues(appointment({ contained, participant }))).toContain(
      'malformed-request Appointment.participant[0].actor',
    );
  });

  it('answers that the caller may not read', () => {
    const supportingInformation = [{ reference: 'QuestionnaireResponse/q' }, { reference: 'DocumentReference/d' }];
    const free = [schedule, patient, slot('nine', '09:00', '09:30')];
    const response = { resourceType: 'QuestionnaireResponse' as const, id: 'q', status: 'completed' as const };
    expect(issuesOf(plan(appointment({ supportingInformation })))).toEqual([
      'profile-violation Appointment.supportingInformation[0]',
    ]);
    expect(plan(appointment({ supportingInformation }), stateOf(...free, response)).kind).toBe('write');
  });
});

it('extensions and identifiers of the service are dropped', () => {
  const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toUpperCase(), value: '1' }];
  const read = parseBookRequest(appointment({ identifier }), config);
  expect(read.issues).toEqual([]);
  expect(read.request?.appointment.value.identifier).toBeUndefined();
});
