import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { validateResource } from '@medplum/core';
import { mayBecome, statuses } from '../../core/booking/appointment/status.ts';
import { bots } from '../../core/config/bots.ts';
import { messageLanguages } from '../../core/config/config.ts';
import { faults } from '../profiles/validator.ts';

const read = (path: string): string => readFileSync(path, 'utf8');
const pages = ['README.md', ...readdirSync('docs').map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
);
const { scripts } = JSON.parse(read('package.json'));

test.each(pages)('%s names only npm scripts that there are', (page) => {
  const named = [...read(page).matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name]) => name ?? '');
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test('the page for operators names the metrics that there are', () => {
  const named = new Set([...read('docs/operators.md').matchAll(/booking_gateway_[a-z_]+/g)].map(([name]) => name));
  const source = read('gateway/operations/metrics.ts');
  const unknown = [...named].filter((name) => !source.includes(`'${name.replace(/_(count|bucket|sum)$/, '')}'`));
  expect(unknown).toEqual([]);
  expect(named.size).toBeGreaterThan(1);
});

test('the page for operators names Bots that there are', () => {
  const named = [...read('docs/operators.md').matchAll(/bot deploy (\w+)/g)].map(([, name]) => name ?? '');
  expect(named.filter((name) => !(name in bots))).toEqual([]);
});

test('the page of the configuration names the languages that there are', () => {
  const [, named = ''] = /who prefer no other: ([^;]*);/.exec(read('docs/configuration.md')) ?? [];
  expect(named.split(', ').sort()).toEqual(messageLanguages.map((language) => `\`${language}\``).sort());
});

const clinics = read('docs/clinics.md');

describe('the examples for clinics are valid:', () => {
  const examples = [...clinics.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text ?? ''));
  const profiles = { Schedule: 'LocalSchedule', Slot: 'LocalSlot' } as const;

  test.each(examples.map((example) => [example.resourceType, example]))('%s', (type, example) => {
    expect(() => validateResource(example)).not.toThrow();
    const profile = Object.entries(profiles).find(([name]) => name === type)?.[1];
    expect(profile ? faults(profile, example) : []).toEqual([]);
  });

  test('there are some', () => {
    expect(examples.map(({ resourceType }) => resourceType)).toEqual(
      expect.arrayContaining(['HealthcareService', 'Schedule', 'Slot', 'Appointment']),
    );
  });
});

test('the page for clinics names every status that staff may set', () => {
  const settable = statuses.filter((to) => statuses.some((from) => mayBecome({ status: from }, to, 'staff')));
  const table = clinics.slice(clinics.indexOf('| you want to'), clinics.indexOf('A refusal with its reason'));
  expect(settable.filter((status) => !table.includes(`\`${status}\``))).toEqual([]);
});
