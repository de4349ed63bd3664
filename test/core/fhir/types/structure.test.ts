import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_DEPTH } from '../../../../core/fhir/bounds.ts';
import { readStructure } from '../../../../core/fhir/types/structure.ts';

const appointment = {
  resourceType: 'Appointment',
  meta: { tag: [{ system: 'urn:x', code: 'a' }], project: 'p' },
  contained: [{ resourceType: 'Patient', id: 'p', name: [{ given: ['Eva', null], _given: [null, { id: 'x' }] }] }],
  extension: [{ url: 'urn:x', valueCodeableConcept: { coding: [{ userSelected: true }] } }],
  status: 'proposed',
  _start: { extension: [{ url: 'urn:y', valueBoolean: false }] },
  minutesDuration: 30,
  serviceType: [{ coding: [{ system: 'urn:x', code: 'a' }] }],
  participant: [{ actor: { reference: 'Patient/1' }, status: 'accepted' }],
};

const issuesOf = (value: unknown, type = 'Appointment') =>
  readStructure(value, type, type).issues.map(({ expression }) => expression);

describe('the structure of a resource', () => {
  it('is right', () => {
    expect(readStructure(appointment, 'Appointment', 'Appointment')).toEqual({
      readable: appointment,
      issues: [],
      codes: [],
      unreadable: [],
    });
  });

  it('names the codes that FHIR does not have, and those that it allows', () => {
    const patient = {
      resourceType: 'Patient',
      text: { status: 'new', div: '<div/>' },
      identifier: [{ use: 'oficial', value: '1' }],
      name: [{ use: 'official' }, { use: 'birth' }],
      telecom: [{ system: 'signal', use: 'home' }],
      gender: 'divers',
      _gender: { id: 'x' },
      address: [{ type: 'street' }],
      communication: [{ language: { text: 'any' } }],
      language: 'tlh',
    };
    const { issues, codes } = readStructure(patient, 'Patient', 'Patient');
    expect([issues, codes.map(({ code, expression }) => `${code} ${expression}`)]).toEqual([
      [],
      [
        'profile-violation Patient.text.status',
        'profile-violation Patient.identifier[0].use',
        'profile-violation Patient.name[1].use',
        'profile-violation Patient.telecom[0].system',
        'profile-violation Patient.gender',
        'profile-violation Patient.address[0].type',
      ],
    ]);
    expect(codes[4]?.diagnostics).toBe("Patient.gender must be one of male, female, other, unknown, not 'divers'.");
  });

  it.each(
    readdirSync('profiles/examples').filter((name) => /Termin\.|Patient|LocalSlot\.|Schedule|Response/.test(name)),
  )('is right in the example %s', (name) => {
    const example = JSON.parse(readFileSync(`profiles/examples/${name}`, 'utf8'));
    expect(issuesOf(example, example.resourceType)).toEqual([]);
  });

  it.each<[string, object, string, boolean]>([
    ['an element that FHIR does not have', { invented: 1 }, 'invented', false],
    [
      'one below a list',
      { participant: [{ actor: { id: 'x', ref: 'Patient/1' } }] },
      'participant[0].actor.ref',
      false,
    ],
    ['one in what is contained', { contained: [{ resourceType: 'Patient', nam: [] }] }, 'contained[0].nam', false],
    ['one in an extension', { extension: [{ url: 'x', valueText: 'x' }] }, 'extension[0].valueText', false],
    ['two types', { extension: [{ url: 'x', valueString: 'x', valueCode: 'x' }] }, 'extension[0].valueCode', false],
    [
      'extensions of another',
      { contained: [{ resourceType: 'Patient', deceasedBoolean: true, _deceasedDateTime: {} }] },
      'contained[0]._deceasedDateTime',
      false,
    ],
    ['a type of resource inside', { participant: [{ resourceType: 'x' }] }, 'participant[0].resourceType', false],
    ['what contained resources are not', { contained: [{ id: 'x' }] }, 'contained[0]', false],
    ['a number for a string', { comment: 5 }, 'comment', true],
    ['a string for a number', { minutesDuration: '30' }, 'minutesDuration', true],
    ['a string for a boolean', { extension: [{ url: 'x', valueBoolean: 'true' }] }, 'extension[0].valueBoolean', true],
    ['an object for a list', { serviceType: { text: 'x' } }, 'serviceType', true],
    ['a list for an object', { participant: [{ actor: [] }] }, 'participant[0].actor', true],
    ['an empty list', { slot: [] }, 'slot', true],
    ['null', { comment: null }, 'comment', true],
    ['null in a list', { slot: [null] }, 'slot[0]', true],
    ['null in a list of primitives', { meta: { profile: [null] } }, 'meta.profile[0]', true],
    ['extensions of what has none of its own', { _serviceType: {} }, '_serviceType', false],
    ['extensions that are none', { _comment: { extension: 'x' } }, '_comment.extension', true],
  ])('is wrong with %s', (_, more, path, isUnreadable) => {
    const { issues, unreadable, readable } = readStructure({ ...appointment, ...more }, 'Appointment', 'Appointment');
    expect(issues).toEqual([
      { code: 'malformed-request', diagnostics: expect.any(String), expression: `Appointment.${path}` },
    ]);
    expect(unreadable).toEqual(isUnreadable ? [`Appointment.${path}`] : []);
    expect(issuesOf(readable)).toEqual(isUnreadable ? [] : [`Appointment.${path}`]);
  });

  it('is read whatever was sent, as deep as may be sent, and what is left is right', () => {
    const names = [
      'resourceType',
      'coding',
      'extension',
      'valueString',
      'contained',
      'participant',
      'actor',
      '_id',
      'x',
    ];
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        fc.constantFrom(null, '', 'Patient', 1, true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names, '__proto__'), tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        const { readable } = readStructure(value, 'Appointment', 'Appointment');
        expect(readStructure(readable ?? {}, 'Appointment', 'Appointment').unreadable).toEqual([]);
      }),
    );
    const deep = (levels: number): unknown => (levels > 0 ? { extension: [deep(levels - 2)] } : {});
    expect(issuesOf(deep(MAX_DEPTH))).toEqual([]);
  });
});
