import { describe, expect, it } from '@jest/globals';
import { applyPatch, readPatch } from '../../../../core/booking/patch/patch.ts';
import { asPatchInvalid } from '../../../../core/booking/patch/rejection.ts';
import { parsePatchRequest } from '../../../../core/booking/patch/request.ts';
import { stored } from '../change.cases.ts';

const operations = [{ op: 'remove', path: '/comment' }];
const parameters = (...parameter: unknown[]) => ({ resourceType: 'Parameters', parameter });
const id = { name: 'id', valueId: 'a1' };
const patch = { name: 'patch', valueString: JSON.stringify(operations) };

describe('a request to patch', () => {
  it('names the appointment, the patch, and perhaps the version', () => {
    const expected = { id: 'a1', patch: readPatch(operations) };
    expect(parsePatchRequest(parameters(id, patch))).toEqual(expected);
    const ifMatch = { name: 'ifMatch', valueString: '7' };
    expect(parsePatchRequest(parameters(null, id, patch, ifMatch))).toEqual({ ...expected, ifMatch: '7' });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['another resource', { ...parameters(id, patch), resourceType: 'Bundle' }],
    ['no parameters', { resourceType: 'Parameters' }],
    ['parameters that are no list', { resourceType: 'Parameters', parameter: 'x' }],
    ['no id', parameters(patch)],
    ['an id that is none', parameters({ name: 'id', valueId: 'a/1' }, patch)],
  ])('with %s is refused', (_, input) => {
    expect(parsePatchRequest(input)).toEqual({
      issues: [{ code: 'patch-invalid', diagnostics: 'The parameter id must be the id of an Appointment.' }],
    });
  });

  it.each<[string, unknown[]]>([
    ['no patch', [id]],
    ['a patch that is no JSON', [id, { name: 'patch', valueString: '{' }]],
    ['a patch that is no list', [id, { name: 'patch', valueString: '{}' }]],
  ])('with %s is refused', (_, parts) => {
    expect(parsePatchRequest(parameters(...parts))).toEqual({
      issues: [
        {
          code: 'patch-invalid',
          diagnostics: 'The body must be a Parameters resource with a FHIRPath Patch, or a JSON Patch.',
          expression: 'http.body',
        },
      ],
    });
  });
});

describe('what only the server writes', () => {
  const applied = (...sent: object[]) => {
    const read = readPatch(sent);
    return 'issues' in read ? read : applyPatch(stored, read, () => []);
  };

  it.each([
    ['id', '/id', 'x'],
    ['resourceType', '/resourceType', 'Slot'],
    ['meta.versionId', '/meta/versionId', 'x'],
    ['meta.author', '/meta/author', { reference: 'Patient/1' }],
  ])('%s cannot be patched', (name, path, value) => {
    expect(applied({ op: 'add', path, value })).toMatchObject({
      issues: [
        {
          code: 'patch-invalid',
          diagnostics: `${name} of an appointment is set by the server and cannot be patched.`,
          expression: `Appointment.${name}`,
        },
      ],
    });
  });

  it('nor can its security labels', () => {
    const label = { system: 'a', code: 'b' };
    expect(applied({ op: 'add', path: '/meta/security', value: [label] })).toMatchObject({
      issues: [
        {
          code: 'immutable-element',
          diagnostics: 'The security labels of an appointment cannot be patched.',
          expression: 'Appointment.meta.security',
        },
      ],
    });
  });
});

it('what makes the result malformed makes the patch invalid', () => {
  expect(asPatchInvalid({ code: 'malformed-request', diagnostics: 'x' })).toEqual({
    code: 'patch-invalid',
    diagnostics: 'x',
  });
  expect(asPatchInvalid({ code: 'slot-not-free', diagnostics: 'x' })).toEqual({
    code: 'slot-not-free',
    diagnostics: 'x',
  });
});
