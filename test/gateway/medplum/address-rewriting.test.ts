import { describe, expect, test } from '@jest/globals';
import type { Bundle, OperationOutcome, Patient } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';

const config = { baseUrl: 'https://booking.example.org/fhir/R4' };
const addresses = createAddresses(config, ['http://medplum/', 'http://localhost:8103/']);

describe('an address', () => {
  test.each([
    ['http://medplum/fhir/R4/Patient/1', 'https://booking.example.org/fhir/R4/Patient/1'],
    ['http://medplum/fhir/R4', 'https://booking.example.org/fhir/R4'],
    ['http://medplum/storage/1?key=2', 'https://booking.example.org/storage/1?key=2'],
    ['http://medplum', 'https://booking.example.org'],
    ['http://127.0.0.1:8103/fhir/R4/Slot/1', 'https://booking.example.org/fhir/R4/Slot/1'],
    ['http://localhost:8103/', 'https://booking.example.org/'],
  ])('%s of Medplum becomes %s', (url, shown) => {
    expect(addresses.rewriteUrl(url)).toBe(shown);
  });

  test.each([
    'https://medplum.com/docs',
    'http://medplum.com/fhir/R4/Patient/1',
    'http://medplum:8103/fhir/R4/Patient/1',
    'http://medplum-test/fhir/R4/Patient/1',
    'http://localhost:81030/',
    'http://localhost/',
    'https://medplum/',
    'http://medplum@evil.example/',
    'Patient/1',
    'see http://medplum/',
  ])('%s is not Medplum and stays', (url) => {
    expect(addresses.rewriteUrl(url)).toBe(url);
  });
});

describe('a resource', () => {
  test('has the addresses of its links, references and attachments rewritten', () => {
    const bundle: Bundle = {
      resourceType: 'Bundle',
      type: 'searchset',
      link: [{ relation: 'self', url: 'http://medplum/fhir/R4/Patient?_id=1' }],
      entry: [
        {
          fullUrl: 'http://medplum/fhir/R4/Patient/1',
          resource: {
            resourceType: 'Patient',
            photo: [{ url: 'http://medplum/storage/1' }],
            generalPractitioner: [{ reference: 'http://medplum/fhir/R4/Practitioner/1' }],
          },
        },
      ],
    };
    expect(JSON.stringify(addresses.rewriteResource(bundle))).not.toContain('medplum');
  });

  test('keeps what identifies and what people wrote', () => {
    const patient: Patient = {
      resourceType: 'Patient',
      extension: [{ url: 'http://medplum/fhir/R4/StructureDefinition/x', valueString: 'http://medplum/a' }],
      identifier: [{ system: 'http://medplum/ids', value: 'http://medplum/ids/1' }],
      text: { status: 'generated', div: '<div>http://medplum/</div>' },
      link: [{ type: 'seealso', other: { reference: 'https://medplum.com/fhir/R4/Patient/1' } }],
    };
    expect(addresses.rewriteResource(patient)).toBe(patient);
  });

  test('that is an OperationOutcome quotes no address of Medplum in its sentences', () => {
    const of = (diagnostics: string): OperationOutcome => ({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', diagnostics }],
    });
    const shown = addresses.rewriteResource(of('Not found: http://medplum/fhir/R4/X/1, see https://medplum.com/x.'));
    expect(shown).toEqual(of('Not found: https://booking.example.org/fhir/R4/X/1, see https://medplum.com/x.'));
  });

  test('without any address of Medplum is never changed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('http://medplum') && !text.includes('http://localhost'));
        const resource = { resourceType: 'Basic' as const, code: {}, value };
        expect(addresses.rewriteResource(resource)).toBe(resource);
      }),
    );
  });
});

test('an installation at the address of Medplum rewrites nothing', () => {
  const same = createAddresses(config, ['https://booking.example.org/']);
  expect(same.rewriteUrl('https://booking.example.org/storage/1')).toBe('https://booking.example.org/storage/1');
  const outcome: OperationOutcome = {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'error', code: 'invalid', diagnostics: 'https://booking.example.org/ is here.' }],
  };
  expect(same.rewriteResource(outcome)).toBe(outcome);
});
