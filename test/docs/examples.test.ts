import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Resource } from '@medplum/fhirtypes';
import { presets } from '../../core/config/presets.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { demoSchedules, hoursService, toSchedule } from '../../scripts/demo/clinic.ts';
import { problemsIn } from './publisher-profiles.ts';

const pages = ['README.md', ...readdirSync('docs').map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
);

const concept = '{ "coding": [{ "system": "https://example.org/services", "code": "x" }] }';

const participant = '{ "actor": { "reference": "Patient/x", "display": "Kim Muster" }, "status": "accepted" }';

/** What the shell puts into the body of a request: a concept, a participant, or a text. */
const filledIn = (body: string): string =>
  body
    .replace(/'"\$SERVICE"'/g, concept)
    .replace(/'"\$PERSON"'/g, participant)
    .replace(/'\$\((?:[^()]|\([^()]*\))*\)'|'\$\w+'/g, 'x');

/** The JSON in a page: blocks of it, and the bodies that curl sends. */
function jsonIn(text: string): unknown[] {
  const blocks = [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
  const bodies = [...text.matchAll(/ -d '(\{.*?\})'(?= |\)|$)/gms)].map(([, body]) => filledIn(body ?? ''));
  return [...blocks, ...bodies].map((one) => JSON.parse(one) as unknown);
}

const isFhir = (value: unknown): value is Resource => isObject(value) && typeof value.resourceType === 'string';

/** A resource and those that it brings along: in parameters, in entries of a Bundle. */
function resourcesIn(value: unknown): Resource[] {
  if (!isFhir(value)) {
    return [];
  }
  const parts =
    value.resourceType === 'Parameters' ? value.parameter : value.resourceType === 'Bundle' ? value.entry : [];
  return [value, ...(parts ?? []).flatMap(({ resource }) => resourcesIn(resource))];
}

/** A list of days is no service that could be booked. */
const isClosedDays = (resource: Resource): boolean =>
  'identifier' in resource && JSON.stringify(resource.identifier ?? '').includes('LocalClosedDays');

const examples = pages.flatMap((page) =>
  jsonIn(readFileSync(page, 'utf8'))
    .flatMap(resourcesIn)
    .filter((resource) => !isClosedDays(resource))
    .map((resource) => ({ page, type: resource.resourceType, resource })),
);

const configOf = (preset: string) => resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' });

test('the pages have examples of bookings, patients, schedules and services', () => {
  const types = examples.map(({ page, type }) => `${page} ${type}`);
  for (const one of [
    'README.md Appointment',
    'docs/portals.md Appointment',
    'docs/portals.md Patient',
    'docs/clinics.md Appointment',
    'docs/clinics.md Schedule',
    'docs/clinics.md HealthcareService',
  ]) {
    expect(types).toContain(one);
  }
});

describe.each(Object.keys(presets))('by the profiles of the preset %s', (preset) => {
  const config = configOf(preset);

  test('every example in the pages is right', () => {
    const wrong = examples.flatMap(({ page, type, resource }) =>
      problemsIn(resource, config).map((problem) => `${page}: ${type}: ${problem}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the demo clinic is right', () => {
    const services = demoSchedules.map((demoSchedule) => ({
      ...hoursService(config, demoSchedule, 'Organization/x', 'Location/x'),
      id: 'x',
    }));
    const schedules = demoSchedules.flatMap((demoSchedule, index) => {
      const [hours] = services.slice(index);
      return hours ? toSchedule(config, demoSchedule, hours, demoSchedule.practitioner && 'Practitioner/x') : [];
    });
    expect([...services, ...schedules].flatMap((one) => problemsIn(one, config))).toEqual([]);
  });
});

test('what is wrong is found', () => {
  const config = configOf('isik');
  const [appointment] = examples.filter(({ type }) => type === 'Appointment');
  const { serviceType: _, ...without } = Object(appointment?.resource);
  expect(problemsIn(without, config)).toEqual(['An appointment must name its service type.']);
  expect(problemsIn({ ...Object(appointment?.resource), invented: 1 }, config)).toHaveLength(1);
});
