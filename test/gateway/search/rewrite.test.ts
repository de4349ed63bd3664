import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { artefactUri } from '../../../core/config/config.ts';
import { searchParameters } from '../../../gateway/search/parameters/parameters.ts';
import { formatQuery, parseQuery, rewriteSearch } from '../../../gateway/search/rewrite.ts';
import { type ServedTypeName, servedTypeNames } from '../../../gateway/served-types.ts';
import { base, config } from '../fake-medplum.ts';

const context = { ...config, timeZone: 'Europe/Berlin', now: Date.parse('2027-01-01T00:00:00Z') };

/** The list of closed days is no service. */
const noClosedDays = `identifier:not=${artefactUri(config, 'LocalClosedDays')}|`;

function rewrite(type: ServedTypeName, query: string): string[] {
  const result = rewriteSearch(type, parseQuery(query), context);
  return 'params' in result
    ? result.params.map(({ name, value }) => `${name}=${value}`)
    : result.map(({ code }) => code);
}

test('a query is taken apart without spaces around names and values, and without what is empty', () => {
  expect(parseQuery('+a+=+1+2%20&b=%20&%20=3&c&=4&a=5&d=%09')).toEqual([
    { name: 'a', value: '1 2' },
    { name: 'a', value: '5' },
  ]);
});

