import {
  badRequest,
  createReference,
  getStatus,
  isOk,
  isOperationOutcome,
  type MedplumClient,
  normalizeErrorString,
  normalizeOperationOutcome,
  OperationOutcomeError,
  stringify,
  type WithId,
} from '@medplum/core';
import { type FhirResponse, FhirRouter, type HttpMethod } from '@medplum/fhir-router';
import type {
  AccessPolicy,
  Bot,
  ClientApplication,
  ProjectMembership,
  Reference,
  Resource,
  ResourceType,
  Schedule,
  Slot,
  Subscription,
} from '@medplum/fhirtypes';
import { type BotName, botSource, bots, scheduledBots } from '../../core/config/bots.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { createLeads } from '../../gateway/search/leads.ts';
import { aboutMe } from '../../packages/sandbox/auth/me.ts';
import { createSessions } from '../../packages/sandbox/auth/sessions.ts';
import { asMedplum51 } from '../../packages/sandbox/http/fhir.ts';
import type { Job } from '../../packages/sandbox/jobs/job.ts';
import { jobsFor } from '../../packages/sandbox/jobs/match.ts';
import { isPreCommit } from '../../packages/sandbox/jobs/pre-commit.ts';
import { runJob } from '../../packages/sandbox/jobs/run.ts';
import {
  type BotRequest,
  type BotResult,
  type Platform,
  type Session,
  system,
} from '../../packages/sandbox/platform.ts';
import { loadDefinitions } from '../../packages/sandbox/repository/definitions.ts';
import { SandboxRepository } from '../../packages/sandbox/repository/repository.ts';
import { bookProposed } from '../../packages/sandbox/scheduling/book.ts';
import { cancelAppointment, confirmAppointment } from '../../packages/sandbox/scheduling/end.ts';
import { findAppointments } from '../../packages/sandbox/scheduling/find.ts';
import { rescheduleAppointment } from '../../packages/sandbox/scheduling/reschedule.ts';
import { seed } from '../../packages/sandbox/seed.ts';
import type { Change, StoredResource, Write } from '../../packages/sandbox/storage/change.ts';
import { createStore } from '../../packages/sandbox/storage/store.ts';
import { directUnit, type UnitOfWork } from '../../packages/sandbox/storage/unit-of-work.ts';
import { accessPolicies, type PolicyName } from '../../profiles/access-policies.ts';
import { internalSubscriptions, writtenBy } from '../../profiles/subscriptions.ts';
import { config } from './config.ts';
import { type Answer, type Commit, createMemory, type Memory } from './memory.ts';

/** A request to Medplum. */
export interface Request {
  readonly method: HttpMethod;
  /** Relative to the FHIR base address, with a slash before it; empty for a Bundle. */
  readonly path: string;
  readonly body?: unknown;
  readonly isExtended?: boolean;
  /** The header `If-Match`. */
  readonly ifMatch?: string | undefined;
}

/** Why a Bot runs: for a caller, before a write, because of a change, or by the clock. */
export type Occasion = 'call' | 'guard' | 'job' | 'clock';

/** Who sends requests: a member of the project by its token. */
export type Token = 'portal-a' | 'portal-b' | 'front-desk' | `bot:${string}:${Occasion}`;

/** What a Bot's file exports. */
type Handler = (medplum: MedplumClient, event: unknown) => Promise<unknown>;

const handlers = new Map<string, Handler>();

/** The Bots that have nothing to do with calendars: nobody subscribes here. */
const isWanted = (name: BotName): boolean => !botSource(name).includes('/notifications/');

/** Loads the sources of the Bots. */
export async function loadBots(): Promise<void> {
  loadDefinitions();
  for (const name of (Object.keys(bots) as BotName[]).filter(isWanted)) {
    const loaded: { handler: Handler } = await import(`../../${botSource(name)}`);
    handlers.set(name, loaded.handler);
  }
}

const BASE = 'http://medplum.test/';

/** Whether a request changes nothing. */
export const readsOnly = ({ method, body }: Request): boolean =>
  isResource(body, 'Bundle') ? (body.entry ?? []).every(({ request }) => request?.method === 'GET') : method === 'GET';

/** Everything that was stored, commit by commit, and how far the ids and the clock had come. */
export interface Snapshot {
  readonly commits: readonly (readonly Write[])[];
  readonly ids: number;
  readonly now: number;
  /** What taken time means to Medplum's own scheduling. */
  readonly scheduling: Platform['scheduling'];
}

