/**
 * The largest that the limits allow at each route, made in several shapes: nobody waits for it for 200 ms, and those of one
 * route together take less than 512 MB of memory.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { frontDesk } from '../../apps/front-desk/server.ts';
import { hasWords } from '../../apps/portal/clinic/services.ts';
import { clinicPage } from '../../apps/portal/preview.ts';
import { isEnabled } from '../../apps/portal/questionnaire/enable-when.ts';
import { portal } from '../../apps/portal/server.ts';
import { aClinic, builtFiles, settings } from '../../apps/portal/test/installed.ts';
import { parsePatchRequest } from '../../core/booking/patch/patch.ts';
import { isSamePerson } from '../../core/booking/patients/identity.ts';
import { parseBookRequest } from '../../core/booking/request/request.ts';
import { parseReply } from '../../core/messages/reply.ts';
import { parseSubmission } from '../../core/notifications/subscription/submission.ts';
import { parseFind } from '../../core/visits/request.ts';
import { furtherRoutes } from '../../gateway/admission/route-rules.ts';
import { fixedLimits } from '../../gateway/limits.ts';
import { extensionUrls } from '../../packages/web/refusal.ts';
import { web } from '../../scripts/gateway/web.ts';
import { atEnd } from '../lib/at-end.ts';
import { MAX_STAND, steadyStandOf } from '../lib/hostile-texts.ts';
import { config, gatewayTo, startFakeMedplum } from './fake-medplum.ts';

const fake = await startFakeMedplum();
const clinic = aClinic();
const baseUrl = `${await clinic.listen({ port: 0, host: '127.0.0.1' })}/fhir/R4`;
const { assets, remove } = builtFiles();
atEnd(async () => {
  await clinic.close();
  remove();
});
fake.verify = () => ({
  body: {
    profile: { resourceType: 'Practitioner', id: 'p' },
    accessPolicy: { resource: [{ resourceType: 'Appointment', interaction: ['read', 'search', 'create', 'update'] }] },
  },
});
const extensions = extensionUrls(config);
const options = {
  ...settings,
  extensions,
  assets,
  baseUrl,
  path: '/portal',
  isPublished: true,
  requestsPerMinute: 1e9,
};
const words = { title: { en: 'T', de: 'T' }, description: { en: 'D', de: 'D' } };
const desk = { config, medplumUrl: 'https://medplum.example/', clientId: 'c', assets, clinicPage: clinicPage(options) };
const gateway = gatewayTo(
  fake,
  { requestsPerMinute: 1e9, requestsPerMinuteAndAddress: 1e9, attemptsPerMinuteAndAddress: 1e9 },
  {
    web: web({
      applications: [
        { path: '/portal/', plugin: portal({ ...options, changesPerMinute: 1e9, bookingsPerHour: 1e6 }), ...words },
        { path: '/front-desk/', plugin: frontDesk(desk), ...words },
      ],
      baseUrl: config.baseUrl,
    }),
  },
);

const MAX_GROWTH = 512 * 1024 * 1024;

/** The memory of the process without what earlier routes have left behind, in bytes. */
function tidiedMemory(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().rss;
}

/** Bodies of so many bytes at most, around what the route expects. */
function shapes(bytes: number, type: string): string[] {
  const fill = (unit: string, before: string, after: string): string =>
    before + unit.repeat(Math.max(0, Math.floor((bytes - before.length - after.length) / unit.length))) + after;
  const start = `{"resourceType":"${type}",`;
  const depth = fixedLimits.depth - 2;
  return [
    fill('x', `${start}"comment":"`, '"}'),
    fill('\\u0000', `${start}"comment":"`, '"}'),
    fill('0,', `${start}"parameter":[`, '0]}'),
    fill('{"name":"period"},', `${start}"parameter":[`, '{}]}'),
    fill('{"reference":"Slot/a"},', `${start}"slot":[`, '{}]}'),
    fill('"a":1,', start, '"b":2}'),
    fill('[],', `${start}"parameter":${'['.repeat(depth)}`, `[]${']'.repeat(depth)}}`),
    fill('<a/>', `<${type} xmlns="http://hl7.org/fhir">`, `</${type}>`),
    fill('a=b&', '', ''),
    fill('%00', 'a=', ''),
    fill('/portal/pictures/Organization/preview?v=x', '{"consent":"', '"}'),
    fill(`%CC%87%CC%A3`, 'name=', ''),
  ];
}

