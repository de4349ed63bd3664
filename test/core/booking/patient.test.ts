import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { holdExtensions } from '../../../core/booking/appointment/expiry.ts';
import { conformsToProfile, withTrueClaims } from '../../../core/booking/patients/conformance.ts';
import {
  deactivationIssues,
  MAX_APPOINTMENTS,
  type PolicedAppointment,
} from '../../../core/booking/patients/deactivation.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { knownPatient as known } from '../../profiles/isik.ts';
import { appointment, at, config, now, requestor } from './support.ts';

describe('conformance', () => {
  const config = resolveConfig({ preset: 'isik', baseUrl: 'https://clinic.example/fhir/R4' });

  test.each([
    ['the number of the clinic', { identifier: [{ system: 'https://portal.example', value: '1' }] }],
    [
      'a number of the clinic that is of the right type',
      {
        identifier: [
          {
            type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'VN' }] },
            system: 'https://clinic.example/patients',
            value: '1',
          },
        ],
      },
    ],
    ['an identifier', { identifier: undefined }],
    ['an official name', { name: [{ family: 'Muster', given: ['Kim'] }] }],
    ['a given name', { name: [{ use: 'official' as const, family: 'Muster' }] }],
    ['a gender', { gender: undefined }],
    ['a date of birth', { birthDate: undefined }],
  ])('a provisional patient without %s does not', (_, more) => {
    expect(conformsToProfile({ ...known, ...more }, config)).toBe(false);
  });

  const german = (code: string) => ({
    coding: [{ system: 'http://fhir.de/CodeSystem/identifier-type-de-basis', code }],
  });

  const insured = (code: string) => ({
    type: german(code),
    system: 'http://fhir.de/sid/gkv/kvid-10',
    value: 'A123456780',
  });

  const privately = { type: german('PKV'), value: '1', assigner: { display: 'Kasse' } };

  const iknr = (more: object = {}) => ({
    type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'XX' }] },
    system: 'http://fhir.de/sid/arge-ik/iknr',
    value: '260326822',
    ...more,
  });

  const identified = (...more: object[]) => ({ identifier: [...(known.identifier ?? []), ...more] });
  const official = { use: 'official', family: 'Muster', given: ['Kim'] };
  const named = (...more: object[]) => ({ name: [official, ...more] });

  const qualifier = (valueCode: string) => ({
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/iso21090-EN-qualifier', valueCode }],
  });

  const specified = (...codes: string[]) => ({
    _gender: {
      extension: codes.map((code) => ({
        url: 'http://fhir.de/StructureDefinition/gender-amtlich-de',
        valueCoding: { system: 'http://fhir.de/CodeSystem/gender-amtlich-de', code },
      })),
    },
  });

  const home = { type: 'both', line: ['Weg 1'], city: 'Ulm', postalCode: '89073', country: 'DE' };

  const part = (name: string) => ({
    _line: [
      { extension: [{ url: `http://hl7.org/fhir/StructureDefinition/iso21090-ADXP-${name}`, valueString: 'x' }] },
    ],
  });

  const living = (...more: object[]) => ({ address: more.map((one) => ({ ...home, ...one })) });

  test.each<[string, object]>([
    ['an insurance number', identified(insured('GKV'), insured('KVZ10'), { ...privately, use: 'secondary' })],
    [
      'a private insurance with its own number',
      identified({ ...privately, assigner: { display: 'K', identifier: iknr() } }),
    ],
    ['several numbers of the clinic', identified(...(known.identifier ?? []))],
    ['a maiden name and others', named({ use: 'maiden', family: 'Alt' }, { use: 'nickname', given: ['K'] })],
    ['an academic degree', { name: [{ ...official, prefix: ['Dr.'], _prefix: [qualifier('AC')] }] }],
    ['a specified gender', { gender: 'other', ...specified('D') }],
    ['a telephone', { telecom: [{ system: 'phone', value: '1' }] }],
    ['a street', living({ ...part('streetName') })],
    ['a post box', living({ type: 'postal', ...part('postBox') })],
    ['an address of no type', { address: [{ city: 'Ulm', district: 'x' }] }],
  ])('with %s, too', (_, more) => {
    expect(conformsToProfile({ ...known, ...more }, config)).toBe(true);
  });

  test.each<[string, object]>([
    ['an insurance number of another system', identified({ ...insured('GKV'), system: 'https://kasse.example' })],
    ['two insurance numbers of one kind', identified(insured('GKV'), insured('GKV'))],
    ['a private insurance that nobody has assigned', identified({ ...privately, assigner: undefined })],
    ['a private insurance of another use', identified({ ...privately, use: 'official' })],
    [
      'a private insurance whose own number is of no type',
      identified({ ...privately, assigner: { display: 'K', identifier: iknr({ type: undefined }) } }),
    ],
    ['a number of the clinic without a system', identified({ ...known.identifier?.[0], system: undefined })],
    ['two official names', named(official)],
    ['two maiden names', named({ use: 'maiden', family: 'Alt' }, { use: 'maiden', family: 'Uralt' })],
    ['a given name in the maiden name', named({ use: 'maiden', family: 'Alt', given: ['Kim'] })],
    ['a prefix of another kind', { name: [{ ...official, prefix: ['von'], _prefix: [qualifier('NB')] }] }],
    ['a degree that is not in the prefix', { name: [{ ...official, _prefix: [qualifier('AC')] }] }],
    ['a gender other that is not specified', { gender: 'other' }],
    ['a gender other that is specified twice', { gender: 'other', ...specified('D', 'X') }],
    ['a gender other that is specified by another code', { gender: 'other', ...specified('M') }],
    ['a specified gender that is not other', specified('D')],
    ['a telephone without a number', { telecom: [{ system: 'phone' }] }],
    ['a number of no kind', { telecom: [{ value: '1' }] }],
    [
      'a reason why the date of birth is absent',
      {
        _birthDate: {
          extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'masked' }],
        },
      },
    ],
    ...['line', 'city', 'postalCode', 'country'].map((name): [string, object] => [
      `an address without ${name}`,
      living({ [name]: undefined }),
    ]),
    ['an address with a district', living({ district: 'Mitte' })],
    ['an address of four lines', living({ line: ['1', '2', '3', '4'] })],
    ['a post box in a street address', living(part('postBox'))],
    ['a street in a post box', living({ type: 'postal', ...part('houseNumber') })],
    ['a part of a line that is not there', living({ line: [null, 'Weg 1'], ...part('streetName') })],
  ])('a patient with %s does not conform', (_, more) => {
    expect(conformsToProfile({ ...known, ...more }, config)).toBe(false);
  });

  test('a false claim is dropped, whatever its version; a true one and those to other profiles stay', () => {
    const own = artefactUri(config, 'LocalPatient');
    const claiming = (patient: Patient, ...profile: string[]) =>
      withTrueClaims({ ...patient, meta: { profile } }, config).meta?.profile;
    const { birthDate: _, ...provisional } = known;
    expect(claiming(known, own, 'urn:other')).toEqual([own, 'urn:other']);
    expect(claiming(provisional, own, `${own}|6.0.0`, 'urn:other')).toEqual(['urn:other']);
    expect(withTrueClaims({ ...provisional, meta: { profile: [own] } }, config)).toEqual(provisional);
    expect(withTrueClaims(provisional, config)).toBe(provisional);
  });
});

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
  it('not if it is too late to cancel one; a hold can always be given back', () => {
    expect(issues({ appointment: own(), policies: [until(2)] })).toEqual([
      expect.stringMatching(/^cancellation-closed: /),
    ]);
    const held = own({ status: 'proposed', extension: holdExtensions(now, false, config) });
    expect(issues({ appointment: held, policies: [until(2)] })).toEqual([]);
  });

  it('not if there are more appointments than are looked at', () => {
    const open = Array.from({ length: MAX_APPOINTMENTS }, () => ({ appointment: own(), policies: [] }));
    expect(issues(...open)).toEqual([
      `patient-has-appointments: The patient has 100 open appointments or more: ${asked}`,
    ]);
    expect(issues(...open.slice(1))).toEqual([]);
  });
});