/** The embedded Medplum without sockets, timers and files, in which the Bots run from their sources. */
export interface SimulatedMedplum {
  /** The server itself, bypassing all rules. */
  readonly system: SandboxRepository;
  readonly unit: UnitOfWork;
  /** Jobs of Subscriptions that wait to be run. */
  readonly jobs: Job[];
  now(): number;
  /** Turns the clock by so many milliseconds. */
  turn(milliseconds: number): void;
  /**
   * Answers a request.
   *
   * @returns the answer as text: what the same request was answered in the same state before, if that is known
   */
  handle(token: Token, request: Request): Promise<Answer>;
  /** Says that what is being handled waits for others: it may come out differently the next time. */
  interrupted(): void;
  /** Calls a Bot as a member of the project does. */
  call(name: BotName, token: Token, input: unknown, headers?: Readonly<Record<string, string>>): Promise<unknown>;
  runJob(job: Job): Promise<unknown>;
  /** The name of the Bot that a job starts. */
  botOf(job: Job): string;
  /** Runs a Bot as the clock does. */
  runByClock(name: BotName): Promise<BotResult>;
  /** The Bots that the clock starts. */
  readonly byClock: readonly BotName[];
  /** What is stored of a type. */
  all<T extends Resource>(type: T['resourceType']): WithId<T>[];
  /** The reference of a member: what is written as author. */
  profileOf(token: Token): string;
  snapshot(): Snapshot;
  /** A number for what is stored: the same number, the same content. */
  state(): number;
}

function occasionOf(subscription: Subscription | undefined, requester: Reference | undefined): Occasion {
  if (subscription) {
    return isPreCommit(subscription) ? 'guard' : 'job';
  }
  return requester ? 'call' : 'clock';
}

/** An id that says which in the order of creation it is. */
const idOf = (count: number): string => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;

const clone = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(stringify(value)));

const nowhere = { start: () => undefined, byCode: () => undefined, byId: () => undefined } as never;

const operations: readonly {
  readonly path: RegExp;
  readonly run: (repository: SandboxRepository, id: string, body: unknown) => Promise<FhirResponse>;
}[] = [
  { path: /^\/Appointment\/\$book$/, run: (repository, _, body) => bookProposed(repository, 'book', body) },
  { path: /^\/Appointment\/\$hold$/, run: (repository, _, body) => bookProposed(repository, 'hold', body) },
  { path: /^\/Appointment\/([^/]+)\/\$cancel$/, run: (repository, id) => cancelAppointment(repository, id) },
  {
    path: /^\/Appointment\/([^/]+)\/\$reschedule$/,
    run: (repository, id, body) => rescheduleAppointment(repository, id, body),
  },
  { path: /^\/Appointment\/([^/]+)\/\$confirm$/, run: (repository, id) => confirmAppointment(repository, id) },
];

const router = new FhirRouter();

/**
 * Makes a Medplum.
 *
 * @param from - what it holds, and where its clock stands
 * @param memory - what is known from earlier runs that began with the same
 * @param isIdle - whether a Bot does nothing, and a guard allows what it is asked about
 * @param pause - comes between a deletion, whose jobs Medplum starts at once, and the commit
 */
