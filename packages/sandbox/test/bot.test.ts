import vm from 'node:vm';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const json = { 'content-type': 'application/json' };
const code = `exports.handler = async (medplum, event) => {
  const { run } = event.input;
  return new Function('medplum', 'event', 'global', 'return (async () => {' + run + '})()')(medplum, event, globalThis);
};`;
let echo: string;

beforeAll(async () => {
  echo = await client().bot(code, { identifier: [{ system: 'urn:bot', value: 'echo' }] });
});

function run<T = OperationOutcome>(body: string, id = echo) {
  return client().fhir<T>('POST', `Bot/${id}/$execute`, { run: body }, json);
}

describe('the context of a Bot', () => {
  test('has Medplum’s globals and no others', async () => {
    const plain = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
    const { body } = await run<string[]>('return Object.getOwnPropertyNames(global)');
    expect(body.filter((name) => !plain.includes(name)).sort()).toEqual(
      [
        'ContentType',
        'Hl7Message',
        'MedplumClient',
        'TextDecoder',
        'TextEncoder',
        'URL',
        'URLSearchParams',
        'event',
        'fetch',
        'process',
        'require',
      ].sort(),
    );
  });

  test.each([['setTimeout'], ['Buffer'], ['crypto'], ['structuredClone'], ['AbortSignal'], ['btoa'], ['performance']])(
    'has no %s',
    async (name) => {
      expect((await run<string[]>(`return [typeof ${name}]`)).body).toEqual(['undefined']);
    },
  );
});

describe('a Bot acts', () => {
  test('within Bot.timeout while it computes', async () => {
    const id = await client().bot('exports.handler = async () => { for (;;); };', { timeout: 1 });
    const { status, body } = await run('', id);
    expect([status, body.issue[0]?.details?.text]).toEqual([400, 'Script execution timed out after 1000ms']);
  });
});
