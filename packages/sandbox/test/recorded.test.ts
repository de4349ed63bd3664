/** The sandbox held against what a real Medplum server has answered: see `recorded/`. */
import { readdirSync, readFileSync } from 'node:fs';
import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Mismatch, mismatches } from './recorded/compare.ts';
import { differences } from './recorded/differences.ts';
import { play, recordingShape } from './recorded/scenario.ts';
import { scenarios } from './recorded/scenarios/index.ts';

const folder = new URL('recorded/recordings/', import.meta.url);

/** A mismatch, and the request at which it was found. */
interface Finding extends Mismatch {
  readonly request: string;
}

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const readRecording = (name: string) =>
  recordingShape.parse(JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')));

async function findingsOf(name: string): Promise<Finding[]> {
  const { exchanges: recorded } = readRecording(name);
  const scenario = scenarios[name];
  const replayed = scenario ? await play(scenario, sandbox) : [];
  return Array.from({ length: Math.max(recorded.length, replayed.length) }).flatMap((_, index) => {
    const request = recorded[index]?.request ?? replayed[index]?.request ?? '';
    const found = mismatches(recorded[index] ?? {}, replayed[index] ?? {}, '');
    return found.map((mismatch) => ({ ...mismatch, path: mismatch.path.replace(/^\./, ''), request }));
  });
}

describe('the sandbox answers as Medplum', () => {
  test.each(Object.keys(scenarios))('%s', async (name) => {
    const known = differences.filter(({ scenario }) => scenario === name);
    const findings = await findingsOf(name);
    const isKnown = (finding: Finding, { request, path }: (typeof differences)[number]): boolean =>
      request.test(finding.request) && path.test(finding.path);
    expect(findings.filter((finding) => !known.some((difference) => isKnown(finding, difference)))).toEqual([]);
    expect(known.filter((difference) => !findings.some((finding) => isKnown(finding, difference)))).toEqual([]);
  });
});

test('every scenario is recorded, all on one version of Medplum, and nothing else is', () => {
  const files = readdirSync(folder);
  expect(files.sort()).toEqual(
    Object.keys(scenarios)
      .map((name) => `${name}.json`)
      .sort(),
  );
  const versions = new Set(Object.keys(scenarios).map((name) => readRecording(name).server));
  expect([...versions]).toEqual([expect.stringMatching(/^5\.1\./)]);
});

test('every known difference belongs to a scenario', () => {
  expect(differences.map(({ scenario }) => scenario).filter((name) => !(name in scenarios))).toEqual([]);
});
