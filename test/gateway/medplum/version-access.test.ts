import { describe, expect, test } from '@jest/globals';
import { isVisible, versionAccesses } from '../../../gateway/medplum/version-access.ts';

const own = 'https://example.org/fhir/CodeSystem/LocalRequestor|portal-a';
const tagged = (...tokens: string[]) => ({
  meta: { tag: tokens.map((token) => ({ system: token.split('|')[0] ?? '', code: token.split('|')[1] ?? '' })) },
});
const accessBy = (...resource: unknown[]) => versionAccesses({ resource }).Appointment;

describe('the versions that a caller may see', () => {
  test('without a policy: all', () => {
    expect(versionAccesses(undefined)).toMatchObject({ Appointment: 'all', Patient: 'all' });
  });

  test.each<[string, unknown, unknown]>([
    ['everything of the type', { resourceType: 'Appointment' }, 'all'],
    ['everything', { resourceType: '*', interaction: ['read', 'vread'] }, 'all'],
    ['what has a tag', { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}` }, [own]],
    ['another type', { resourceType: 'Patient' }, []],
    ['no versions', { resourceType: 'Appointment', interaction: ['read', 'search'] }, []],
    ['a compartment', { resourceType: 'Appointment', compartment: { reference: 'Organization/1' } }, []],
    ['other criteria', { resourceType: 'Appointment', criteria: 'Appointment?status=booked' }, []],
    ['a tag and more', { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}&status=booked` }, []],
    ['criteria that are none', { resourceType: 'Appointment', criteria: 7 }, []],
    ['a rule that is none', 'Appointment', []],
  ])('by a rule for %s', (_, rule, expected) => {
    expect(accessBy(rule)).toEqual(expected);
  });

  test('rules add up', () => {
    const rule = (token: string) => ({ resourceType: 'Appointment', criteria: `Appointment?_tag=${token}` });
    expect(accessBy(rule('a|1'), rule('b|2,c|3'))).toEqual(['a|1', 'b|2', 'c|3']);
    expect(accessBy(rule('a|1'), { resourceType: '*' })).toBe('all');
  });

  test('have one of the tags, whole', () => {
    expect(isVisible(tagged('x|y', own), [own])).toBe(true);
    for (const other of [tagged(), {}, tagged(`${own}-2`), tagged(own.replace('|', '/|')), tagged('|portal-a')]) {
      expect(isVisible(other, [own])).toBe(false);
    }
    expect([isVisible({}, 'all'), isVisible(tagged(own), []), isVisible(tagged(own))]).toEqual([true, false, false]);
  });
});
