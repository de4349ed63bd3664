/** Every text that a stranger or a portal can send to the gateway is read at once, whatever it is. */
import { describe, expect, test } from '@jest/globals';
import { parsePatchRequest } from '../../core/booking/patch/patch.ts';
import { parseBookRequest } from '../../core/booking/request/request.ts';
import { narrativeIssues } from '../../core/fhir/narrative/narrative.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { parseSubmission } from '../../core/notifications/subscription/submission.ts';
import { encoded, FUZZ, hostileTexts, seen, slowTexts } from '../lib/hostile-texts.ts';
import { config, fhirJson, withGateway } from './fake-medplum.ts';

const unlimited = { requestsPerMinute: 1e9, requestsPerMinuteAndAddress: 1e9, attemptsPerMinuteAndAddress: 1e9 };
const { inject } = withGateway(unlimited);

/** As long as Node.js lets addresses and headers be. */
const inHead = hostileTexts(15_000, encoded).filter((text) => /^[\t -~]+$/.test(text));
const inForm = hostileTexts(60_000, encoded);
const inPath = hostileTexts(5_000, encoded);
const inBody = hostileTexts(125_000);

const instant = '2040-01-02T09:00:00Z';
const narrative = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' };
const coding = { system: 'urn:s', code: 'c', display: 'd' };

const appointment = {
  resourceType: 'Appointment',
  id: 'a',
  status: 'proposed',
  text: narrative,
  identifier: [{ system: 'urn:i', value: '1' }],
  serviceType: [{ coding: [coding], text: 't' }],
  start: instant,
  end: '2040-01-02T09:30:00Z',
  slot: [{ reference: 'Slot/a' }],
  comment: 'c',
  extension: [{ url: 'urn:e', valueString: 'x' }],
  participant: [{ actor: { reference: '#p', display: 'x' }, status: 'accepted' }],
};
const patient = {
  resourceType: 'Patient',
  id: 'p',
  text: narrative,
  identifier: [{ system: 'urn:i', value: '1' }],
  name: [{ family: 'F', given: ['G'] }],
  telecom: [{ system: 'email', value: 'a@b.example' }],
  gender: 'other',
  birthDate: '1990-05-17',
  address: [{ line: ['l'], city: 'c', postalCode: '1' }],
};
const answers = {
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  text: narrative,
  questionnaire: 'urn:q|1',
  authored: instant,
  item: [
    { linkId: '1', text: 'q', answer: [{ valueString: 'x' }, { valueDate: '2027-01-01' }, { valueUri: 'urn:x' }] },
  ],
};

/** What portals send, with a text of every kind. */
const bodies: Readonly<Record<string, object>> = {
  'POST Appointment/$book': {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: appointment },
      { name: 'patient', resource: patient },
      { name: 'patientSubmittedInformation', resource: answers },
      { name: 'schedule', valueReference: { reference: 'Schedule/a' } },
      { name: 'cancelled-appt-id', valueUri: 'Appointment/b' },
    ],
  },
  'POST Appointment/$hold': { ...appointment },
  'POST Patient': patient,
  'PUT Patient/p': patient,
  'POST Subscription': {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'r',
    end: instant,
    criteria: 'https://example.org/fhir/SubscriptionTopic/appointment-update',
    _criteria: { extension: [{ url: 'urn:f', valueString: 'Appointment?status=booked' }] },
    channel: { type: 'rest-hook', endpoint: 'https://a.example/x', payload: 'application/fhir+json', header: ['A: b'] },
  },
  'PATCH Appointment/a': {
    resourceType: 'Parameters',
    parameter: [
      {
        name: 'operation',
        part: [
          { name: 'type', valueCode: 'replace' },
          { name: 'path', valueString: "Appointment.extension.where(url = 'urn:e')" },
          { name: 'value', valueString: 'x' },
        ],
      },
    ],
  },
  'POST ': {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ fullUrl: 'urn:uuid:x', request: { method: 'GET', url: 'Slot?status=free' } }],
  },
};

type Put = (text: string) => unknown;

/** For every text in a value: what makes the value with another text in its place. */
function places(value: unknown, put: (inner: unknown) => unknown): Put[] {
  if (typeof value === 'string') {
    return [put];
  }
  if (Array.isArray(value)) {
    return value.flatMap((one, index) => places(one, (inner) => put(value.with(index, inner))));
  }
  return isObject(value)
    ? Object.entries(value).flatMap(([name, one]) => places(one, (inner) => put({ ...value, [name]: inner })))
    : [];
}

/** What the Bots read of a body before they know anything. */
const readers: readonly ((body: unknown) => unknown)[] = [
  (body) => parseBookRequest(body, config),
  (body) => parseSubmission(body, undefined, 0, config),
  (body) =>
    parsePatchRequest({
      resourceType: 'Parameters',
      parameter: [
        { name: 'id', valueId: 'a' },
        { name: 'patch', resource: body },
      ],
    }),
  (body) => narrativeIssues(body, 'Resource'),
];

