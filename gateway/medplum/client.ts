import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

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
}

/** Medplum's answer: status, headers, and the body read as JSON (`undefined` when empty). */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** Why there is no answer: nobody there, too late, or something that is no answer (half a body, not JSON). */
export interface UpstreamFailure {
  readonly failure: 'unavailable' | 'timeout' | 'broken';
}

/** A client of Medplum with a pool of kept connections. */
export interface Upstream {
  readonly call: (call: UpstreamCall) => Promise<UpstreamAnswer | UpstreamFailure>;
  /** Number of calls under way. */
  readonly pending: () => number;
  readonly close: () => void;
}

/** Time limits and size limits of calls to Medplum. */
export interface UpstreamLimits {
  readonly connectTimeoutMs: number;
  readonly upstreamTimeoutMs: number;
  readonly responseBytes: number;
  readonly connections: number;
}

type Raw = { status: number; headers: IncomingMessage['headers']; text: string };

/** Collects an answer's body; gives `broken` if it ends too early or grows too large. */
function readBody(response: IncomingMessage, maxBytes: number): Promise<Raw | UpstreamFailure> {
  const { promise, resolve } = Promise.withResolvers<Raw | UpstreamFailure>();
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) {
      resolve({ failure: 'broken' });
      response.destroy();
    }
  });
  response.on('end', () =>
    resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
  );
  response.on('error', () => resolve({ failure: 'broken' }));
  response.on('close', () => resolve({ failure: 'broken' }));
  return promise;
}

function parse(raw: Raw): UpstreamAnswer | UpstreamFailure {
  try {
    return { status: raw.status, headers: raw.headers, body: raw.text === '' ? undefined : JSON.parse(raw.text) };
  } catch {
    return raw.status >= 400 ? { status: raw.status, headers: raw.headers, body: undefined } : { failure: 'broken' };
  }
}

type Send = (options: RequestOptions) => ReturnType<typeof httpRequest>;

/** Sends a request and waits for the whole answer within the time limits; never rejects. */
function exchange(send: Send, options: RequestOptions, call: UpstreamCall, limits: UpstreamLimits) {
  const { promise, resolve } = Promise.withResolvers<(Raw | UpstreamFailure) & { isStale?: boolean }>();
  const request = send(options);
  const end = (failure: UpstreamFailure['failure']): void => {
    resolve({ failure });
    request.destroy();
  };
  const whole = setTimeout(() => end('timeout'), call.timeoutMs ?? limits.upstreamTimeoutMs);
  let connecting: NodeJS.Timeout | undefined;
  request.on('socket', (socket) => {
    if (socket.connecting) {
      connecting = setTimeout(() => end('unavailable'), limits.connectTimeoutMs);
      socket.once('connect', () => clearTimeout(connecting));
    }
  });
  request.on('response', (response) => void readBody(response, limits.responseBytes).then(resolve));
  request.on('error', () => resolve({ failure: 'unavailable', isStale: request.reusedSocket }));
  request.end(call.body);
  return promise.finally(() => {
    clearTimeout(whole);
    clearTimeout(connecting);
  });
}

/**
 * Makes a client of Medplum. A call is never cut short because the gateway's own client has gone: what was started is
 * finished. A read whose kept connection turns out to be dead is sent once more; a write never is.
 *
 * @param baseUrl - Medplum's base address, http or https, with or without a slash at its end
 */
export function createUpstream(baseUrl: string, limits: UpstreamLimits): Upstream {
  const base = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  const isTls = base.protocol === 'https:';
  const pool = { keepAlive: true, maxSockets: limits.connections, maxFreeSockets: limits.connections };
  const agent = isTls ? new HttpsAgent(pool) : new HttpAgent(pool);
  const send: Send = isTls ? httpsRequest : httpRequest;
  let pending = 0;
  const attempt = (call: UpstreamCall) =>
    exchange(
      send,
      {
        agent,
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[(.*)\]$/, '$1'),
        port: base.port,
        method: call.method,
        path: `${base.pathname}${call.path}${call.query ? `?${call.query}` : ''}`,
        headers: {
          ...call.headers,
          ...(call.body !== undefined && { 'content-length': String(Buffer.byteLength(call.body)) }),
        },
      },
      call,
      limits,
    );
  return {
    pending: () => pending,
    close: () => agent.destroy(),
    call: async (call) => {
      pending++;
      try {
        const first = await attempt(call);
        const raw = first.isStale && call.method === 'GET' ? await attempt(call) : first;
        return 'failure' in raw ? { failure: raw.failure } : parse(raw);
      } finally {
        pending--;
      }
    },
  };
}
