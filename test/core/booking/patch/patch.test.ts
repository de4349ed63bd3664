import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { applyPatch, MAX_PATCH_LENGTH, parsePatchRequest, readPatch } from '../../../../core/booking/patch/patch.ts';
import { told } from '../../../lib/told.ts';
import { stored } from '../stored.ts';

/** An engine that knows the elements of an appointment by name only. */
const evaluate = (path: string): string[] => [path];

function applied(appointment: Appointment, operations: readonly object[]): string[] | 'applied' {
  const patch = readPatch(operations);
  const { issues } = 'issues' in patch ? patch : applyPatch(appointment, patch, evaluate);
  return issues.length > 0 ? told(issues) : 'applied';
}

const add = (path: string, value: unknown) => ({ op: 'add', path, value });
const replacing = (path: string) => ({
  name: 'operation',
  part: [
    { name: 'type', valueCode: 'replace' },
    { name: 'path', valueString: path },
    { name: 'value', valueString: 'x' },
  ],
});

describe('a patch', () => {
  it('cancels an appointment that is longer than a patch may be', () => {
    const long = { ...stored, comment: 'x'.repeat(MAX_PATCH_LENGTH) };
    expect(applied(long, [{ op: 'replace', path: '/status', value: 'cancelled' }])).toBe('applied');
    expect(applied(long, [add('/description', 'x'.repeat(2000))])).toEqual(['patch-invalid Appointment']);
  });

  it.each([
    ['id', add('/id', 'x'), 'patch-invalid Appointment.id'],
    ['resourceType', add('/resourceType', 'Slot'), 'patch-invalid Appointment.resourceType'],
    ['version', add('/meta/versionId', 'x'), 'patch-invalid Appointment.meta.versionId'],
    ['author', add('/meta/author', { reference: 'Patient/1' }), 'patch-invalid Appointment.meta.author'],
    ['a slot by more than its reference', add('/slot/0/display', 'x'), 'immutable-element Appointment.slot'],
    ['security labels', add('/meta/security', [{ code: 'R' }]), 'immutable-element Appointment.meta.security'],
    ['implicitRules', add('/implicitRules', 'urn:x'), 'malformed-request Appointment.implicitRules'],
    [
      'a modifierExtension, however deep',
      add('/participant/0/modifierExtension', [{ url: 'urn:x' }]),
      'malformed-request Appointment.participant[0].modifierExtension',
    ],
    ['loose markup', add('/text', { div: '<<' }), 'profile-violation Appointment.text.div'],
  ])('brings in no %s', (_, operation, issue) => {
    expect(applied(stored, [operation])).toEqual([issue]);
  });

  it.each([
    ['/supportingInformation', { reference: 'QuestionnaireResponse/x' }],
    ['/participant', { actor: { reference: 'Location/x' }, status: 'accepted' }],
    ['/identifier', { value: 'x' }],
    ['/contained', { resourceType: 'Location', id: 'x' }],
    ['/extension', { url: 'urn:x', valueCode: 'x' }],
  ])('leads to no more than fifty entries of %s, unless there are more already', (path, entry) => {
    const many = (count: number) => Array.from({ length: count }, () => entry);
    const name = path.slice(1);
    expect(applied(stored, [add(path, many(51))])).toEqual([`malformed-request Appointment.${name}`]);
    const longer = { ...stored, [name]: many(60) };
    expect(applied(longer, [add(`${path}/-`, entry)])).toEqual([`malformed-request Appointment.${name}`]);
    expect(applied(longer, [add('/comment', 'x')])).toBe('applied');
  });

  it('leaves alone what the clinic has stored of these', () => {
    const odd = { ...stored, implicitRules: 'urn:x', meta: { ...stored.meta, security: [{ code: 'R' }] } };
    expect(applied(odd, [add('/comment', 'x')])).toBe('applied');
    expect(applied(odd, [{ op: 'remove', path: '/meta/security' }])).toEqual([
      'immutable-element Appointment.meta.security',
    ]);
  });
});

describe('the cost of a FHIRPath Patch', () => {
  const parameters = (paths: readonly string[]) => ({ resourceType: 'Parameters', parameter: paths.map(replacing) });
  let evaluated = 0;
  const counting = (path: string): string[] => {
    evaluated++;
    return [path];
  };
  const apply = (appointment: Appointment, paths: readonly string[]) => {
    evaluated = 0;
    const patch = readPatch(parameters(paths));
    return 'issues' in patch ? patch : applyPatch(appointment, patch, counting);
  };

  it('is bounded before anything is evaluated', () => {
    const identifier = Array.from({ length: 4_000 }, (_, index) => ({ value: `${index}` }));
    const costly = `Appointment.identifier${".where(value!='x')".repeat(20)}.first().value`;
    expect(apply({ ...stored, identifier }, [costly])).toMatchObject({ issues: [{ code: 'patch-invalid' }] });
    expect(evaluated).toBe(0);
    expect(apply({ ...stored, comment: 'x', identifier }, ['Appointment.comment'])).toHaveProperty('result');
  });
});

describe('a patch that cannot be read or applied', () => {
  it.each([
    [0, ['patch-invalid http.body']],
    [1, 'applied'],
    [100, 'applied'],
    [101, ['patch-invalid http.body']],
  ])('has no operation or too many: of %d operations comes %j', (count, expected) => {
    const operations = Array.from({ length: count }, () => add('/comment', 'x'));
    expect(applied(stored, operations)).toEqual(expected);
  });

  it('of FHIRPath names the operation', () => {
    const unread = readPatch({ resourceType: 'Parameters', parameter: [{ name: 'operation', part: [] }] });
    expect(unread).toMatchObject({ issues: [{ code: 'patch-invalid' }] });
    const patch = readPatch({ resourceType: 'Parameters', parameter: [replacing('Appointment.comment')] });
    const nothing = 'issues' in patch ? patch : applyPatch(stored, patch, () => []);
    expect(nothing).toMatchObject({ issues: [{ code: 'patch-invalid', expression: 'Parameters.parameter[0]' }] });
  });
});

describe('a request to patch', () => {
  const operations = [{ op: 'remove', path: '/comment' }];
  const parameters = (...parameter: unknown[]) => ({ resourceType: 'Parameters', parameter });
  const id = { name: 'id', valueId: 'a1' };
  const patch = { name: 'patch', valueString: JSON.stringify(operations) };
  const notified = (input: unknown) => {
    const read = parsePatchRequest(input);
    return 'issues' in read ? read.issues.map(({ expression = 'id' }) => expression) : read;
  };

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'id'],
    ['another resource', { ...parameters(id, patch), resourceType: 'Bundle' }, 'id'],
    ['parameters that are no list', { resourceType: 'Parameters', parameter: 'x' }, 'id'],
    ['no id', parameters(patch), 'id'],
    ['an id that is none', parameters({ name: 'id', valueId: 'a/1' }, patch), 'id'],
    ['no patch', parameters(id), 'http.body'],
    ['a patch that is no JSON', parameters(id, { name: 'patch', valueString: '{' }), 'http.body'],
    ['a patch that is no list', parameters(id, { name: 'patch', valueString: '{}' }), 'http.body'],
  ])('with %s is refused', (_, input, expression) => {
    expect(notified(input)).toEqual([expression]);
  });
});
