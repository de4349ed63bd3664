import { describe, expect, test } from '@jest/globals';
import { parseQuery, rewriteSearch } from '../../../gateway/search/rewrite.ts';
import type { ServedTypeName } from '../../../gateway/served-types.ts';
import { config } from '../fake-medplum.ts';

const context = { ...config, timeZone: 'Europe/Berlin', now: Date.parse('2027-01-01T00:00:00Z') };

/** The code of every problem that a search has; none if it is accepted. */
function codesOf(type: ServedTypeName, query: string): string[] {
  const result = rewriteSearch(type, parseQuery(query), context);
  return 'params' in result ? [] : result.map(({ code }) => code);
}

/** What is said about a search that is refused, and about which parameter. */
function said(type: ServedTypeName, sent: Parameters<typeof rewriteSearch>[1]): string[] {
  const result = rewriteSearch(type, sent, context);
  return 'params' in result ? [] : result.flatMap(({ diagnostics, expression = '' }) => [expression, diagnostics]);
}

describe('a search is refused', () => {
  test('with more than 500 values in all, however they are spread', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`).join(',');
    expect(codesOf('Patient', `family=${list(300)}&given=${list(200)}`)).toEqual([]);
    for (const query of [`family=${list(501)}`, `_id=${list(300)}&_tag=${list(201)}`, `family=${list(20_000)}`]) {
      expect(codesOf('Patient', query)).toEqual(['malformed-request']);
    }
    expect(codesOf('Patient', `family=${'a\\,'.repeat(400)}b`)).toEqual([]);
    expect(said('Patient', parseQuery(`family=${list(300)}&given=${list(201)}`))).toEqual([
      'http.parameter',
      'A search can have at most 500 values in all; this one has 501.',
    ]);
  });

  test('with more than 500 values as Medplum is asked: a reference without a type counts for each', () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `actor-${index}`).join(',');
    expect(codesOf('Appointment', `actor=${ids(83)}`)).toEqual([]);
    expect(codesOf('Appointment', `actor=${ids(84)}`)).toEqual(['malformed-request']);
    expect(codesOf('Appointment', `patient=${ids(500)}`)).toEqual([]);
  });

  test('with more than five conditions that each resource has to be compared with', () => {
    const dates = (count: number) => Array.from({ length: count }, () => 'date=2027').join('&');
    expect(said('Encounter', parseQuery(dates(5)))).toEqual([]);
    expect(said('Encounter', parseQuery(dates(6)))).toEqual([
      'http.period',
      "A search can have at most 5 conditions on 'period'.",
    ]);
  });

  test('with more than a hundred parameters', () => {
    const parameters = (count: number) => Array.from({ length: count }, () => ({ name: '_id', value: 'a' }));
    expect(said('Slot', parameters(100))).toEqual([]);
    expect(said('Slot', parameters(101))).toEqual(['http.parameter', 'A search can have at most 100 parameters.']);
  });

  test('with more than five chains, whatever else it has', () => {
    const chains = (count: number) => [
      { name: 'status', value: 'busy' },
      ...Array.from({ length: count }, () => ({ name: 'schedule.active', value: 'true' })),
      { name: 'identifier', value: 'x' },
    ];
    expect(said('Slot', chains(5))).toEqual([]);
    expect(said('Slot', chains(6))).toEqual([
      'http.schedule.active',
      'A search can have at most 5 chained parameters.',
    ]);
  });

  test.each([
    [{ name: 'identifier', value: 'a\u0000b' }],
    [{ name: 'identifier', value: 'a\u001fb' }],
    [{ name: 'identifier', value: 'a\u007fb' }],
    [{ name: 'identifier', value: 'a\nb' }],
    [{ name: 'identi\u0000fier', value: 'a' }],
    [{ name: '_count', value: '1\n' }],
    [{ name: '_format', value: 'a\tb' }],
  ])('with control characters: %j', (param) => {
    expect(said('Slot', [param])).toEqual(['http.parameter', 'A search parameter contains control characters.']);
  });

  test.each([
    [{ name: 'identifier', value: 'M\uFFFDller' }],
    [{ name: 'identi\uFFFDfier', value: 'a' }],
    [{ name: '_format', value: '\uFFFD' }],
  ])('that is not written in UTF-8: %j', (param) => {
    expect(said('Slot', [param])).toEqual([
      'http.parameter',
      'A search parameter is not written in UTF-8: ü is %C3%BC.',
    ]);
  });

  test('but not for spaces and letters of whatever script', () => {
    expect(said('Slot', [{ name: 'identifier', value: 'a b\u0080Ж' }])).toEqual([]);
  });

  test('with a date at the end of a chain that is none, by the name of the whole', () => {
    expect(said('Appointment', [{ name: 'slot.start', value: 'soon' }])[0]).toBe('http.slot.start');
  });

  test.each<[ServedTypeName, string]>([
    ['Slot', 'foo=1'],
    ['Patient', 'family:missing=false'],
    ['Practitioner', 'name:missing=true'],
    ['Location', 'address-city:missing=true'],
    ['Appointment', 'patient.given:missing=true'],
    ['Slot', '_has:Appointment:slot:status=booked'],
    ['Slot', '_filter=status eq free'],
    ['Slot', '_type=Bot'],
    ['Slot', '_include=*'],
    ['Slot', '_include=Slot:*'],
    ['Slot', '_include=Bot:owner'],
    ['Slot', '_include=Slot:schedule:Bot'],
    ['Patient', '_revinclude=Observation:subject'],
    ['Patient', '_revinclude=AuditEvent:patient'],
    ['Slot', 'schedule.actor.name=x'],
    ['Slot', 'schedule.actor:Device.type=x'],
    ['Slot', 'schedule._has:Slot:schedule:status=free'],
    ['Slot', 'status:below=free'],
    ['Slot', 'schedule.foo=1'],
    ['Slot', 'schedule.constructor=1'],
    ['Slot', '__proto__=1'],
    ['Slot', 'toString=1'],
    ['Slot', '_count=-1'],
    ['Slot', '_count=100000'],
    ['Slot', '_sort=schedule.actor'],
    ['Slot', '_total=maybe'],
    ['Patient', 'family=M%FCller'],
    ['Patient', 'family=%2C'],
    ['Patient', 'family=%5C'],
    ['RelatedPerson', 'name:missing=true'],
    ['Slot', 'status=fr%00ee'],
    ['Slot', 'status=http://hl7.org/fhir/slotstatus|'],
    ['Slot', 'start=tomorrow'],
    ['Slot', 'start=2027-02-30'],
    ['Slot', 'start=ge2027-01-01T24:00:00Z'],
    ['Slot', 'start=xx2027-01-01'],
    ['Slot', 'start=2027-01-01,,2027-01-02'],
    ['Slot', `start=${Array(21).fill('2027-01-01').join(',')}`],
    ['Patient', 'birthdate=1990-01-01T10:00:00Z'],
    ['Appointment', 'slot.start=soon'],
    ['CodeSystem', 'context-type-value=a'],
    ['CodeSystem', 'context-type-value=a$b$c'],
    ['Slot', Array(6).fill('schedule.active=true').join('&')],
    ['Encounter', 'account:Account.status=active'],
    ['Encounter', '_include=Encounter:account'],
    ['Encounter', 'date=soon'],
    ['Encounter', '_sort=date-start'],
  ])('%s?%s', (type, query) => {
    expect(codesOf(type, query)).toEqual(['malformed-request']);
  });

  test('for every problem that it has', () => {
    expect(codesOf('Slot', 'foo=1&status=free&bar=2')).toEqual(['malformed-request', 'malformed-request']);
  });
});
