import { expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { botsInMedplum } from '../../../gateway/bots/in-medplum.ts';
import type { Upstream, UpstreamAnswer, UpstreamCall, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { config } from '../fake-medplum.ts';

/** Runs the Bot `book` in a Medplum that answers so. */
async function run(answer: UpstreamAnswer | UpstreamFailure) {
  const calls: UpstreamCall[] = [];
  const call: Upstream['call'] = async (asked) => {
    calls.push(asked);
    return answer;
  };
  const bots = botsInMedplum({ call } as Partial<Upstream> as Upstream, config);
  const headers = { authorization: 'Bearer portal-a', 'content-type': 'x' };
  const found = await bots.run({ name: 'book', input: { a: 1 }, headers, caller: undefined });
  expect(bots.pending()).toBe(0);
  return { found, calls };
}

const booked: UpstreamAnswer = { status: 200, headers: {}, body: { resourceType: 'Appointment' } };

test('Medplum is asked to execute the Bot of the installation, with the token of the caller', async () => {
  const { found, calls } = await run(booked);
  expect(found).toBe(booked);
  expect(calls).toEqual([
    {
      method: 'POST',
      path: 'fhir/R4/Bot/$execute',
      query: new URLSearchParams({ identifier: `${artefactUri(config, 'LocalBot')}|book` }).toString(),
      headers: { authorization: 'Bearer portal-a', 'content-type': 'application/fhir+json' },
      body: '{"a":1}',
    },
  ]);
});

test.each<[string, UpstreamAnswer]>([
  ['401', { status: 401, headers: { x: 'y' }, body: 'secret' }],
  [
    'its client is gone',
    { status: 400, headers: {}, body: { issue: [{ details: { text: 'Authentication error' } }] } },
  ],
])('a token that is refused meanwhile is 401: %s', async (_, answer) => {
  expect((await run(answer)).found).toEqual({ status: 401, headers: {}, body: undefined });
});

test.each<[UpstreamAnswer | UpstreamFailure]>([
  [{ failure: 'timeout' }],
  [{ status: 400, headers: {}, body: { issue: [{ details: { text: 'Other' } }] } }],
  [{ status: 403, headers: {}, body: undefined }],
])('every other answer is passed on: %j', async (answer) => {
  expect((await run(answer)).found).toBe(answer);
});
