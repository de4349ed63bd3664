import type { CallableBot } from '../../core/config/bots.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import type { Caller } from '../medplum/current-profile.ts';

/** A call of a Bot on behalf of a client. */
export interface BotCall {
  readonly name: CallableBot;
  /** The Bot's input. */
  readonly input: unknown;
  /** The request headers for the Bot, with the caller's credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The caller, as verified when the request arrived. */
  readonly caller: Caller | undefined;
}

/** The place where callable Bots run: Medplum or this gateway. */
export interface BotRuntime {
  /**
   * Runs a Bot, and answers as `Bot/$execute` does: 200 with what it returned, 4xx with an OperationOutcome, 400 if it
   * has failed, 403 or 404 if the caller may not call it. Never rejects.
   *
   * @see https://www.medplum.com/docs/api/fhir/operations/bot-execute
   */
  readonly run: (call: BotCall) => Promise<MedplumResponse | UpstreamFailure>;
  /** Number of Bots that run in this process. */
  readonly pending: () => number;
}
