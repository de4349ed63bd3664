import { AsyncLocalStorage } from 'node:async_hooks';
import type { HttpMethod } from '@medplum/fhir-router';
import type { BundleEntry } from '@medplum/fhirtypes';
import type { BotName } from '../../core/config/bots.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { type Inside, runInside, settled } from './inside.ts';
import {
  createMedplum,
  type Occasion,
  type Request,
  type SimulatedMedplum,
  type Snapshot,
  type Token,
} from './medplum.ts';
import { type Answer, createMemory, type Memory } from './memory.ts';

/** What can be done with a request that is held: let it through, let it through and lose the answer, or end its sender. */
export type Fate = 'passes' | 'loses its answer' | 'dies';

/** A request to Medplum that waits to be let through. */
export interface Held {
  /** The same in all orders: who sends it, and which of its requests it is. */
  readonly key: string;
  readonly actor: string;
  readonly label: string;
  readonly isRead: boolean;
  /** What came of it, as soon as there is an answer. */
  result?: string;
  /** Why the answer says no. */
  reasons?: readonly string[];
  readonly meet: (fate: Fate) => void;
}

/** A request may have been carried out: nobody knows. */
export class LostAnswer extends Error {}

/** How long a request takes, in milliseconds. */
const REQUEST = 7;

interface Context {
  readonly actor: string;
}

const context = new AsyncLocalStorage<Context>();

/**
 * Whether a Bot begins to look for alternatives to what it has refused. They are proposals only, and take more requests
 * than the booking: here the server does not tell the role of the caller, and the refusal stays as it is.
 */
const seeksAlternatives = (): boolean => new Error().stack?.includes('alternatives.ts') ?? false;

function counted(entries: readonly BundleEntry[]): string {
  const names = entries.map(({ request, resource }) => {
    const type = resource?.resourceType ?? request?.url?.split(/[/?]/, 1)[0] ?? '';
    const status = isResource(resource, 'Slot') || isResource(resource, 'Appointment') ? ` ${resource.status}` : '';
    const time =
      isResource(resource, 'Slot') || isResource(resource, 'Appointment')
        ? ` ${resource.start?.slice(11, 16)}–${resource.end?.slice(11, 16)}`
        : '';
    return `${request?.method === 'DELETE' ? 'delete ' : ''}${type}${status}${time}`;
  });
  return names.join(', ');
}

function labelOf({ method, path, body }: Request): { label: string; isRead: boolean } {
  if (isResource(body, 'Bundle')) {
    const entries = body.entry ?? [];
    const writes = entries.filter(({ request }) => request?.method !== 'GET');
    return writes.length > 0
      ? { label: `${body.type === 'transaction' ? 'writes' : 'writes one by one'}: ${counted(writes)}`, isRead: false }
      : {
          label: `reads ${[...new Set(entries.map(({ request }) => request?.url?.split(/[/?]/, 1)[0]))]}`,
          isRead: true,
        };
  }
  return { label: `${method} ${path}`, isRead: method === 'GET' };
}

function reasonsIn(body: unknown): string[] {
  return isResource(body, 'OperationOutcome')
    ? body.issue.map(({ diagnostics, details }) => details?.text ?? diagnostics ?? '')
    : [];
}

/** A Medplum whose every request waits to be let through. */
export interface World {
  readonly medplum: SimulatedMedplum;
  /** The requests that wait. */
  readonly held: Held[];
  /** A number for what is stored, what each actor knows, and which jobs have run: what comes next depends on no more. */
  worldState(): number;
  /** Lets an actor do something; it ends without a result if the actor dies. */
  act<T>(actor: string, doing: () => Promise<T>): Promise<T>;
  /** Says that the actor that is acting looks at what is stored, without a request. */
  look(): void;
  /** A request of the actor that is acting, which waits like those of Bots. */
  ask(token: Token, request: Request): Promise<{ readonly status: number; readonly body: unknown }>;
  /** The actor waits until it is let through, and turns the clock. */
  turn(milliseconds: number): Promise<void>;
  /** Lets the next job run, as an actor of its own; `undefined` if there is none. */
  startJob(): Promise<unknown> | undefined;
  /** Lets a request meet its fate, and everything run that follows from it without another request. */
  step(held: Held, fate?: Fate): Promise<void>;
  /** Lets everything through, and runs all jobs, one after the other. */
  drain(): Promise<void>;
  /** Runs the Bots of the clock one after the other, and the jobs that follow. */
  runClock(): Promise<void>;
}

/** A mistake that Bots make. */
export interface Mistake {
  readonly isIdle?: (occasion: Occasion, input: unknown) => boolean;
  /** What a Bot sends in place of the request that it should send. */
  readonly spoilt?: (occasion: Occasion, request: Request) => Request;
  /** What a Bot makes of the answer. */
  readonly misread?: (occasion: Occasion, text: string) => string;
}

/**
 * Makes a world from what its Medplum holds.
 *
 * @param memory - what is known from earlier worlds of the same beginning and the same mistake
 */
