import { describe, expect, it } from '@jest/globals';
import type { Meta } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { artefactUri } from '../../../../core/config/config.ts';
import { concernQuery, concernTokens, tagTokens } from '../../../../core/notifications/events/concern.ts';
import { couldRead } from '../../../../core/notifications/events/read-access.ts';
import { config } from '../support.ts';

const any = { system: artefactUri(config, 'LocalTask'), value: 'any-appointment' };

describe('what concerns a subscriber', () => {
  it.each([
    ['the tags of its criteria', ['Appointment?_tag=urn:A|One,urn:a|two'], ['urn:a|one', 'urn:a|two']],
    ['each tag once', ['Appointment?_tag=urn:a|one', 'Appointment?_tag=urn:A|ONE&status=booked'], ['urn:a|one']],
  ])('%s', (_, readable, expected) => {
    expect(concernTokens(readable, config).map(({ system, value }) => `${system}|${value}`)).toEqual(expected);
  });

  it.each([
    ['everything may be read', ['Appointment']],
    ['one of the criteria asks for no tag', ['Appointment?_tag=urn:a|one', 'Appointment?status=booked']],
    ['a tag has no system', ['Appointment?_tag=one']],
    ['a tag is any of a system', ['Appointment?_tag=urn:a|']],
    ['a tag has more than two parts', ['Appointment?_tag=urn:a|b|c']],
    ['a comma is escaped', ['Appointment?_tag=urn:a|b\\,c']],
    ['nothing is known', []],
  ])('any appointment, if %s', (_, readable) => {
    expect(concernTokens(readable, config)).toEqual([any]);
  });
});

it('outboxes are searched by the tags of appointments, and for any appointment', () => {
  const tag = [{ system: 'urn:A', code: 'One' }, { code: 'alone' }, { system: 'urn:a', code: 'a,b' }];
  const tags = tagTokens([{ tag }, undefined, { tag: [{ system: 'urn:a', code: 'one' }] }]);
  expect(concernQuery(tags, config)).toBe(`urn:a|one,${any.system}|${any.value}`);
});

it('with more than 50 tags, all outboxes are read', () => {
  const tagged = (count: number): Meta => ({
    tag: Array.from({ length: count }, (_, index) => ({ system: 'urn:a', code: String(index) })),
  });
  expect(concernQuery(tagTokens([tagged(50)]), config)?.split(',')).toHaveLength(51);
  expect(concernQuery(tagTokens([tagged(51)]), config)).toBeUndefined();
});

it('whoever may read an appointment by its tags is found by them', () => {
  const part = fc.constantFrom('urn:a', 'URN:A', 'b', 'a|b', 'a,b', 'a b', '\\', '$', '+', '%', '');
  const token = fc.tuple(part, part).map(([system, code]) => ({ system, code }));
  const criteria = fc
    .array(token, { minLength: 1, maxLength: 3 })
    .map((tokens) => `Appointment?_tag=${tokens.map(({ system, code }) => `${system}|${code}`).join(',')}`);
  fc.assert(
    fc.property(fc.array(criteria, { maxLength: 3 }), fc.array(token, { maxLength: 4 }), (readable, tag) => {
      const isReadable = couldRead(
        readable,
        { resourceType: 'Appointment', status: 'booked', participant: [], meta: { tag } },
        false,
      );
      const found = new Set(concernQuery(tagTokens([{ tag }]), config)?.split(','));
      const isFound = concernTokens(readable, config).some(({ system, value }) => found.has(`${system}|${value}`));
      expect(!isReadable || isFound).toBe(true);
    }),
  );
});
