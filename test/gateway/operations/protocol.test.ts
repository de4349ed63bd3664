import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { hostProblem } from '../../../gateway/operations/protocol.ts';

test.each<[string, string[], string, number | undefined]>([
  ['one Host', ['X', '1', 'HOST', 'a'], '1.1', undefined],
  ['none, as HTTP/1.0 has it', ['X', 'host'], '1.0', undefined],
  ['one, by HTTP/1.0', ['Host', 'a'], '1.0', undefined],
  ['none', ['X', 'host'], '1.1', 0],
  ['two', ['Host', 'a', 'host', 'a'], '1.1', 2],
  ['two, by HTTP/1.0', ['Host', 'a', 'Host', 'b'], '1.0', 2],
])('a request with %s', (_, rawHeaders, httpVersion, count) => {
  const found = hostProblem({ rawHeaders, httpVersion } as IncomingMessage);
  const refused = {
    status: 400,
    resource: { issue: [{ diagnostics: `A request must have exactly one Host header, not ${count}.` }] },
  };
  expect(found).toEqual(count === undefined ? undefined : expect.objectContaining({ status: 400 }));
  expect(found ?? refused).toMatchObject(refused);
});
