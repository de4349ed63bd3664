import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { until } from '../../../test/lib/until.ts';
import { parseCron } from '../jobs/cron.ts';
import { withSandbox } from './start.ts';

const client = withSandbox({ delayScale: 0.001 });

describe('a cron expression', () => {
  test.each([
    ['* * * * *', '2027-01-01T10:07:00Z', true],
    ['*/5 * * * *', '2027-01-01T10:05:00Z', true],
    ['*/5 * * * *', '2027-01-01T10:07:00Z', false],
    ['0 8-17 * * 1-5', '2027-01-01T10:00:00Z', true],
    ['0 8-17 * * 1-5', '2027-01-02T10:00:00Z', false],
    ['0 0 1 * 0', '2027-01-03T00:00:00Z', true],
    ['0 0 * * 7', '2027-01-03T00:00:00Z', true],
  ])('%s at %s: %p', (expression, time, expected) => {
    expect(parseCron(expression)?.(new Date(time))).toBe(expected);
  });

  test.each([['* * * *'], ['60 * * * *'], ['a * * * *'], ['*/0 * * * *'], ['5-1 * * * *']])('%s is none', (text) => {
    expect(parseCron(text)).toBeUndefined();
  });
});

test('a Bot with cronString runs every minute, with itself as input', async () => {
  const id = await client().bot(
    `exports.handler = async (medplum, { input }) => medplum.createResource({
      resourceType: 'Communication', status: 'completed', identifier: [{ system: 'urn:cron', value: input.id }] });`,
    { cronString: '* * * * *' },
  );
  const query = `Communication?identifier=urn:cron|${id}&_summary=count`;
  await until(async () => ((await client().fhir<Bundle>('GET', query)).body.total ?? 0) > 1);
});
