import { randomUUID } from 'node:crypto';
import { getStatus } from '@medplum/core';
import { FhirRouter, type HttpMethod, MemoryRepository } from '@medplum/fhir-router';
import { isResource } from '../../../../core/fhir/resource.ts';
import { loadDefinitions } from '../../../sandbox/repository/definitions.ts';
import plain from '../../adapters/plain.json' with { type: 'json' };
import type { Attack } from '../../attack/attack.ts';
import type { World } from '../../attack/network.ts';
import type { Client, KitResponse, Sent } from '../../client.ts';

/**
 * A FHIR server of somebody else, without sockets: the router and the repository in memory of `@medplum/fhir-router`.
 *
 * @param spoilt - what the server makes of a request
 */
export function otherServer(spoilt: (request: Sent) => Sent = (request) => request): Client {
  loadDefinitions();
  const repository = new MemoryRepository();
  const router = new FhirRouter();
  return {
    baseUrl: 'http://localhost',
    async send(sent): Promise<KitResponse> {
      const { method, path, body, headers = {} } = spoilt(sent);
      await new Promise((resolve) => setImmediate(resolve));
      const [pathname = '', query] = path.split('?', 2);
      const [outcome, resource] = await router.handleRequest(
        {
          method: method as HttpMethod,
          url: `${pathname}${query ? `?${query}` : ''}`,
          pathname: '',
          params: {},
          query: Object.create(null),
          body: structuredClone(body) ?? {},
          headers,
        },
        repository,
      );
      const answered = resource ?? outcome;
      const etag = `W/"${Object(answered).meta?.versionId}"`;
      const listed =
        isResource(answered, 'Bundle') && answered.type === 'searchset' ? { ...answered, link: [] } : answered;
      return { status: getStatus(outcome), header: { etag }, text: JSON.stringify(listed), resource: listed };
    },
  };
}

/** A server beside which nobody else works: what waits goes on as soon as no request is under way, without the time passing. */
export function timeless(server: Client): { readonly client: Client; readonly world: Pick<World, 'now' | 'wait'> } {
  let time = 0;
  let underWay = 0;
  const timers: { readonly at: number; readonly resolve: () => void }[] = [];
  function goOn(): void {
    timers.sort((one, other) => one.at - other.at);
    const next = underWay === 0 ? timers.shift() : undefined;
    time = Math.max(time + 1, next?.at ?? 0);
    next?.resolve();
    if (timers.length > 0) {
      setImmediate(goOn);
    }
  }
  const client: Client = {
    ...server,
    async send(sent) {
      underWay += 1;
      try {
        return await server.send(sent);
      } finally {
        underWay -= 1;
        time += 1;
      }
    },
  };
  const wait = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      timers.push({ at: time + milliseconds, resolve });
      if (timers.length === 1) {
        setImmediate(goOn);
      }
    });
  return { client, world: { now: () => time, wait } };
}

/** What every attack on such a server has in common. */
export const plainAttack = (client: Client): Omit<Attack, 'goesOn'> => ({
  portals: [1, 2, 3].map(() => ({ client, adapter: plain })),
  staff: { client, adapter: plain },
  kinds: ['half hours'],
  constants: { serviceType: { system: 'urn:services', code: 'consultation' }, run: randomUUID() },
  from: Date.parse('2031-03-03T10:00:00Z'),
  seed: 1,
  bounds: { within: 50, stateLimit: 20_000 },
  trouble: { late: 0.3, cut: 0, repeated: 0, longest: 5 },
  acts: 8,
  rounds: 4,
});