export function createWorld(from: Snapshot, memory: Memory = createMemory(), mistake: Mistake = {}): World {
  const medplum = createMedplum(from, memory, mistake.isIdle, () =>
    hold(
      { label: 'commits what it has deleted', isRead: false },
      () => Promise.resolve(),
      () => ({}),
    ),
  );
  /** What each actor knows, as a number. */
  const knowledge = new Map<string, number>();
  const held: Held[] = [];
  const counts = new Map<string, number>();
  let jobs = 0;
  /** How many numbers were drawn by chance: the same in the same order. */
  let drawn = 0;
  /** How many requests past the service, and jobs, are under way: no such takes minutes. */
  let underWay = 0;

  function learn(actor: string, what: string): void {
    knowledge.set(actor, memory.numberOf(`${knowledge.get(actor) ?? 0} learns ${what}`));
  }

  /** Holds something back until the scheduler lets it through. */
  function hold<T>(
    { label, isRead }: { label: string; isRead: boolean },
    carryOut: () => Promise<T>,
    describe: (value: T) => Pick<Held, 'result' | 'reasons'> & { readonly text?: string },
  ): Promise<T> {
    medplum.interrupted();
    const here = context.getStore();
    if (!here) {
      throw new Error('Somebody outside of the simulation sends a request.');
    }
    const { actor } = here;
    const count = (counts.get(actor) ?? 0) + 1;
    counts.set(actor, count);
    return new Promise((resolve, reject) => {
      const one: Held = {
        key: `${actor} ${count}`,
        actor,
        label,
        isRead,
        meet(fate) {
          held.splice(held.indexOf(one), 1);
          if (fate === 'dies') {
            one.result = 'never sent: it dies';
            learn(actor, 'nothing more');
            for (const other of held.filter((each) => each.actor === actor)) {
              held.splice(held.indexOf(other), 1);
            }
            return;
          }
          // Reads take no time, so that it is the same in whatever order they come.
          medplum.turn(isRead ? 0 : REQUEST);
          inside(() =>
            context.run(here, () => {
              carryOut().then((value) => {
                const { text = '', ...described } = describe(value);
                Object.assign(one, described);
                learn(actor, `${fate} ${text}`);
                if (fate === 'loses its answer') {
                  one.result = `${one.result}, but the answer is lost`;
                  reject(new LostAnswer('there is no answer'));
                } else {
                  resolve(value);
                }
              }, reject);
            }),
          );
        },
      };
      held.push(one);
    });
  }

  const send = (token: Token, sent: Request): Promise<Answer> => {
    const [, , occasion] = token.split(':') as [string, string?, Occasion?];
    const request = occasion && mistake.spoilt ? mistake.spoilt(occasion, sent) : sent;
    return hold(
      labelOf(request),
      async () => {
        const response = await medplum.handle(token, request);
        return occasion && mistake.misread ? { ...response, text: mistake.misread(occasion, response.text) } : response;
      },
      ({ status, text }) => ({
        result: status < 300 ? '' : `${status}`,
        reasons: status < 300 ? [] : reasonsIn(JSON.parse(text)),
        text,
      }),
    );
  };

  const face: Inside = {
    now: medplum.now,
    random() {
      drawn += 1;
      return (medplum.state() * 0.618_034 + drawn * 0.754_878) % 1;
    },
    retry: () =>
      hold(
        { label: 'commits, or tries its transaction again', isRead: false },
        () => Promise.resolve(),
        () => ({}),
      ),
    async fetch(url, { method, headers = {}, body }) {
      const { pathname, search } = new URL(url);
      if (pathname === '/auth/me' && seeksAlternatives()) {
        return { status: 503, json: async () => ({}) };
      }
      const [, token = ''] = (headers.authorization ?? '').split(' ');
      const response = await send(token as Token, {
        method: (method ?? 'GET') as HttpMethod,
        path: `${pathname.replace(/^\/fhir\/R4/, '')}${search}`,
        body: body === undefined ? undefined : JSON.parse(body),
        isExtended: headers['x-medplum'] === 'extended',
      });
      return { status: response.status, json: async () => JSON.parse(response.text) };
    },
  };
  const inside = <T>(doing: () => T): T => runInside(face, doing);

  const act: World['act'] = (actor, doing) => inside(() => context.run({ actor }, doing));

  function look(): void {
    const { actor } = context.getStore() ?? { actor: '' };
    learn(actor, `state ${medplum.state()}`);
  }

  function startJob(): Promise<unknown> | undefined {
    const job = medplum.jobs.shift();
    if (!job) {
      return undefined;
    }
    jobs += 1;
    underWay += 1;
    return act(`${medplum.botOf(job)} ${jobs}`, () => {
      look();
      return medplum.runJob(job).finally(() => {
        underWay -= 1;
      });
    });
  }

  async function step(one: Held, fate: Fate = 'passes'): Promise<void> {
    one.meet(fate);
    await settled();
  }

  async function letAllThrough(): Promise<void> {
    await settled();
    for (let first = held[0]; first; first = held[0]) {
      await step(first);
    }
  }

  async function drain(): Promise<void> {
    await letAllThrough();
    for (let count = 0; medplum.jobs.length > 0; count++) {
      if (count > 500) {
        throw new Error(`The jobs do not come to an end: ${medplum.jobs.map(medplum.botOf)}`);
      }
      const running = startJob();
      await letAllThrough();
      await running;
    }
  }

  return {
    medplum,
    held,
    worldState() {
      const known = [...knowledge].sort(([one], [other]) => one.localeCompare(other)).join(' ');
      return memory.numberOf(
        `${medplum.state()} ${medplum.now()} ${jobs} ${known} ${held.map(({ key }) => key).sort()}`,
      );
    },
    act,
    look,
    async ask(token, request) {
      underWay += 1;
      const { status, text } = await send(token, request).finally(() => {
        underWay -= 1;
      });
      return { status, body: JSON.parse(text) };
    },
    turn: (milliseconds) =>
      hold(
        { label: `${milliseconds / 60_000} minutes pass`, isRead: false },
        async () => (medplum.jobs.length + underWay > 0 ? undefined : medplum.turn(milliseconds)),
        () => ({}),
      ),
    startJob,
    step,
    drain,
    async runClock() {
      for (const name of medplum.byClock) {
        const running = act(`${name} by the clock`, () => medplum.runByClock(name as BotName));
        await drain();
        await running;
      }
    },
  };
}
