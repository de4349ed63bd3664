import { type BotEvent, getStatus, type MedplumClient } from '@medplum/core';
import type { FastifyBaseLogger } from 'fastify';
import type { CallableBot } from '../../core/config/bots.ts';
import { type BookingConfig, timeLimits } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import type { MedplumResponse, Upstream, UpstreamFailure } from '../medplum/client.ts';
import { type Caller, type Callers, fingerprint } from '../medplum/current-profile.ts';
import { isOutcome, isSuccess } from '../medplum/errors.ts';
import { createMemory } from '../medplum/memory.ts';
import { describe } from '../operations/error-handler.ts';
import { within } from '../within.ts';
import { type BotConnections, createBotConnections } from './connections.ts';
import { botsInMedplum } from './in-medplum.ts';
import type { BotCall, BotRuntime } from './runtime.ts';

/** The function of a Bot, as its file exports it. */
export type BotHandler = (medplum: MedplumClient, event: BotEvent<unknown>) => Promise<unknown>;

/** A client of Medplum that uses the gateway's connections. */
export type BotClient = MedplumClient & { readonly connections: BotConnections };

/** The Bots that the gateway runs, and the rights with which they write. */
export interface HostedBots {
  /** Medplum runs the others: those that need the secrets of the project. */
  readonly handlers: Readonly<Partial<Record<CallableBot, BotHandler>>>;
  /** Makes the client of the Bots for the gateway's connections. */
  readonly clientFor: (connections: BotConnections) => BotClient;
  /**
   * Logs the client in with its own credentials, unless it has a token that is still valid; with `again` in any case.
   * Rejects if Medplum refuses the login.
   */
  readonly logIn: (client: BotClient, again: boolean) => Promise<void>;
}

/** The environment of Bots that run in the gateway. */
interface HostContext {
  readonly config: BookingConfig;
  /** Medplum's base address, with a slash at its end. */
  readonly medplumBaseUrl: string;
  readonly upstream: Upstream;
  readonly callers: Callers;
  readonly logger: FastifyBaseLogger | undefined;
  /** The clock, in milliseconds. */
  readonly now: () => number;
}

/** How long the gateway remembers that a caller may call a Bot. What the caller may read is never remembered. */
const PERMITTED_MS = 10_000;

const MAX_PERMITTED = 1_000;

/** The answer with what a Bot has returned, with Medplum's own status for an outcome. */
const answerOf = (body: unknown): MedplumResponse => ({
  status: isOutcome(body) ? getStatus(body) : 200,
  headers: {},
  body,
});

const failed: MedplumResponse = { status: 400, headers: {}, body: undefined };
const refused: MedplumResponse = { status: 403, headers: {}, body: undefined };
const tooLate: UpstreamFailure = { failure: 'timeout' };
const unsent: UpstreamFailure = { failure: 'unavailable', isUnsent: true };

/** The login of the gateway's own client. */
interface OwnToken {
  /** Whether the client has a token that is still valid; logs in if it has none. */
  readonly isThere: () => Promise<boolean>;
  /** Says that Medplum has refused the token: the next call logs in again. */
  readonly refused: () => void;
}

/** Keeps the gateway's own client logged in. Calls that arrive during a login share it. */
export function createOwnToken(
  logIn: (again: boolean) => Promise<void>,
  logger: FastifyBaseLogger | undefined,
): OwnToken {
  let running: Promise<boolean> | undefined;
  let isRefused = false;
  const attempt = async (): Promise<boolean> => {
    const again = isRefused;
    isRefused = false;
    try {
      await logIn(again);
      return true;
    } catch (error) {
      isRefused ||= again;
      logger?.error({ err: error }, 'Medplum does not let the gateway log in: check BOTS_CLIENT_ID and its secret.');
      return false;
    }
  };
  return {
    isThere: () => {
      running ??= attempt().finally(() => {
        running = undefined;
      });
      return running;
    },
    refused: () => {
      isRefused = true;
    },
  };
}

/**
 * Makes a check, with the caller's own token, of whether the caller may call a Bot: a caller that may read the Bot may
 * call it. The check returns `undefined` if so, else the response to send instead.
 */
