import { createRequire } from 'node:module';
import vm from 'node:vm';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, BundleEntry, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { immutableIssues } from '../../../core/booking/appointment/elements.ts';
import { profileIssues } from '../../../core/booking/appointment/profile.ts';
import { botSource } from '../../../core/config/bots.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { readStructure } from '../../../core/fhir/types/structure.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { config, patient, stored } from '../../core/booking/stored.ts';
import { FUZZ } from '../../lib/hostile-texts.ts';
import { scaled } from '../../lib/time-scale.ts';

let patch: vm.Script;

beforeAll(async () => {
  const code = await bundleBot(botSource('patch'), config);
  patch = new vm.Script(`const exports = {}; const module = { exports };\n${code}\nexports.handler(medplum, told);`);
});

const require = createRequire(import.meta.url);
const accessPolicy = { resource: [{ resourceType: 'Appointment', interaction: ['read', 'search'] }] };
const found = (resource: Resource) => ({ resource: { resourceType: 'Bundle', entry: [{ resource }] } });

/** What Medplum answers to an entry: it has one appointment and its patient, and notes what is written. */
function answerTo({ request, resource }: BundleEntry, written: Resource[]): object {
  const url = request?.url ?? '';
  const known = url === `Appointment?_id=${stored.id}` ? stored : url.startsWith('Patient?') ? patient : undefined;
  if (resource) {
    written.push(resource);
    return { response: { status: '200' }, resource };
  }
  return { response: { status: known || url.includes('?') ? '200' : '404' }, ...(known && found(known)) };
}

/** Runs the Bot the way Medplum does, in a context with few globals; gives its answer, and what it has written. */
async function run(input: unknown): Promise<{ readonly answer: unknown; readonly written: readonly Resource[] }> {
  const written: Resource[] = [];
  const fetch = async (url: string, { body = '{}' }: { body?: string }) => ({
    status: 200,
    json: async () => {
      const entry = (JSON.parse(body).entry ?? []).map((one: BundleEntry) => answerTo(one, written));
      const me = { profile: {}, accessPolicy };
      return JSON.parse(JSON.stringify(url.endsWith('/auth/me') ? me : { resourceType: 'Bundle', entry }));
    },
  });
  const [getBaseUrl, fhirUrl] = [() => 'http://localhost/', () => 'http://localhost/fhir/R4'];
  const medplum = { getAccessToken: () => 'token', getBaseUrl, fhirUrl };
  const notified = { input, requester: { reference: 'ClientApplication/portal' }, headers: {} };
  const globals = { console, URL, URLSearchParams, TextEncoder, TextDecoder, process, require };
  const context = { ...globals, medplum, told: notified, fetch };
  const answer = await patch.runInNewContext(context, { timeout: scaled(5_000) });
  return { answer: JSON.parse(JSON.stringify(answer)), written };
}

const names = ['status', 'start', 'end', 'slot', 'participant', 'actor', 'reference', 'comment', 'meta', 'tag', 'id'];
const hostile = ['__proto__', 'constructor', 'prototype', 'resourceType', 'contained', 'toString', '-', '', '_start'];
const word = fc.constantFrom(...names, ...hostile, '0', '1', '-1', '99999999999');

const call = fc.constantFrom(
  'where(true)',
  'first()',
  'last()',
  'resolve()',
  'descendants()',
  'repeat($this)',
  "matches('(a+)+$')",
  "extension('x')",
);
const step = fc.oneof(
  { weight: 5, arbitrary: word },
  { weight: 2, arbitrary: fc.tuple(word, fc.integer({ min: -2, max: 9 })).map(([name, at]) => `${name}[${at}]`) },
  { weight: 1, arbitrary: call },
);
const path = fc.oneof(
  { weight: 6, arbitrary: fc.array(step, { maxLength: 4 }).map((steps) => ['Appointment', ...steps].join('.')) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.nat(10_000).map((depth) => `${'('.repeat(depth)}status${')'.repeat(depth)}`) },
);
const pointer = fc.array(word, { maxLength: 4 }).map((steps) => steps.map((one) => `/${one}`).join(''));

const value = fc.oneof(
  fc.constantFrom<unknown>(
    'cancelled',
    'booked',
    stored.start,
    '2031-01-06T09:00:00+01:00',
    stored.slot,
    stored.participant,
    stored.slot?.[0],
    { reference: 'Patient/another' },
    null,
    [],
    {},
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

const property = fc.constantFrom('valueString', 'valueCode', 'valueReference', 'valueInstant', 'valueInteger');
const fhirPathOperation = fc
  .record({
    type: fc.constantFrom('add', 'insert', 'delete', 'replace', 'move', 'destroy'),
    path,
    name: word,
    property,
    value,
    index: fc.integer({ min: -2, max: 5 }),
    to: fc.integer({ min: -2, max: 5 }),
  })
  .map((one) => ({
    name: 'operation',
    part: [
      { name: 'type', valueCode: one.type },
      { name: 'path', valueString: one.path },
      { name: 'name', valueString: one.name },
      { name: 'value', [one.property]: one.value },
      { name: 'index', valueInteger: one.index },
      { name: 'source', valueInteger: one.index },
      { name: 'destination', valueInteger: one.to },
    ],
  }));

const jsonOperation = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'destroy'),
  path: pointer,
  from: pointer,
  value,
});

const input = (patchParameter: object) => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'id', valueId: stored.id },
    { name: 'patch', ...patchParameter },
  ],
});

const request = fc.oneof(
  fc
    .array(fhirPathOperation, { minLength: 1, maxLength: 5 })
    .map((parameter) => input({ resource: { resourceType: 'Parameters', parameter } })),
  fc.array(jsonOperation, { minLength: 1, maxLength: 6 }).map((list) => input({ valueString: JSON.stringify(list) })),
  fc.jsonValue({ maxDepth: 4 }).map((anything) => input({ valueString: JSON.stringify(anything) })),
);

function holds(answer: Appointment): void {
  expect(immutableIssues(stored, answer, config.baseUrl)).toEqual([]);
  expect(answer).toMatchObject({ id: stored.id, start: stored.start, end: stored.end, slot: stored.slot });
  expect(readStructure(answer, 'Appointment', 'Appointment').issues).toEqual([]);
  expect(profileIssues({ value: answer, path: 'Appointment' }, config)).toEqual([]);
  expect(['booked', 'cancelled']).toContain(answer.status);
  expect(answer.meta?.tag).toEqual(expect.arrayContaining([stored.meta?.tag?.[1]]));
}

const numRuns = 200 * FUZZ;

describe(`${numRuns} arbitrary patches`, () => {
  it('are refused, or leave slots, time, patients and owner as they were', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const before = JSON.stringify(stored);
        const { answer, written } = await run(sent);
        expect(JSON.stringify(stored)).toBe(before);
        expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
        if (isResource(answer, 'Appointment')) {
          holds(answer);
        } else {
          expect(written).toEqual([]);
        }
      }),
      { numRuns },
    );
  });
});
