import { describe, expect, it } from '@jest/globals';
import { belongsTo, ownerOf, requestorTag } from '../../../core/fhir/tags.ts';
import { config } from '../booking/support.ts';

const { system = '', code } = requestorTag('6f0e', config);
const taggedWith = (...tag: object[]) => ({ meta: { tag } });

describe('the owner of a resource', () => {
  it('is found by its tag, in any letter case, as Medplum finds it', () => {
    for (const tag of [
      { system, code },
      { system: system.toUpperCase(), code },
      { system, code: '6F0E' },
    ]) {
      expect(belongsTo(taggedWith(tag), '6f0e', config)).toBe(true);
    }
    expect(ownerOf(taggedWith({ system: system.toUpperCase(), code }), config)).toBe('6f0e');
  });

  it('is nobody if there is no such tag', () => {
    for (const resource of [{}, taggedWith(), taggedWith({ system: 'urn:x', code }), taggedWith({ code })]) {
      expect([belongsTo(resource, '6f0e', config), ownerOf(resource, config)]).toEqual([false, undefined]);
    }
    expect(belongsTo(taggedWith({ system, code: 'other' }), '6f0e', config)).toBe(false);
  });
});