function createRefusalCheck({ upstream, config, now }: HostContext) {
  const permitted = createMemory<true>(MAX_PERMITTED, PERMITTED_MS, now);
  return async ({ name, headers }: BotCall): Promise<MedplumResponse | UpstreamFailure | undefined> => {
    const key = `${fingerprint(headers.authorization ?? '')} ${name}`;
    if (permitted.get(key)) {
      return undefined;
    }
    const identifier = `${artefactUri(config, 'LocalBot')}|${name}`;
    const query = new URLSearchParams({ identifier, _fields: 'id', _count: '1' }).toString();
    const found = await upstream.call({ method: 'GET', path: 'fhir/R4/Bot', query, headers });
    const isAnswered = 'status' in found && found.status < 500;
    const failure = 'failure' in found ? found.failure : found.status === 504 ? 'timeout' : 'unavailable';
    if (!isSuccess(found)) {
      return isAnswered ? found : { failure, isUnsent: true };
    }
    const bundle = isResource(found.body, 'Bundle') ? found.body : undefined;
    if (!bundle?.entry?.length) {
      return refused;
    }
    permitted.set(key, true);
    return undefined;
  };
}

/**
 * Whether Medplum may have refused the caller's token while a Bot ran: the Bot failed, responded with 403, or reports
 * that Medplum is unavailable. A call without a response is no such case.
 */
function mayBeTokenRefusal(response: MedplumResponse | UpstreamFailure, { config }: HostContext): boolean {
  if ('failure' in response) {
    return false;
  }
  if (response === failed || response.status === 403) {
    return true;
  }
  const system = artefactUri(config, 'LocalBookingError');
  const issues = isOutcome(response.body) ? response.body.issue : [];
  const codes = issues.flatMap(({ details }) => details?.coding ?? []);
  return codes.some((coding) => coding.system === system && coding.code === 'upstream-unavailable');
}

const requesterOf = ({ profileType, profileId, display }: Caller) => ({
  reference: `${profileType}/${profileId}`,
  ...(display !== undefined && { display }),
});

/**
 * Bots that run in this process, for callers of the Project of their client. They read what concerns the caller with the
 * caller's token, and write as this client, which has the rights that the Bots have in Medplum and no others.
 */
export function botsInGateway({ handlers, clientFor, logIn }: HostedBots, context: HostContext): BotRuntime {
  const { config, medplumBaseUrl, upstream, callers, logger } = context;
  const refusalOf = createRefusalCheck(context);
  const client = clientFor(
    createBotConnections(upstream, medplumBaseUrl, ({ status }, authorization) => {
      if (status === 401 && authorization === `Bearer ${client.getAccessToken()}`) {
        token.refused();
      }
    }),
  );
  const token = createOwnToken((again) => logIn(client, again), logger);
  // Bots must not trust data that a stranger to the Project can read and write.
  const isMember = ({ caller }: BotCall): boolean =>
    caller?.project !== undefined && `Project/${caller.project}` === client.getActiveLogin()?.project.reference;
  let pending = 0;
  const inMedplum = botsInMedplum(upstream, config);
  const execute = async (
    handler: BotHandler,
    { name, input, headers, caller }: BotCall,
  ): Promise<MedplumResponse | UpstreamFailure> => {
    pending++;
    try {
      const requester = caller && requesterOf(caller);
      const event = { bot: {}, contentType: 'application/fhir+json', input, secrets: {}, headers, requester };
      return answerOf(await handler(client, event));
    } catch (error) {
      logger?.error({ ...describe(error), bot: name }, 'A Bot has failed.');
      return failed;
    } finally {
      pending--;
    }
  };
  return {
    run: async (call) => {
      const handler = handlers[call.name];
      if (!handler) {
        return inMedplum.run(call);
      }
      const [refusal, isLoggedIn] = await Promise.all([refusalOf(call), token.isThere()]);
      if (refusal || !isLoggedIn) {
        return refusal ?? unsent;
      }
      if (!isMember(call)) {
        return refused;
      }
      const response = await within(timeLimits(config).answer, execute(handler, call), tooLate);
      if (!mayBeTokenRefusal(response, context)) {
        return response;
      }
      // A token that has become invalid since it was verified is refused as such, as Medplum would do.
      const verified = await callers.verify(call.headers.authorization ?? '');
      return 'status' in verified && verified.status === 401 ? verified : response;
    },
    pending: () => pending,
  };
}
