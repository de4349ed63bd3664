import { Pool } from 'undici';
import { isObject } from '../../core/fhir/resource.ts';
import type { ResponseMemory } from './response-memory.ts';

/** A call to Medplum. */
export interface UpstreamCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below Medplum's base address, for example `fhir/R4/Slot`; made from checked parts only. */
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until the whole answer must be there; default: the client's. */
  readonly timeoutMs?: number;
  /** The most bytes of an answer that is not passed on and does not count (`ResponseMemory`); default: the client's. */
  readonly maxBytes?: number;
}

/** The headers of an answer, by name in lower case; the values of a repeated header are joined by commas. */
type UpstreamHeaders = Readonly<Record<string, string | undefined>>;

/** Medplum's answer as it was sent. */
export interface RawResponse {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly text: string;
}

/** Medplum's answer: status, headers, and the body read as JSON (`undefined` when empty). */
export interface MedplumResponse {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: unknown;
}

/**
 * Why there is no answer: Medplum cannot be reached, is too slow, sends something unusable (half a body, not JSON), or more
 * than is read.
 */
export interface UpstreamFailure {
  readonly failure: 'unavailable' | 'timeout' | 'broken' | 'too-large';
  /** Set if no connection was made: nothing of the request has arrived. */
  readonly isUnsent?: true;
}

/** A client of Medplum with a pool of kept-alive connections. */
export interface Upstream {
  /** Medplum's base address, with a slash at its end. */
  readonly baseUrl: string;
  /** Calls Medplum and reads the answer as JSON; never rejects. */
  readonly call: (call: UpstreamCall) => Promise<MedplumResponse | UpstreamFailure>;
  /** Calls Medplum and gives the answer as it was sent; never rejects. */
  readonly send: (call: UpstreamCall) => Promise<RawResponse | UpstreamFailure>;
  /** Number of running calls. */
  readonly pending: () => number;
  readonly close: () => Promise<void>;
}

/** Time limits and size limits of calls to Medplum. */
export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  readonly upstreamTimeoutMs: number;
  readonly responseBytes: number;
  readonly connections: number;
}

type Response = Awaited<ReturnType<Pool['request']>>;

const singleHeaders = (headers: Response['headers']): UpstreamHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );

/**
 * Reads the body of a response. While other large responses are in memory it stops reading, and fails with `timeout` if
 * that takes too long.
 */
async function readResponse(
  response: Response,
  maxBytes: number,
  memory: Pick<ResponseMemory, 'grow'> | undefined,
): Promise<RawResponse | UpstreamFailure> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) {
      return { failure: 'too-large' };
    }
    if (memory && !(await memory.grow(chunk.length))) {
      return { failure: 'timeout' };
    }
  }
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode, headers: singleHeaders(response.headers), text };
}

function parse({ status, headers, text }: RawResponse): MedplumResponse | UpstreamFailure {
  try {
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  } catch {
    return status >= 400 ? { status, headers, body: undefined } : { failure: 'broken' };
  }
}

/** Errors of a connection that was closed before an answer began: a kept-alive one may already have been dead. */
const closedCodes: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET'];

/** Errors of a connection that was never made. */
const unconnectedCodes: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

const codeOf = (error: unknown): unknown => (isObject(error) ? error.code : undefined);

/**
 * Makes the gateway's one client of Medplum. A call is never cut short because the gateway's own client has disconnected:
 * what was started is finished. A read whose connection was closed before the answer is sent once more; a write never is.
 *
 * @param baseUrl - Medplum's base address, http or https, with or without a slash at its end
 */
export function createUpstream(
  baseUrl: string,
  limits: UpstreamLimits,
  memory?: Pick<ResponseMemory, 'grow'>,
): Upstream {
  const base = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  const pool = new Pool(base.origin, {
    connections: limits.connections,
    connect: { timeout: limits.connectTimeoutMs },
    // The signal of each call is its one time limit.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let pending = 0;
  const request = ({ method, path, query, headers, body }: UpstreamCall, signal: AbortSignal) =>
    pool.request({
      method,
      path: `${base.pathname}${path}${query ? `?${query}` : ''}`,
      signal,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
    });
  const send: Upstream['send'] = async (call) => {
    const signal = AbortSignal.timeout(call.timeoutMs ?? limits.upstreamTimeoutMs);
    const failed = (failure: UpstreamFailure['failure']) =>
      ({ failure: signal.aborted ? 'timeout' : failure }) as const;
    pending++;
    try {
      const response = await request(call, signal).catch((error: unknown) => {
        if (call.method === 'GET' && closedCodes.includes(codeOf(error))) {
          return request(call, signal);
        }
        throw error;
      });
      return await readResponse(
        response,
        call.maxBytes ?? limits.responseBytes,
        call.maxBytes === undefined ? memory : undefined,
      ).catch(() => failed('broken'));
    } catch (error) {
      return { ...failed('unavailable'), ...(unconnectedCodes.includes(codeOf(error)) && { isUnsent: true }) };
    } finally {
      pending--;
    }
  };
  return {
    baseUrl: base.href,
    send,
    call: async (call) => {
      const raw = await send(call);
      return 'failure' in raw ? raw : parse(raw);
    },
    pending: () => pending,
    close: () => pool.destroy(),
  };
}
