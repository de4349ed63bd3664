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

describe('the addresses of the service', () => {
  test.each([
    ['https://booking.example.org/fhir/R4', '/fhir/R4', 'https://booking.example.org'],
    ['http://localhost:3000', '', 'http://localhost:3000'],
  ])('%s has the path "%s"', (baseUrl, basePath, origin) => {
    expect(createAddresses({ baseUrl }, [])).toMatchObject({ base: baseUrl, basePath, origin });
  });

  test.each([
    ['http://any.example/fhir/R4/Slot?_cursor=x', 'https://booking.example.org/fhir/R4/Slot?_cursor=x'],
    ['/fhir/R4/', 'https://booking.example.org/fhir/R4/'],
    ['http://any.example/fhir/R4', undefined],
    ['http://any.example/storage/1', undefined],
  ])('that are public: %s is %s', (url, expected) => {
    expect(addresses.publicUrl(url)).toBe(expected);
  });

  test.each(['localhost', '127.0.0.1', '[::1]'])('hide a Medplum on the same machine by all its names: %s', (name) => {
    const near = createAddresses(config, [`http://${name}/`, 'https://booking.example.org:8103/']);
    for (const one of ['localhost', '127.0.0.1', '[::1]']) {
      expect(near.rewriteUrl(`http://${one}/storage/1#x`)).toBe('https://booking.example.org/storage/1#x');
      expect(near.rewriteUrl(`http://${one}:8103/storage/1`)).toBe(`http://${one}:8103/storage/1`);
    }
    expect(near.rewriteUrl('https://booking.example.org:8103/a')).toBe('https://booking.example.org/a');
  });
});

describe('a resource', () => {
  test.each(['reference', 'fullUrl', 'valueUrl', 'valueUri'])('has addresses of Medplum nowhere as %s', (name) => {
    const resource = { resourceType: 'Basic' as const, code: {}, part: [{ [name]: 'http://medplum/a', other: [7] }] };
    expect(addresses.rewriteResource(resource)).toEqual({
      ...resource,
      part: [{ [name]: 'https://booking.example.org/a', other: [7] }],
    });
  });

  test.each([
    ['link', true],
    ['photo', true],
    ['valueAttachment', true],
    ['attachment', true],
    ['contentAttachment', true],
    ['extension', false],
    ['endpoint', false],
  ])('has addresses of Medplum below %s as url: they become those of the service: %s', (parent, isRewritten) => {
    const of = (url: string) => ({
      resourceType: 'Basic' as const,
      code: {},
      [parent]: [{ url, title: 'http://medplum/' }],
    });
    const shown = isRewritten ? 'https://booking.example.org/a' : 'http://medplum/a';
    expect(addresses.rewriteResource(of('http://medplum/a'))).toEqual(of(shown));
  });

  test('shares what has no addresses with the original', () => {
    const [first, second] = [{ reference: 'http://medplum/a' }, { display: 'x' }];
    const resource = { resourceType: 'Basic' as const, code: {}, items: [first, second] };
    const shown = addresses.rewriteResource(resource);
    expect([shown.items[1] === second, shown.code === resource.code, resource.items[0]]).toEqual([
      true,
      true,
      { reference: 'http://medplum/a' },
    ]);
  });

  test.each([
    ['"http://medplum/fhir/R4/X/1"', '"https://booking.example.org/fhir/R4/X/1"'],
    ["'http://medplum'", "'https://booking.example.org'"],
    ['<http://medplum/a>', '<https://booking.example.org/a>'],
    ['http://medplum/a http://medplum/b', 'https://booking.example.org/a https://booking.example.org/b'],
    ['http://[::1]:8103/a', 'https://booking.example.org/a'],
    ['http://medplum.com/?u=http://medplum/a', 'http://medplum.com/?u=https://booking.example.org/a'],
    ['http://medplum:80/?u=http://medplum/a', 'http://medplum:80/?u=https://booking.example.org/a'],
    ['http://medplum-2/?u=http://medplum/a', 'http://medplum-2/?u=https://booking.example.org/a'],
  ])('quotes no address of Medplum in its errors: %s', (diagnostics, expected) => {
    const of = (text: string): OperationOutcome => ({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', diagnostics: text }],
    });
    expect(addresses.rewriteResource(of(diagnostics))).toEqual(of(expected));
  });

  test('keeps what is no sentence in its errors', () => {
    const outcome: OperationOutcome = {
      resourceType: 'OperationOutcome',
      issue: [{ id: 'http://medplum/a', severity: 'error', code: 'invalid' }],
    };
    expect(addresses.rewriteResource(outcome)).toBe(outcome);
  });

  test('keeps sentences that are no errors', () => {
    const resource = { resourceType: 'Basic' as const, code: {}, other: { diagnostics: 'See http://medplum/a' } };
    expect(addresses.rewriteResource(resource)).toBe(resource);
  });

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
