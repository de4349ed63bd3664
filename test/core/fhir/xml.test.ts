import { describe, expect, it } from '@jest/globals';
import type { Patient, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { xmlReader } from '../../../core/fhir/xml/read.ts';
import { toXml } from '../../../core/fhir/xml/write.ts';
import { readXml } from '../../lib/read-xml.ts';

const DEPTH = 50;
const fhir = 'xmlns="http://hl7.org/fhir"';
const xhtml = 'xmlns="http://www.w3.org/1999/xhtml"';

/** Everything that JSON and XML say differently, in FHIR's order. */
const patient = {
  resourceType: 'Patient',
  id: 'p1',
  meta: { versionId: '1', tag: [{ system: 'urn:s', code: 'a' }, { code: 'b' }] },
  text: { status: 'generated', div: `<div ${xhtml}>A <b class="x">&amp;</b><br/> B</div>` },
  contained: [
    { resourceType: 'Organization', id: 'o', name: 'Clinic' },
    { resourceType: 'Coverage', id: 'c', status: 'active' },
  ],
  extension: [{ url: 'urn:e', extension: [{ url: 'inner', valueInteger: 3 }] }],
  active: false,
  name: [
    {
      id: 'n1',
      family: 'O\'Neil & "Söhne" <1>',
      given: ['Ada', null, 'Eve'],
      _given: [null, { id: 'g', extension: [{ url: 'urn:x', valueBoolean: true }] }, null],
    },
  ],
  _birthDate: { extension: [{ url: 'urn:absent', valueCode: 'unknown' }] },
  multipleBirthInteger: 2,
} as unknown as Patient;

const bundle: Resource = {
  resourceType: 'Bundle',
  type: 'searchset',
  total: 1,
  link: [{ relation: 'next', url: 'http://x/y?a=1&b=2' }],
  entry: [{ fullUrl: 'http://x/Patient/p1', resource: patient, search: { mode: 'match', score: 0.5 } }],
};

const parameters: Resource = {
  resourceType: 'Parameters',
  parameter: [{ name: 'operation', part: [{ name: 'value', valueDateTime: '2031-01-06T08:00:00+01:00' }] }],
};

const read = (body: string) => readXml(body, DEPTH);
const issuesOf = (body: string): (string | undefined)[] => {
  const reading = read(body);
  return 'issues' in reading ? reading.issues.map(({ expression, diagnostics }) => expression ?? diagnostics) : [];
};

describe('writing XML', () => {
  it('puts elements in FHIR’s order, ids and URLs into attributes, values into the attribute value', () => {
    const resource = {
      birthDate: '1990-05-17',
      extension: [{ valueString: 'a\nb', url: 'urn:e', id: 'i' }],
      ...patient,
    };
    expect(toXml({ ...resource, id: 'p', meta: undefined, name: undefined, contained: undefined })).toBe(
      `<?xml version="1.0" encoding="UTF-8"?><Patient ${fhir}><id value="p"/><text><status value="generated"/>` +
        `<div ${xhtml}>A <b class="x">&amp;</b><br/> B</div></text>` +
        '<extension url="urn:e"><extension url="inner"><valueInteger value="3"/></extension></extension>' +
        '<active value="false"/><birthDate value="1990-05-17"><extension url="urn:absent"><valueCode value="unknown"/>' +
        '</extension></birthDate><multipleBirthInteger value="2"/></Patient>',
    );
  });

  it.each([
    ['<div>plain</div>', `<div ${xhtml}>plain</div>`],
    ['<div>1 < 2</div>', `<div ${xhtml}>&lt;div&gt;1 &lt; 2&lt;/div&gt;</div>`],
    ['<p>no div</p>', `<div ${xhtml}>&lt;p&gt;no div&lt;/p&gt;</div>`],
    [
      `<div ${xhtml}>&nbsp;</div>`,
      `<div ${xhtml}>&lt;div xmlns=&quot;http://www.w3.org/1999/xhtml&quot;&gt;&amp;nbsp;&lt;/div&gt;</div>`,
    ],
    [`<?xml version="1.0"?><div ${xhtml}>x</div>`, /^<div xmlns="[^"]*">&lt;\?xml/],
    ['<div xmlns="">x</div>', `<div ${xhtml}>&lt;div xmlns=&quot;&quot;&gt;x&lt;/div&gt;</div>`],
    ['<!--<div>--><div>q</div>', `<div ${xhtml}>&lt;!--&lt;div&gt;--&gt;&lt;div&gt;q&lt;/div&gt;</div>`],
    ['<?x <div ?><div>q</div>', `<div ${xhtml}>&lt;?x &lt;div ?&gt;&lt;div&gt;q&lt;/div&gt;</div>`],
    [`<!DOCTYPE div><div ${xhtml}/>`, /^<div xmlns="[^"]*">&lt;!DOCTYPE/],
  ])('the narrative %s stays well-formed', (div, expected) => {
    const [, written] = /<text>(.*)<\/text>/.exec(toXml({ resourceType: 'Patient', text: { div } } as Resource)) ?? [];
    expect(written).toMatch(expected);
  });
});

describe('reading XML', () => {
  it.each([
    ['a Patient', patient],
    ['a Bundle', bundle],
    ['Parameters', parameters],
  ])('%s comes back as it was written', (_, resource) => {
    expect(read(toXml(resource))).toEqual({ value: resource });
    expect(read(toXml(resource, true))).toEqual({ value: resource });
  });

  it('any text comes back', () => {
    const strange = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g;
    const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
    const text = fc.string({ unit }).map((one) => one.replaceAll(strange, '') || 'x');
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1 }), fc.integer(), (family, given, number) => {
        const value = { resourceType: 'Patient', name: [{ family, given }], multipleBirthInteger: number } as Patient;
        expect(read(toXml(value))).toEqual({ value });
      }),
    );
  });

  it('whatever is sent, it is read or refused', () => {
    const whole = toXml(bundle);
    const part = fc.tuple(
      fc.nat(whole.length),
      fc.nat(whole.length),
      fc.constantFrom('', '<', '/>', '"', '&', ' a="b"', '<x/>'),
    );
    const broken = part.map(([from, to, instead]) => whole.slice(0, from) + instead + whole.slice(to));
    fc.assert(
      fc.property(fc.oneof(broken, fc.string()), (body) => {
        const reading = read(body);
        expect('issues' in reading ? reading.issues.length : reading.value).toBeTruthy();
      }),
      { numRuns: 500 },
    );
  });

  it('prefixes, any order, comments, CDATA in narratives', () => {
    const body =
      `<?xml version="1.0"?><!-- c --><f:Patient xmlns:f="http://hl7.org/fhir" xmlns:h="http://www.w3.org/1999/xhtml">` +
      '<f:active value="true"/><f:text><h:div h:class="x"><h:i>1</h:i><![CDATA[<2>]]></h:div></f:text></f:Patient>';
    expect(read(body)).toEqual({
      value: {
        resourceType: 'Patient',
        active: true,
        text: { div: `<div ${xhtml} class="x"><i>1</i>&lt;2&gt;</div>` },
      },
    });
  });

  it.each([
    ['', /root element/],
    ['<Patient', /not well-formed/],
    [`<Patient ${fhir}><active value="true"></Patient>`, /not well-formed/],
    [`<Patient ${fhir}>&own;</Patient>`, /undefined entity/],
    [`<!DOCTYPE Patient [<!ENTITY a "b">]><Patient ${fhir}/>`, /DOCTYPE/],
    [`<?xml version="1.0" encoding="ISO-8859-1"?><Patient ${fhir}/>`, /must be UTF-8/],
    ['<Patient/>', /no resource type Patient in the namespace ''/],
    [`<Basic ${fhir}/>`, /no resource type Basic/],
    [`<HumanName ${fhir}/>`, /no resource type HumanName/],
    [
      `<Patient ${fhir} ${Array.from({ length: 60 }, (_, i) => `xmlns:a${i}="u"`).join(' ')}/>`,
      /more than 50 attributes/,
    ],
    [`<Patient ${fhir}>${'<extension url="a">'.repeat(DEPTH)}`, /deeper than 50 levels/],
  ])('%s is refused', (body, reason) => {
    expect(issuesOf(body)).toEqual([expect.stringMatching(reason)]);
  });

  it('in pieces it is the same, wherever they end', () => {
    const whole = toXml({ resourceType: 'Patient', name: [{ family: 'a😀b\r\n&' }] });
    for (let end = 0; end <= whole.length; end++) {
      const reader = xmlReader(DEPTH);
      reader.write(whole.slice(0, end));
      reader.write(whole.slice(end));
      expect(reader.end()).toEqual({ value: { resourceType: 'Patient', name: [{ family: 'a😀b\r\n&' }] } });
    }
  });
});
