import { beforeEach, describe, expect, test } from '@jest/globals';
import type { InjectOptions } from 'fastify';
import { artefactUri } from '../../../core/config/config.ts';
import { base, bearer, config, fhirJson, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

const statusBundle = { resourceType: 'Bundle', type: 'searchset' };

/** What the Bot was asked, by its name. */
const asked = () =>
  fake.received.map(({ query, body }) => [
    query.get('identifier')?.replace(`${artefactUri(config, 'LocalBot')}|`, ''),
    JSON.parse(body),
  ]);

async function call(options: InjectOptions) {
  const answer = await inject({ headers: bearer, ...options });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? undefined : answer.json() };
}

const parameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter });
const operation = (path: string, body?: object) =>
  call(
    body
      ? { method: 'POST', url: `/fhir/R4/Subscription/${path}`, headers: fhirJson, payload: body }
      : { url: `/fhir/R4/Subscription/${path}` },
  );

describe('the operations on Subscriptions', () => {
  beforeEach(() => {
    fake.answer = () => ({ body: statusBundle });
  });

  test.each<[string, object | undefined, object]>([
    [
      '$status?id=u1,Subscription/u2&id=&status=active,error',
      undefined,
      { operation: 'status', ids: ['u1', 'u2'], statuses: ['active', 'error'] },
    ],
    [
      '$status?id=u1',
      parameters(
        { name: 'id', valueId: `${base}/Subscription/u2` },
        { name: 'status', valueCode: 'off' },
        { name: 'id' },
        { name: 'id', valueBoolean: true },
        { name: 'id', valueString: '' },
      ),
      { operation: 'status', ids: ['u1', 'u2'], statuses: ['off'] },
    ],
    [
      'u1/$events',
      parameters({ name: 'eventsSinceNumber', valueInteger: 7 }, { name: 'content', valueCode: 'empty' }),
      { operation: 'events', id: 'u1', since: 7, content: 'empty' },
    ],
  ])('%s %j', async (path, body, input) => {
    const answer = await operation(path, body);
    expect([answer.status, answer.body]).toEqual([200, statusBundle]);
    expect(asked()).toEqual([['subscription-operations', input]]);
  });

  test.each(['$status', 'u1/$events', 'u1/$get-ws-binding-token', 'u1/$deliver'])(
    '%s has nothing passed over in silence',
    async (path) => {
      const { status, body } = await operation(`${path}?eventSince=7`, parameters({ name: 'other', valueId: 'u3' }));
      const expressions = body.issue.map(({ expression: [at] }: { expression: string[] }) => at);
      expect([status, expressions, fake.received]).toEqual([400, ['http.eventSince', 'http.other'], []]);
    },
  );

  test.each(['eventsSinceNumber', 'eventsUntilNumber'])('%s alone is refused, too', async (name) => {
    const { status, body } = await operation(`u1/$events?${name}=x`);
    expect([status, body.issue.length, body.issue[0].expression]).toEqual([400, 1, [`http.${name}`]]);
    expect(fake.received).toEqual([]);
  });
});
