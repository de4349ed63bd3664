import { describe, expect, test } from '@jest/globals';
import { isCurrentOnly, isVisible, versionAccesses } from '../../../gateway/medplum/version-access.ts';

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
    ['criteria without a tag', { resourceType: 'Appointment', criteria: 'Appointment?_tag=,' }, []],
    ['criteria without a query', { resourceType: 'Appointment', criteria: 'Appointment' }, []],
    ['a tag and an empty one', { resourceType: 'Appointment', criteria: `Appointment?_tag=,${own}` }, [own]],
    ['a tag with a question mark', { resourceType: 'Appointment', criteria: 'Appointment?_tag=a|b?c' }, ['a|b?c']],
    ['histories', { resourceType: 'Appointment', interaction: ['history'] }, 'all'],
    ['interactions that are no list', { resourceType: 'Appointment', interaction: 'read' }, 'all'],
    [
      'a tag in a compartment',
      { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}`, compartment: {} },
      [],
    ],
    ['a rule that is none', 'Appointment', []],
    ['nothing', null, []],
  ])('by a rule for %s', (_, rule, expected) => {
    expect(accessBy(rule)).toEqual(expected);
  });

  test.each([
    ['without rules', {}],
    ['whose rules are no list', { resource: { resourceType: '*' } }],
    ['that is no policy', 'all'],
  ])('by a policy %s: none', (_, policy) => {
    expect(versionAccesses(policy)).toMatchObject({ Appointment: [], Patient: [] });
  });

  test('are those of types that have versions, without a policy all of them', () => {
    for (const policy of [null, undefined, {}]) {
      expect(Object.keys(versionAccesses(policy))).toEqual([
        'Appointment',
        'Patient',
        'QuestionnaireResponse',
        'Encounter',
        'RelatedPerson',
      ]);
    }
    expect(versionAccesses(null).Patient).toBe('all');
  });

  test('are none but the current one without access to others', () => {
    expect([isCurrentOnly('all'), isCurrentOnly([own]), isCurrentOnly([])]).toEqual([false, false, true]);
  });

  test('rules add up', () => {
    const rule = (token: string) => ({ resourceType: 'Appointment', criteria: `Appointment?_tag=${token}` });
    expect(accessBy(rule('a|1'), rule('b|2,c|3'))).toEqual(['a|1', 'b|2', 'c|3']);
    expect(accessBy(rule('a|1'), rule('a|1'))).toEqual(['a|1']);
    expect(accessBy(rule('a|1'), { resourceType: '*' })).toBe('all');
  });

  test('have one of the tags, whole', () => {
    expect(isVisible(tagged('x|y', own), [own])).toBe(true);
    for (const other of [tagged(), {}, tagged(`${own}-2`), tagged(own.replace('|', '/|')), tagged('|portal-a')]) {
      expect(isVisible(other, [own])).toBe(false);
    }
    const odd = [{ tag: { system: 'a', code: 'b' } }, { tag: [null, 'a|b'] }] as object[];
    expect(odd.map((meta) => isVisible({ meta }, ['a|b']))).toEqual([false, false]);
    expect([
      isVisible({ meta: { tag: [{ code: 'b' }] } }, ['|b']),
      isVisible({ meta: { tag: [{ system: 'a' }] } }, ['a|']),
    ]).toEqual([true, true]);
    expect([isVisible({}, 'all'), isVisible(tagged(own), []), isVisible(tagged(own))]).toEqual([true, false, false]);
  });
});