/** How many texts stand in each place of a body, beginning with others in each. */
const PER_PLACE = 6 * FUZZ;

describe.each(Object.entries(bodies))('a body: %s', (request, body) => {
  const [method, path] = request.split(' ') as ['POST', string];
  const url = `/fhir/R4${path && `/${path}`}`;

  test('as JSON, and as the Bots read it', async () => {
    for (const [index, put] of places(body, (inner) => inner).entries()) {
      const some = Array.from(
        { length: PER_PLACE },
        (_, step) => inBody[(index * 5 + step * 13) % inBody.length] ?? '',
      );
      const send = async (text: string) => {
        const sent = put(text);
        for (const read of readers) {
          read(sent);
        }
        const { statusCode } = await inject({ method, url, headers: fhirJson, payload: JSON.stringify(sent) });
        expect(statusCode).not.toBe(500);
      };
      expect(await slowTexts(some, send)).toEqual([]);
    }
  });

  test('as XML, or what might be', async () => {
    const headers = { ...fhirJson, 'content-type': 'application/fhir+xml' };
    const { resourceType } = body as { resourceType: string };
    const send = async (text: string) => {
      const start = `<${resourceType} xmlns="http://hl7.org/fhir">`;
      for (const payload of [text, `${start}${text}`, `${start}<id value="${text}"/></${resourceType}>`]) {
        expect((await inject({ method, url, headers, payload })).statusCode).not.toBe(500);
      }
    };
    const some = inBody.filter((_, index) => index % 3 === 0);
    expect(await slowTexts(some, send)).toEqual([]);
  });
});

const parameters = [
  ...['_id', '_tag', '_count', '_sort', '_include', '_format', '_total', '_elements', '_summary', '_lastUpdated'],
  ...[
    'date',
    'actor',
    'patient',
    'patient.family',
    'identifier',
    'slot',
    'status',
    'status:not',
    'service-type',
    '_filter',
  ],
];

test.each(parameters)('the search parameter %s', async (name) => {
  const headers = { authorization: fhirJson.authorization };
  const send = async (text: string) => {
    const query = new URLSearchParams({ [name]: text });
    expect((await inject({ url: `/fhir/R4/Appointment?${query}`, headers })).statusCode).not.toBe(500);
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    const posted = {
      method: 'POST',
      url: '/fhir/R4/Appointment/_search',
      headers: form,
      payload: query.toString(),
    } as const;
    expect((await inject(posted)).statusCode).not.toBe(500);
  };
  expect(await slowTexts(inHead, send)).toEqual([]);
});

test('paths, and the names of parameters', async () => {
  const send = async (text: string) => {
    const word = encodeURIComponent(text);
    for (const path of [word, `fhir/R4/${word}`, `fhir/R4/Patient/${word}`, `fhir/R4/Slot?${word}=x`, `x?${word}`]) {
      await inject({ url: `/${path}`, headers: fhirJson });
    }
  };
  expect(await slowTexts(inPath, send)).toEqual([]);
});

test('what is sent for a token', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const send = async (text: string) => {
    const post = { method: 'POST', url: '/oauth2/token' } as const;
    for (const payload of [
      text,
      new URLSearchParams({ grant_type: 'client_credentials', client_id: text }).toString(),
    ]) {
      await inject({ ...post, headers: form, payload });
    }
    const basic = `Basic ${Buffer.from(text.slice(0, 10_000)).toString('base64')}`;
    await inject({ ...post, headers: { ...form, authorization: basic }, payload: 'grant_type=client_credentials' });
  };
  expect(await slowTexts(inForm, send)).toEqual([]);
});

test.each([
  ...['accept', 'accept-encoding', 'authorization', 'content-type', 'cookie', 'host', 'if-match', 'if-none-match'],
  ...['if-none-exist', 'prefer', 'origin', 'x-forwarded-for', 'x-request-id', 'access-control-request-headers'],
])('the header %s', async (name) => {
  const send = async (text: string) => {
    const headers = { ...fhirJson, [name]: text };
    await inject({ url: '/fhir/R4/Appointment?status=booked', headers });
    await inject({ method: 'PATCH', url: '/fhir/R4/Appointment/a', headers, payload: '[]' });
    await inject({ method: 'OPTIONS', url: '/fhir/R4/Appointment', headers });
    await inject({ url: '/fhir/R4/Slot', headers: { ...fhirJson, [name]: `Bearer ${text}` } });
  };
  expect(await slowTexts(inHead, send)).toEqual([]);
});

test('these were thousands of texts', () => {
  console.log(`${seen.texts} texts; the longest stand: ${Math.round(seen.longest)} ms`);
  expect(seen.texts).toBeGreaterThan(2_500 * FUZZ);
});
