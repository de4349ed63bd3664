import { randomUUID } from 'node:crypto';
import { getStatus, isOperationOutcome } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { config } from '../../../../test/simulation/config.ts';
import { install as installInside, settled } from '../../../../test/simulation/inside.ts';
import type { Snapshot, Token } from '../../../../test/simulation/medplum.ts';
import type { Memory } from '../../../../test/simulation/memory.ts';
import type { Mistake } from '../../../../test/simulation/world.ts';
import { adapters } from '../../attack/adapters.ts';
import { type Attack, attack, type Findings, kinds } from '../../attack/attack.ts';
import { type World as Outside, randomOf } from '../../attack/network.ts';
import type { Client } from '../../client.ts';

/** Nothing is remembered: a run is too long for that. */
function forgetful(): Memory {
  let number = 0;
  const next = (): number => ++number;
  const answers: Memory['answers'] = new Map();
  answers.set = () => answers;
  return { answers, stateAfter: next, numberOf: next };
}

/** Calendars in which Medplum's own scheduling books. */
export const published: Attack['kinds'] = ['opening hours, buffers'];

const CLOCK = 60_000;
const HOLD = 600_000;

/** How often a request is overtaken by all others: what looks at something and then writes is slow between the two. */
const LATE = 0.03;

/** Loads the simulation, in which the service runs without sockets and without a clock of its own. */
export async function loadSimulated() {
  installInside();
  const { install, loadBots } = await import('../../../../test/simulation/medplum.ts');
  const { createWorld } = await import('../../../../test/simulation/world.ts');
  const { BEGIN, DATE } = await import('../../../../test/simulation/clinic.ts');
  await loadBots();
  const installed: Snapshot = await install(BEGIN);

  /** A service whose requests to Medplum, jobs and clock take place in an order by chance. */
  function startSimulated(seed: number, mistake: Mistake) {
    const world = createWorld(installed, forgetful(), mistake);
    const { medplum, held, act, ask } = world;
    const random = randomOf(seed);
    const timers: { readonly at: number; readonly resolve: () => void }[] = [];
    let isOver = false;
    let sent = 0;
    let ticked = medplum.now();
    let running = 0;

    const follow = (doing: Promise<unknown> | undefined): void => {
      running += 1;
      doing
        ?.catch(() => undefined)
        .finally(() => {
          running -= 1;
        });
    };

    /** A request that everything else overtakes. */
    let late: (typeof held)[number] | undefined;
    const isQuiet = (): boolean => running > 0 || medplum.jobs.length === 0;

    async function pump(): Promise<void> {
      while (!isOver) {
        await settled();
        const others = held.filter((each) => each !== late);
        const one = others[Math.floor(random() * others.length)] ?? (isQuiet() ? late : undefined);
        if (medplum.jobs.length > 0 && running === 0 && random() < 0.5) {
          follow(world.startJob());
        } else if (medplum.now() - ticked >= CLOCK && running === 0) {
          ticked = medplum.now();
          for (const name of medplum.byClock) {
            follow(act(`${name} by the clock ${++sent}`, () => medplum.runByClock(name as never)));
          }
        } else if (one && !late && random() < LATE) {
          late = one;
        } else if (one) {
          late = one === late ? undefined : late;
          one.meet('passes');
        } else if (held.length === 0 && medplum.jobs.length === 0 && timers.length > 0) {
          timers.sort((a, b) => a.at - b.at);
          const next = timers.shift();
          medplum.turn(Math.max(0, (next?.at ?? 0) - medplum.now()));
          next?.resolve();
        }
      }
    }

    async function createPatient(token: Token, body: unknown) {
      const [, id = ''] = medplum.profileOf(token).split('/');
      const project = medplum.all('Project')[0]?.id;
      const meta = { tag: [requestorTag(id, config)], ...(project && { project }) };
      return { status: 201, body: await medplum.system.createResource<Patient>({ ...(body as Patient), meta }) };
    }

    async function bot(name: string, token: Token, input: unknown) {
      const body = await medplum.call(name as never, token, input);
      return { status: isOperationOutcome(body) ? getStatus(body) : 201, body };
    }

    /** What the gateway does with a portal's request. */
    function byGateway(token: Token, method: string, path: string, body: unknown) {
      const [, operation] = /^\/Appointment\/\$(book|hold)$/.exec(path) ?? [];
      const [, id] = (method === 'PATCH' && /^\/Appointment\/([^/]+)$/.exec(path)) || [];
      if (operation) {
        return bot(operation, token, body);
      }
      const patch = JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]);
      const parameter = [
        { name: 'id', valueId: id },
        { name: 'patch', valueString: patch },
      ];
      return id
        ? bot('patch', token, { resourceType: 'Parameters', parameter })
        : ask('front-desk', { method: method as 'GET', path, body });
    }

    const clientOf = (token: Token): Client => ({
      baseUrl: 'http://localhost',
      async send({ method, path, body }) {
        sent += 1;
        const answer = await act(`request ${sent}`, () =>
          path === '/Patient' && method === 'POST'
            ? createPatient(token, body)
            : token === 'front-desk'
              ? ask(token, { method: method as 'GET', path, body })
              : byGateway(token, method, path, body),
        );
        return { status: answer.status, header: {}, text: JSON.stringify(answer.body) ?? '', resource: answer.body };
      },
    });

    const outside: Pick<Outside, 'now' | 'wait'> = {
      now: () => medplum.now(),
      wait: (milliseconds) =>
        new Promise((resolve) => timers.push({ at: medplum.now() + milliseconds, resolve: () => resolve() })),
    };
    const pumping = pump();
    return {
      clientOf,
      outside,
      async stop() {
        isOver = true;
        await pumping;
      },
    };
  }

  /** Attacks a service that has just been made. With odd seeds staff use Medplum's own scheduling. */
  return async (seed: number, goesOn: Attack['goesOn'], mistake: Mistake = {}): Promise<Findings> => {
    const isNative = seed % 2 === 1;
    const { clientOf, outside, stop } = startSimulated(seed, mistake);
    try {
      return await attack({
        portals: (['portal-a', 'portal-b', 'portal-a'] as const).map((token) => ({
          client: clientOf(token),
          adapter: adapters.isik,
        })),
        staff: { client: clientOf('front-desk'), adapter: adapters[isNative ? 'medplum' : 'staff'] },
        kinds: isNative ? published : kinds,
        constants: {
          config,
          uri: config.uris,
          serviceType: { system: 'urn:services', code: 'consultation' },
          specialty: { system: 'urn:specialties', code: 'any' },
          run: randomUUID(),
        },
        from: Date.parse(`${DATE}T10:00:00Z`),
        seed,
        bounds: { within: 20_000, stateLimit: 50_000, holds: HOLD },
        acts: 8,
        rounds: 4,
        world: outside,
        goesOn,
      });
    } finally {
      await stop();
    }
  };
}