const fhir = [
  ['POST', 'Appointment/$book', 'Parameters', fixedLimits.bodyBytes],
  ['POST', 'Appointment/$hold', 'Appointment', fixedLimits.bodyBytes],
  ['POST', 'Appointment/$find', 'Parameters', fixedLimits.bodyBytes],
  ['POST', 'Appointment/$waitlist', 'Appointment', fixedLimits.bodyBytes],
  ['POST', 'Appointment/$answer', 'Parameters', fixedLimits.bodyBytes],
  ['POST', 'Patient', 'Patient', fixedLimits.bodyBytes],
  ['PUT', 'Patient/p', 'Patient', fixedLimits.bodyBytes],
  ['POST', 'Subscription', 'Subscription', fixedLimits.bodyBytes],
  ['PATCH', 'Appointment/a', 'Parameters', fixedLimits.patchBytes],
  ['POST', '', 'Bundle', fixedLimits.bodyBytes],
  ['POST', 'Appointment/_search', 'Parameters', fixedLimits.formBytes],
  ['POST', 'Patient/_search', 'Parameters', fixedLimits.formBytes],
] as const;
const routes = [
  ...fhir.map(([method, path, type, bytes]) => ({ method, url: `/fhir/R4${path && `/${path}`}`, type, bytes })),
  ...Object.entries(furtherRoutes).flatMap(([line, { bytes }]) => {
    const [method = '', path = ''] = line.split(' ');
    const url = path.replace('*', 'details');
    return method === 'POST' ? [{ method: 'POST' as const, url, type: 'Parameters', bytes }] : [];
  }),
];

/** What Bots read of a body before they know anything. */
const readers: readonly ((body: unknown) => unknown)[] = [
  (body) => parseBookRequest(body, config),
  (body) => parseFind(body, 0, config),
  (body) => parseReply(body),
  (body) => parseSubmission(body, undefined, 0, config),
  (body) => parsePatchRequest(body),
];

test('texts of combining marks are compared at once', async () => {
  const text = '\u0307\u0323'.repeat(60_000);
  const patient: Patient = { resourceType: 'Patient', birthDate: '2000-01-01', name: [{ family: text }] };
  const condition = { field: 'a', operator: '=', value: 'x' };
  const comparisons = [
    () => isSamePerson(patient, { ...patient, name: [{ family: `${text}a` }] }, config),
    () => isEnabled({ conditions: [condition], behavior: 'all' }, () => [text]),
    () => hasWords('Surgery', text),
  ];
  for (const compare of comparisons) {
    expect(await steadyStandOf(async () => compare())).toBeLessThan(MAX_STAND);
  }
});

test.each(routes)('$method $url', async ({ method, url, type, bytes }) => {
  const contentTypes = ['application/fhir+json', 'application/json', 'application/x-www-form-urlencoded'];
  const atStart = tidiedMemory();
  let largest = 0;
  for (const payload of shapes(bytes, type)) {
    for (const contentType of payload.startsWith('<') ? ['application/fhir+xml'] : contentTypes) {
      const headers = { authorization: 'Bearer staff', 'content-type': contentType, 'sec-fetch-site': 'same-origin' };
      const longest = await steadyStandOf(async () => {
        const { statusCode, body } = await gateway.inject({ method, url, headers, payload });
        expect(statusCode).not.toBe(500);
        largest = Math.max(largest, body.length);
      });
      expect({ payload: payload.slice(0, 60), contentType, isShort: longest < MAX_STAND }).toMatchObject({
        isShort: true,
      });
    }
    if (payload.startsWith('{') && url.startsWith('/fhir')) {
      const body: unknown = JSON.parse(payload);
      for (const read of readers) {
        expect(await steadyStandOf(async () => read(body))).toBeLessThan(MAX_STAND);
      }
    }
  }
  expect(largest).toBeLessThan(2 * bytes + 100_000);
  expect(process.memoryUsage().rss - atStart).toBeLessThan(MAX_GROWTH);
});