export function createMedplum(
  from: Snapshot,
  memory: Memory,
  isIdle: (occasion: Occasion, input: unknown) => boolean = () => false,
  pause: () => Promise<void> = async () => undefined,
): SimulatedMedplum {
  let time = from.now;
  let ids = from.ids;
  let state = 0;
  /** How often something that was being handled had to wait. */
  let interruptions = 0;
  const now = (): Date => new Date(time);
  const store = createStore(now);
  const commits: (readonly Write[])[] = [];
  for (const writes of from.commits) {
    store.apply(writes);
    commits.push(writes);
  }
  const jobs: Job[] = [];
  let latest: Commit[] = [];
  const unit: UnitOfWork = directUnit(store, commit);

  async function commit(changes: readonly Change[], assertStillValid: () => void): Promise<void> {
    const due = await jobsFor(platform, unit, changes);
    await (changes.some(({ isAnnounced }) => isAnnounced) && pause());
    assertStillValid();
    apply({ writes: changes.map(({ write }) => write), jobs: due });
  }

  function apply({ writes, jobs: due }: Commit): void {
    if (writes.length > 0) {
      store.apply(writes);
      commits.push(writes);
      state = memory.stateAfter(state, JSON.stringify(writes));
    }
    jobs.push(...due);
    latest.push({ writes, jobs: due });
  }

  const platform: Platform = {
    baseUrl: () => BASE,
    store,
    commit,
    async announce(change) {
      apply({ writes: [], jobs: await jobsFor(platform, unit, [change]) });
    },
    unit,
    expunge: async (type, id) => store.expunge(type, id),
    logger: { info: () => undefined, warn: () => undefined },
    now,
    scheduling: from.scheduling,
    newId: () => {
      ids += 1;
      return idOf(ids);
    },
    executeBot,
    boundSubscriptions: () => 0,
  };
  const sessions = createSessions(unit, { issue: () => '', verify: () => undefined }, nowhere);
  const known = new Map<string, Session>();

  function membershipOf(bot: string | undefined): WithId<ProjectMembership> | undefined {
    for (const { resource } of unit.newest('ProjectMembership')) {
      if (resource?.resourceType === 'ProjectMembership' && resource.profile.reference === `Bot/${bot}`) {
        return resource;
      }
    }
    return undefined;
  }

  function sessionOf(token: Token, isExtended: boolean): Session {
    const key = `${token} ${isExtended}`;
    const [, bot] = token.split(':');
    const membership = bot === undefined ? undefined : membershipOf(bot);
    const session =
      known.get(key) ??
      (membership ? sessions.of(membership, isExtended) : sessions.authenticate(`Bearer ${token}`, isExtended));
    if (!session) {
      throw new Error(`Nobody has the token ${token}.`);
    }
    known.set(key, session);
    return session;
  }

  async function respond(session: Session, { method, path, body, ifMatch }: Request): Promise<FhirResponse> {
    const repository = new SandboxRepository(platform, session.caller);
    const operation = method === 'POST' ? operations.find((one) => one.path.test(path)) : undefined;
    if (operation) {
      const [, id = ''] = operation.path.exec(path) ?? [];
      return operation.run(repository, id, body);
    }
    if (path.startsWith('/Appointment/$find?')) {
      return findAppointments(repository, new URL(path, BASE).searchParams);
    }
    const request = {
      method,
      url: path,
      pathname: '',
      params: {},
      query: Object.create(null),
      body: asMedplum51(body ?? {}),
      headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
      config: { transactions: true },
    };
    return router.handleRequest(request, repository);
  }

  async function answerTo(session: Session, request: Request): Promise<Answer> {
    if (request.path === '/auth/me') {
      return { status: 200, text: stringify(aboutMe(session)) };
    }
    try {
      const [outcome, resource] = await respond(session, request);
      return { status: getStatus(outcome), text: stringify(resource ?? outcome) };
    } catch (error) {
      const outcome = error instanceof OperationOutcomeError ? error.outcome : badRequest(normalizeErrorString(error));
      return { status: getStatus(outcome), text: stringify(outcome) };
    }
  }

  async function handle(token: Token, request: Request): Promise<Answer> {
    const { method, path, body, isExtended = false, ifMatch = '' } = request;
    const isRead = readsOnly(request);
    const moment = isRead ? '' : `${time} ${ids} `;
    const key = `${state} ${moment}${token} ${isExtended} ${method} ${path} ${ifMatch} ${JSON.stringify(body)}`;
    const known = memory.answers.get(key);
    if (known) {
      ids = known.ids ?? ids;
      known.commits.forEach(apply);
      return known.answer;
    }
    const before = interruptions;
    latest = [];
    const response = await answerTo(sessionOf(token, isExtended), request);
    if (before === interruptions) {
      memory.answers.set(
        key,
        isRead ? { answer: response, commits: [] } : { answer: response, commits: [...latest], ids },
      );
    }
    return response;
  }

  /** The client that a Bot is given. Its requests go through `fetch`, as in Medplum. */
  const clientOf = (token: Token): MedplumClient => {
    const client = { getAccessToken: () => token, getBaseUrl: () => BASE, fhirUrl: () => new URL('fhir/R4', BASE) };
    return client as unknown as MedplumClient;
  };

  async function executeBot({ bot, requester, input, headers, subscription }: BotRequest): Promise<BotResult> {
    const occasion = occasionOf(subscription, requester);
    if (isIdle(occasion, input)) {
      return { success: true, logResult: '', returnValue: true };
    }
    const handler = handlers.get(bot.name ?? '');
    if (!handler) {
      return { success: false, logResult: `There is no Bot ${bot.name}.` };
    }
    const event = { bot: createReference(bot), contentType: 'application/fhir+json', secrets: {}, requester, headers };
    try {
      const returnValue = await handler(clientOf(`bot:${bot.id}:${occasion}`), { ...event, input: clone(input) });
      const value = clone(returnValue);
      return {
        success: !(isOperationOutcome(value) && !isOk(value)),
        logResult: '',
        returnValue: value,
      };
    } catch (error) {
      const logResult = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { success: false, logResult, returnValue: normalizeOperationOutcome(error) };
    }
  }

  function all<T extends Resource>(type: T['resourceType']): WithId<T>[] {
    return [...unit.newest(type as ResourceType)].flatMap(({ resource }) => (resource ? [resource as WithId<T>] : []));
  }

  const botNamed = (name: string): WithId<Bot> => {
    const found = all<Bot>('Bot').find((bot) => bot.name === name);
    if (!found) {
      throw new Error(`There is no Bot ${name}.`);
    }
    return found;
  };

  function runAs(bot: WithId<Bot>): WithId<ProjectMembership> {
    const found = membershipOf(bot.id);
    if (!found) {
      throw new Error(`${bot.name} is no member of the project.`);
    }
    return found;
  }

  return {
    system: new SandboxRepository(platform, system),
    unit,
    jobs,
    now: () => time,
    turn(milliseconds) {
      time += milliseconds;
    },
    handle,
    interrupted() {
      interruptions += 1;
    },
    state: () => state,
    async call(name, token, input, headers = {}) {
      const bot = botNamed(name);
      const requester = createReference(sessionOf(token, false).profile);
      // One portal books through a gateway that has shown it the Slots, the other through one that has not.
      const leads = createLeads(() => time);
      const shown = [...all<Slot>('Slot'), ...all<Schedule>('Schedule')].map((resource) => ({ resource }));
      leads.note({ resourceType: 'Bundle', type: 'searchset', entry: token === 'portal-b' ? [] : shown });
      const own = { authorization: `Bearer ${token}`, ...leads.headersFor(input), ...headers };
      const { returnValue, logResult } = await executeBot({
        bot,
        runAs: runAs(bot),
        requester,
        input,
        contentType: undefined,
        headers: own,
      });
      return returnValue ?? badRequest(logResult);
    },
    runJob: (job) => runJob(platform, unit, job),
    botOf(job) {
      const subscription = unit.find('Subscription', job.subscriptionId)?.resource;
      const id = isResource(subscription, 'Subscription') ? subscription.channel.endpoint?.slice('Bot/'.length) : '';
      const bot = unit.find('Bot', id ?? '')?.resource;
      return isResource(bot, 'Bot') ? (bot.name ?? '') : '';
    },
    runByClock(name) {
      const bot = botNamed(name);
      return executeBot({ bot, runAs: runAs(bot), input: bot, contentType: undefined });
    },
    byClock: (Object.keys(scheduledBots) as BotName[]).filter(isWanted),
    all,
    profileOf: (token) => createReference(sessionOf(token, false).profile).reference ?? '',
    snapshot: () => ({ commits: [...commits], ids, now: time, scheduling: from.scheduling }),
  };
}

