import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogins } from './auth/logins.ts';
import { createSessions } from './auth/sessions.ts';
import { createTokens } from './auth/tokens.ts';
import { createBotExecutor } from './bots/execute.ts';
import { createApp } from './http/app.ts';
import { startCron } from './jobs/cron.ts';
import type { Job } from './jobs/job.ts';
import { jobsFor } from './jobs/match.ts';
import { createJobQueue, type JobQueue } from './jobs/queue.ts';
import { runJob } from './jobs/run.ts';
import { type Platform, type SandboxLogger, system } from './platform.ts';
import { loadDefinitions } from './repository/definitions.ts';
import { SandboxRepository } from './repository/repository.ts';
import { seed } from './seed.ts';
import type { Services } from './services.ts';
import { isCacheOnly } from './storage/change.ts';
import { type Journal, type JournalEntry, memoryOnly, openJournal } from './storage/journal.ts';
import { createStore } from './storage/store.ts';
import { type Announce, type Commit, directUnit } from './storage/unit-of-work.ts';
import { createAudience } from './websockets/audience.ts';
import { serveWebsockets } from './websockets/endpoint.ts';
import { createWebsocketSubscriptions, type WebsocketSubscriptions } from './websockets/subscriptions.ts';

/** Options of a sandbox; all have defaults. */
export interface SandboxOptions {
  /** Port to listen on; 0, the default, for any that is free. */
  readonly port?: number;
  /** Address to listen on. Use loopback only: anyone who reaches the sandbox may call Bots with fixed tokens. */
  readonly host?: string;
  /** Folder of the stored data; absent: memory only. */
  readonly dataFolder?: string;
  /** Factor for the delays of retried jobs and the minutes of cron; default 1. */
  readonly delayScale?: number;
  /** Address at which Bots reach the server (Medplum's `vmContextBaseUrl`); default: the server's. */
  readonly botBaseUrl?: string | undefined;
  /** The issuer of tokens (Medplum's `issuer`); default: the address of the server. */
  readonly issuer?: string;
  /** Milliseconds from one heartbeat on websockets to the next; default 10 000, as in Medplum. */
  readonly heartbeatMilliseconds?: number;
  /** The meaning of a busy Slot in Medplum's own scheduling; default 5.1.23. */
  readonly scheduling?: Platform['scheduling'];
  readonly logger?: SandboxLogger;
}

/** A running sandbox. */
export interface Sandbox {
  /** Address of the server, with a slash at its end. */
  readonly baseUrl: string;
  readonly projectId: string;
  /** Credentials of the project's administrator. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Lets running requests and jobs finish, then stops; everything is on disk afterwards. */
  close(): Promise<void>;
}

/** Milliseconds to wait for open requests when the sandbox stops. Jobs have ended by then. */
const longestGoodbye = 2_000;

const silent: SandboxLogger = { info: () => undefined, warn: () => undefined };

async function openFolder(
  folder: string | undefined,
): Promise<{ journal: Journal; entries: JournalEntry[]; key: string }> {
  if (folder === undefined) {
    return { journal: memoryOnly, entries: [], key: randomBytes(32).toString('hex') };
  }
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'token-key');
  await writeFile(path, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') {
        throw error;
      }
    },
  );
  return { ...(await openJournal(folder)), key: await readFile(path, 'utf8') };
}

function unfinished(entries: readonly JournalEntry[]): Job[] {
  const jobs = new Map<string, Job>();
  for (const event of entries.flatMap((entry) => entry.jobs ?? [])) {
    if ('due' in event) {
      jobs.set(event.due.jobId, event.due);
    } else {
      jobs.delete(event.over);
    }
  }
  return [...jobs.values()];
}

/**
 * Starts an embedded stand-in for a Medplum server: FHIR with transactions, access policies, Bots, Subscriptions.
 *
 * @throws Error if the port is taken, or the data folder cannot be used
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = '127.0.0.1', dataFolder, delayScale = 1, botBaseUrl, logger = silent } = options;
  const { heartbeatMilliseconds = 10_000, issuer, scheduling = '5.1.23' } = options;
  loadDefinitions();
  const { journal, entries, key } = await openFolder(dataFolder);
  const now = (): Date => new Date();
  const store = createStore(now);
  for (const { writes, expunged } of entries) {
    store.apply(writes ?? []);
    if (expunged) {
      store.expunge(expunged.type, expunged.id);
    }
  }

  let baseUrl = '';
  let queue: JobQueue | undefined;
  let subscriptions: WebsocketSubscriptions | undefined;
  const commit: Commit = async (changes, assertStillValid) => {
    const stored = changes.filter((change) => !isCacheOnly(change));
    const jobs = await jobsFor(platform, unit, stored);
    assertStillValid();
    const writes = stored.map(({ write }) => write);
    store.cache.apply(changes);
    if (writes.length > 0) {
      store.apply(writes);
      journal.append({ writes, ...(jobs.length > 0 && { jobs: jobs.map((due) => ({ due })) }) });
    }
    await journal.flushed();
    queue?.enqueue(jobs);
    subscriptions?.notify(stored);
  };
  const announce: Announce = async (change) => {
    const jobs = await jobsFor(platform, unit, [change]);
    journal.append({ jobs: jobs.map((due) => ({ due })) });
    queue?.enqueue(jobs);
  };
  const unit = directUnit(store, commit);
  const tokens = createTokens(key, () => issuer ?? baseUrl, now);
  const executeBot = createBotExecutor({ unit, tokens, baseUrl: () => botBaseUrl ?? baseUrl });
  const platform: Platform = {
    baseUrl: () => baseUrl,
    store,
    commit,
    announce,
    unit,
    async expunge(type, id) {
      store.expunge(type, id);
      journal.append({ expunged: { type, id } });
      await journal.flushed();
    },
    logger,
    now,
    newId: randomUUID,
    scheduling,
    executeBot,
    boundSubscriptions: (user) => subscriptions?.countOf(user) ?? 0,
  };
  const systemRepository = new SandboxRepository(platform, system);
  const { project, administrator } = await seed(systemRepository);

  const logins = createLogins(unit);
  const sessions = createSessions(unit, tokens, logins);
  const server: Services = { platform, sessions, tokens, logins, systemRepository };
  subscriptions = createWebsocketSubscriptions(platform, createAudience(unit, sessions));
  const app = createApp(server, () => journal.flushed());
  const websockets = serveWebsockets(app.server, { subscriptions, tokens, logger, heartbeatMilliseconds });
  await app.listen({ port, host });
  const address = app.server.address();
  baseUrl = `http://localhost:${typeof address === 'object' ? (address?.port ?? port) : port}/`;
  queue = createJobQueue({
    run: (job) => runJob(platform, unit, job),
    record: (event) => journal.append({ jobs: [event] }),
    now,
    delayScale,
    onRetry: (job, reason) => logger.warn('Subscription job failed', { ...job, reason }),
  });
  queue.enqueue(unfinished(entries));
  const cron = startCron(platform, unit, delayScale);
  logger.info('Sandbox listens', { baseUrl });

  return {
    baseUrl,
    projectId: project.id,
    clientId: administrator.id,
    clientSecret: administrator.secret ?? '',
    async close() {
      cron.close();
      await queue?.close();
      await websockets.close();
      // An idle connection would delay the stop for minutes.
      setTimeout(() => app.server.closeAllConnections(), longestGoodbye).unref();
      await app.close();
      await journal.close();
    },
  };
}
