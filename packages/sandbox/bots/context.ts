import { createRequire } from 'node:module';
import vm from 'node:vm';
import {
  ContentType,
  createReference,
  Hl7Message,
  isOk,
  isOperationOutcome,
  MedplumClient,
  normalizeErrorString,
  normalizeOperationOutcome,
} from '@medplum/core';
import type { ProjectSetting } from '@medplum/fhirtypes';
import type { BotRequest, BotResult } from '../platform.ts';

interface BotRun extends BotRequest {
  readonly accessToken: string;
  readonly baseUrl: string;
  readonly secrets: Readonly<Record<string, ProjectSetting>>;
  readonly script: vm.Script;
}

/** Medplum's console of a Bot: it has `log` and nothing else. */
function createConsole() {
  const messages: string[] = [];
  return {
    log: (...parameters: unknown[]): void => {
      messages.push(parameters.join(' '));
    },
    toString: (): string => messages.join('\n'),
  };
}

/**
 * Compiles the code of a Bot with Medplum's wrapper: `exports` and `module` before it, a call of `exports.handler`
 * after it. The client of that call passes the trace id on.
 *
 * @throws SyntaxError if the code is not JavaScript
 */
export function compileBot(code: string, filename: string): vm.Script {
  return new vm.Script(
    `const exports = {};
const module = { exports };
${code}
(async () => {
  const { bot, requester, contentType, secrets, traceId, headers, responseStream } = event;
  const medplum = new MedplumClient({
    baseUrl: event.baseUrl,
    defaultHeaders: event.defaultHeaders,
    fetch: (url, options = {}) =>
      fetch(url, { ...options, headers: { ...options.headers, 'X-Trace-Id': traceId, traceparent: traceId } }),
  });
  medplum.setAccessToken(event.accessToken);
  try {
    const call = { bot, requester, input: event.input, contentType, secrets, traceId, headers, responseStream };
    return await exports.handler(medplum, call);
  } catch (error) {
    console.log('Unhandled error: ' + (error instanceof Error ? error.message + '\\n' + error.stack : JSON.stringify(error)));
    throw error;
  }
})();`,
    { filename },
  );
}

const defaultTimeout = 10_000;

function globalsOf(run: BotRun, console: ReturnType<typeof createConsole>): vm.Context {
  return {
    console,
    fetch,
    require: createRequire(import.meta.url),
    process,
    ContentType,
    Hl7Message,
    MedplumClient,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    event: {
      bot: createReference(run.bot),
      baseUrl: run.baseUrl,
      accessToken: run.accessToken,
      requester: run.requester,
      input: run.input,
      contentType: run.contentType,
      secrets: run.secrets,
      traceId: run.traceId,
      headers: run.headers,
      defaultHeaders: run.bot.runAsUser ? { Cookie: run.headers?.cookie } : undefined,
    },
  };
}

/**
 * Runs a Bot in a new context that has only the globals of Medplum's VM context. As in Medplum, the time limit
 * (`Bot.timeout` in seconds, default 10) ends code that computes, not code that waits.
 *
 * @returns the handler's value; `success` is false if it threw, or returned an OperationOutcome that is not ok
 */
export async function runBot(run: BotRun): Promise<BotResult> {
  const console = createConsole();
  try {
    const timeout = run.bot.timeout ? run.bot.timeout * 1000 : defaultTimeout;
    const returnValue: unknown = await run.script.runInNewContext(globalsOf(run, console), { timeout });
    const isRefusal = isOperationOutcome(returnValue) && !isOk(returnValue);
    return { success: !isRefusal, logResult: console.toString(), returnValue };
  } catch (error) {
    console.log('Error', normalizeErrorString(error));
    return { success: false, logResult: console.toString(), returnValue: normalizeOperationOutcome(error) };
  }
}