const clients: Readonly<Record<string, PolicyName>> = {
  'Portal A': 'requestor',
  'Portal B': 'requestor',
  'Front desk': 'front-desk',
};

/** A Medplum with an installation of the service, and nothing else. */
export async function install(now: number): Promise<Snapshot> {
  const { system: repository, snapshot } = createMedplum(
    { commits: [], ids: 0, now, scheduling: '5.1.23' },
    createMemory(),
  );
  const { project } = await seed(repository);
  const create = <T extends Resource>(resource: T): Promise<WithId<T>> =>
    repository.createResource<T>({ ...resource, meta: { ...resource.meta, project: project.id } });
  const join = (profile: StoredResource, policy: WithId<AccessPolicy>) =>
    create<ProjectMembership>({
      resourceType: 'ProjectMembership',
      project: createReference(project),
      user: createReference(profile) as ProjectMembership['user'],
      profile: createReference(profile) as ProjectMembership['profile'],
      access: [{ policy: createReference(policy) }],
    });
  const policies = new Map<string, WithId<AccessPolicy>>();
  for (const [name, policy] of Object.entries(accessPolicies(config))) {
    policies.set(name, await create(policy));
  }
  const policyOf = (name: PolicyName): WithId<AccessPolicy> => policies.get(name) as WithId<AccessPolicy>;
  for (const [name, policy] of Object.entries(clients)) {
    const client = await create<ClientApplication>({ resourceType: 'ClientApplication', name, secret: name });
    await join(client, policyOf(policy));
  }
  const ofBots = new Map<BotName, WithId<Bot>>();
  for (const name of handlers.keys() as Iterable<BotName>) {
    const identifier = [{ system: artefactUri(config, 'LocalBot'), value: name }];
    const bot = await create<Bot>({ resourceType: 'Bot', name, identifier, runtimeVersion: 'vmcontext' });
    await join(bot, policyOf('bots'));
    ofBots.set(name, bot);
  }
  const authors = [...ofBots.values()].map(({ id }) => `Bot/${id}`);
  for (const { bot, resource, extension } of internalSubscriptions(config)) {
    const started = ofBots.get(bot);
    if (started) {
      const channel = { ...resource.channel, endpoint: `Bot/${started.id}` };
      await create({ ...resource, channel, extension: extension(writtenBy(authors)) });
    }
  }
  return snapshot();
}