describe('search rewrites', () => {
  test.each<[string, ServedTypeName, string, string[]]>([
    [
      'empty parameters are dropped',
      'Slot',
      '_count&status=&start=ge2027-01-01T10:00:00Z',
      ['start=ge2027-01-01T10:00:00.000Z'],
    ],
    [
      'a chain that ends in HealthcareService.type',
      'Slot',
      'schedule.actor:HealthcareService.type=http://x|ct',
      ['schedule.actor:HealthcareService.service-type=http://x|ct'],
    ],
    ['type of HealthcareService', 'HealthcareService', 'type:not=a', ['service-type:not=a', noClosedDays]],
    [
      'only schedules that are not inactive',
      'Schedule',
      'actor=Practitioner/1',
      ['actor=Practitioner/1', 'active:not=false'],
    ],
    ['… also on the next page', 'Schedule', 'active:not=false&_offset=20', ['active:not=false', '_offset=20']],
    ['… also when inactive ones are asked for', 'Schedule', 'active=false', ['active=false', 'active:not=false']],
    [
      'absolute references become relative',
      'Slot',
      `schedule=${base}/Schedule/1,Schedule/2/_history/3`,
      ['schedule=Schedule/1,Schedule/2'],
    ],
    [
      "other servers' references stay",
      'Slot',
      'schedule=https://other/Schedule/1',
      ['schedule=https://other/Schedule/1'],
    ],
    ['a bare id gets its type', 'Slot', 'schedule=1', ['schedule=Schedule/1']],
    ['a type after the parameter', 'Schedule', 'actor:Practitioner=1', ['actor=Practitioner/1', 'active:not=false']],
    [
      'names in words',
      'Patient',
      "family=Graf von M%C3%BC%C3%9F-O'Hara&_sort=_id",
      ["family=Graf von Müß-O'Hara", '_sort=_id'],
    ],
    ['… with accents composed', 'Patient', 'family=Mu%CC%88ller&_sort=_id', ['family=Müller', '_sort=_id']],
    ['… that Medplum cuts otherwise', 'Patient', 'name=St.Clair&_sort=_id', ['name:contains=St.Clair', '_sort=_id']],
    ['… without letters', 'Patient', 'family=Kim,%F0%9F%98%80&_sort=_id', ['family:contains=Kim,😀', '_sort=_id']],
    ['… with escapes', 'Patient', 'given=An%26na%5C%2CV%5C%24&_sort=_id', ['given:contains=An&na\\,V\\$', '_sort=_id']],
    [
      '… in both forms of Unicode where they are compared as they stand',
      'Patient',
      'family:exact=M%C3%BCller&_sort=_id',
      ['family:exact=Müller,Mu\u0308ller', '_sort=_id'],
    ],
    [
      '… at the end of a chain',
      'Appointment',
      'patient.family=!&_sort=_id',
      ['patient.family:contains=!', '_sort=_id'],
    ],
    ['… without what is empty', 'Patient', 'family:contains=,a,&_sort=_id', ['family:contains=a', '_sort=_id']],
    ['other strings', 'HealthcareService', 'name=Ca%CC%81ncer St.', ['name=Cáncer St.,Ca\u0301ncer St.', noClosedDays]],
    ['an order, where callers see different parts', 'Patient', '_count=1', ['_count=1', '_sort=_lastUpdated,_id']],
    ['… that leaves nothing open', 'Appointment', '_sort=-date,status', ['_sort=-date,status,_id']],
    ['… as it was asked for', 'Appointment', '_sort=-_id', ['_sort=-_id']],
    [
      '… whatever other values there are',
      'Appointment',
      'identifier=_id&_sort=date',
      ['identifier=_id', '_sort=date,_id'],
    ],
    ['… with it among others', 'Appointment', '_sort=_id,date&_sort=status', ['_sort=_id,date', '_sort=status']],
    [
      '… at the end of all',
      'Appointment',
      '_sort=date&_sort=status&_count=1',
      ['_sort=date', '_sort=status,_id', '_count=1'],
    ],
    ...(['Encounter', 'QuestionnaireResponse', 'RelatedPerson', 'Subscription'] as const).map(
      (type): [string, ServedTypeName, string, string[]] => [`… of ${type}`, type, '', ['_sort=_lastUpdated,_id']],
    ),
    ['the channel of a Subscription', 'Subscription', 'type=websocket&_sort=_id', ['type=message', '_sort=_id']],
    ['the type of a Location', 'Location', 'type=websocket', ['type=websocket']],
    [
      'approximate dates',
      'Slot',
      'start=ap2027-01-01T00:00:00Z',
      ['start=ge2027-01-01T00:00:00.000Z', 'start=lt2027-01-01T00:00:01.000Z'],
    ],
    [
      'days as the moments between which they lie in the time zone',
      'Slot',
      'start=ge2027-03-28&start=le2027-03-28',
      ['start=ge2027-03-27T23:00:00.000Z', 'start=lt2027-03-28T22:00:00.000Z'],
    ],
    [
      'one day, and one day less',
      'Appointment',
      'date=2027-01-01&date=ne2027-01&_sort=_id',
      [
        'date=ge2026-12-31T23:00:00.000Z',
        'date=lt2027-01-01T23:00:00.000Z',
        '_filter=(date lt "2026-12-31T23:00:00.000Z") or (date ge "2027-01-31T23:00:00.000Z")',
        '_sort=_id',
      ],
    ],
    [
      'several days as one condition',
      'Slot',
      'start=2027-01-01,gt2028',
      [
        '_filter=(start ge "2026-12-31T23:00:00.000Z" and start lt "2027-01-01T23:00:00.000Z") or (start ge "2028-12-31T23:00:00.000Z")',
      ],
    ],
    [
      'dates of elements without times as dates',
      'Patient',
      'birthdate=1990&_sort=_id',
      ['birthdate=ge1990-01-01', 'birthdate=lt1991-01-01', '_sort=_id'],
    ],
    [
      'a plus sign that was not encoded',
      'Slot',
      'start=ge2027-01-01T10:00:00+01:00',
      ['start=ge2027-01-01T09:00:00.000Z'],
    ],
    ['whether there is a date', 'Patient', 'birthdate:missing=true&_sort=_id', ['birthdate:missing=true', '_sort=_id']],
    [
      'a date at the end of a chain',
      'Appointment',
      'slot.start=lt2027&_sort=_id',
      ['slot.start=lt2026-12-31T23:00:00.000Z', '_sort=_id'],
    ],
    [
      '… which must hold for one resource',
      'Appointment',
      'slot.start=2027-01-01T10:00Z&_sort=_id',
      ['slot._filter=start ge "2027-01-01T10:00:00.000Z" and start lt "2027-01-01T10:01:00.000Z"', '_sort=_id'],
    ],
    [
      'codes without the code system of their element',
      'Slot',
      'status=http://hl7.org/fhir/slotstatus|busy,|free,urn:x|free&schedule.active:not=http://terminology.hl7.org/CodeSystem/special-values|false',
      ['status=busy,free,urn:x|free', 'schedule.active:not=false'],
    ],
    ['free slots to come', 'Slot', 'status=free', ['status=free', 'start=ge2027-01-01T00:00:00.000Z']],
    ['… or what is asked for', 'Slot', 'status=free&start:missing=true', ['status=free', 'start:missing=true']],
    [
      'references by identifier',
      'Schedule',
      'actor:identifier=urn:a|b',
      ['actor:identifier=urn:a|b', 'active:not=false'],
    ],
    [
      'references to what is not served',
      'Encounter',
      `account=1,Account/2,${base}/Account/3&account:identifier=urn:a|b`,
      ['account=Account/1,Account/2,Account/3', 'account:identifier=urn:a|b', '_sort=_lastUpdated,_id'],
    ],
    ['_format is not passed on', 'Slot', '_format=json&_pretty=true', []],
    [
      '_include',
      'Slot',
      '_include=Slot:schedule&_include:iterate=Schedule:actor:Practitioner',
      ['_include=Slot:schedule', '_include:iterate=Schedule:actor:Practitioner'],
    ],
    ['_revinclude', 'Schedule', '_revinclude=Slot:schedule', ['_revinclude=Slot:schedule', 'active:not=false']],
  ])('%s', (_name, type, query, expected) => {
    expect(rewrite(type, query)).toEqual(expected);
  });

  test('keep what was asked, and what the service asks for of its own, for the links', () => {
    const asked = (type: ServedTypeName, query: string) => {
      const result = rewriteSearch(type, parseQuery(query), context);
      return 'params' in result ? result.asked.map(({ name, value }) => `${name}=${value}`) : [];
    };
    expect(asked('Slot', 'schedule=1&status=free&_format=json')).toEqual([
      'schedule=1',
      'status=free',
      '_format=json',
      'start=ge2027-01-01T00:00:00.000Z',
    ]);
    expect(asked('Schedule', 'actor=Location/1')).toEqual(['actor=Location/1']);
    expect(asked('Patient', 'birthdate=1990')).toEqual(['birthdate=1990']);
  });

  test('take the conditions apart that Medplum cannot check', () => {
    const result = rewriteSearch('Encounter', parseQuery('date=2026&end-date:missing=true&status=finished'), context);
    expect(result).toMatchObject({
      params: [{ name: 'status', value: 'finished' }, { name: '_sort' }],
      filters: [{ element: 'period' }, { element: 'period' }],
    });
    const usage = rewriteSearch('CodeSystem', parseQuery('context-type-value=a$b'), context);
    expect(usage).toMatchObject({
      params: [
        { name: 'context-type', value: 'a' },
        { name: 'context', value: 'b' },
      ],
      filters: [{ element: 'useContext' }],
    });
    expect(rewriteSearch('Slot', parseQuery('status=busy'), context)).toMatchObject({ filters: [] });
  });

  test('give a chain also in its parts, with its end as Medplum understands it', () => {
    const chains = (query: string) => {
      const result = rewriteSearch('Appointment', parseQuery(query), context);
      return 'params' in result ? result.params.flatMap(({ chain }) => chain ?? []) : [];
    };
    const links = [{ name: 'slot', text: 'slot:Slot', target: 'Slot' }];
    expect(chains('slot:Slot.start=lt2027&slot:Slot.status=|free&slot:Slot.start:missing=true&date=2027')).toEqual([
      { links, end: { name: 'start', value: 'lt2026-12-31T23:00:00.000Z' } },
      { links, end: { name: 'status', value: 'free', entry: expect.anything() } },
      { links, end: { name: 'start:missing', value: 'true', entry: expect.anything() } },
    ]);
  });

  test('of unknown parameters, where they may be, everything is ignored but the rest', () => {
    const lenient = { ...context, handling: 'lenient' } as const;
    const result = rewriteSearch(
      'Slot',
      parseQuery('foo=1&status=busy&schedule.bar.x=2&_has:a:b:c=1&_count=3'),
      lenient,
    );
    expect('params' in result && result).toMatchObject({
      params: [
        { name: 'status', value: 'busy' },
        { name: '_count', value: '3' },
      ],
      asked: [
        { name: 'status', value: 'busy' },
        { name: '_count', value: '3' },
      ],
      ignored: ['foo', 'schedule.bar.x', '_has:a:b:c'].map((name) => ({ param: { name } })),
    });
    expect(rewriteSearch('Slot', parseQuery('foo=1&status:below=busy&_sort=bar'), lenient)).toHaveLength(2);
  });

  test('what is rewritten is accepted again and stays as it is: links lead back', () => {
    const parameter = fc
      .constantFrom(...servedTypeNames)
      .chain((type) => fc.tuple(fc.constant(type), fc.constantFrom(...Object.keys(searchParameters[type]))));
    fc.assert(
      fc.property(parameter, fc.stringMatching(/^[\w|:/.-]{1,20}$/), ([type, name], value) => {
        const { type: kind, codeSystem } = searchParameters[type][name] ?? {};
        fc.pre(kind !== 'composite');
        const code = codeSystem ? `x${value.replaceAll('|', '')}` : value;
        const sent = kind === 'date' ? `ge${1000 + value.length}-02` : code;
        const once = rewriteSearch(type, [{ name, value: sent }], context);
        expect('params' in once).toBe(true);
        if ('params' in once) {
          const again = rewriteSearch(type, parseQuery(formatQuery(once.params)), context);
          expect('params' in again && again.params).toEqual(once.params);
        }
      }),
    );
  });

  test('no query is too strange', () => {
    fc.assert(
      fc.property(fc.string(), (query) => {
        const result = rewriteSearch('Slot', parseQuery(query), context);
        return 'params' in result || result.length > 0;
      }),
    );
  });
});
