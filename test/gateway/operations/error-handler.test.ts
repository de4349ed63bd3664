import { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import pino from 'pino';
import {
  addErrorHandler,
  answerBrokenConnection,
  errorResponse,
  refuseConnection,
} from '../../../gateway/operations/error-handler.ts';
import { until } from '../../lib/until.ts';

describe('the answer to something thrown', () => {
  test.each<[string, unknown, number]>([
    ['of the client’s making', Object.assign(new Error('x'), { statusCode: 413 }), 413],
    ['without a refusal of its own', Object.assign(new Error('x'), { statusCode: 400 }), 400],
    ['of a status that is none of an error', Object.assign(new Error('x'), { statusCode: 399 }), 500],
    ['with a status that is no number', Object.assign(new Error('x'), { statusCode: 'x' }), 500],
    ['of our making', new Error('x'), 500],
    ['that is no error', { statusCode: 413 }, 500],
    ['that is nothing', undefined, 500],
  ])('%s has its status', (_, thrown, status) => {
    const answer = errorResponse(thrown);
    expect([answer.status, answer.resource?.resourceType]).toEqual([status, 'OperationOutcome']);
  });
});

describe('a route that throws', () => {
  let app: FastifyInstance;
  let thrown: unknown;
  const lines: Record<string, unknown>[] = [];

  beforeAll(() => {
    const logger: FastifyBaseLogger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });
    app = fastify({ loggerInstance: logger });
    addErrorHandler(app, { rewriteResource: (resource) => resource } as Parameters<typeof addErrorHandler>[1]);
    app.get('/', async (_, reply) => {
      reply.header('connection', 'close');
      throw thrown;
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    lines.length = 0;
  });

  test('is answered with an OperationOutcome; the log tells what failed and where, and not with what', async () => {
    thrown = Object.assign(new RangeError('Secret\n    at Secret'), { code: 'E_X' });
    const answer = await app.inject('/');
    expect([answer.statusCode, answer.headers['content-type'], answer.json().issue]).toEqual([
      500,
      'application/fhir+json; charset=utf-8',
      [expect.objectContaining({ code: 'exception' })],
    ]);
    expect(answer.headers.connection).not.toBe('close');
    expect(lines).toEqual([expect.objectContaining({ level: 50, type: 'RangeError', code: 'E_X', msg: 'failed' })]);
    expect(lines[0]?.frames).toContainEqual(expect.stringMatching(/^\s+at .*error-handler\.test\.ts/));
    expect(JSON.stringify(lines[0]?.frames)).not.toContain('RangeError');
  });

  test('something that is no error is logged by its kind', async () => {
    thrown = { code: 'E_Y', secret: 1 };
    expect((await app.inject('/')).statusCode).toBe(500);
    expect(lines).toEqual([expect.objectContaining({ type: 'object', code: 'E_Y', frames: [] })]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  test('an error of the client’s making is not logged', async () => {
    thrown = Object.assign(new Error('x'), { statusCode: 499 });
    expect((await app.inject('/')).statusCode).toBe(400);
    expect(lines).toEqual([]);
  });

  test('what is not there is an OperationOutcome, too', async () => {
    const answer = await app.inject('/none');
    expect([answer.statusCode, answer.json().issue[0].code]).toEqual([404, 'not-found']);
  });
});

/** A connection on which is kept what was written. */
function connection(isWritable = true) {
  const written: string[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
  });
  if (!isWritable) {
    socket.end();
  }
  return { socket, written };
}

describe('a connection that is refused', () => {
  test('gets a whole answer, and is closed although the client goes on', async () => {
    const { socket, written } = connection();
    refuseConnection(socket, 'bad-request', 'Ünknown.');
    const [head = '', body = ''] = written.join('').split('\r\n\r\n');
    expect(head.split('\r\n')).toEqual([
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/fhir+json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]);
    expect(JSON.parse(body)).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ diagnostics: 'Ünknown.' }] });
    expect(socket.destroyed).toBe(false);
    await until(() => socket.destroyed);
  });

  test('may fail meanwhile', async () => {
    const { socket } = connection();
    refuseConnection(socket, 'bad-request');
    socket.emit('error', new Error('reset'));
    expect(socket.destroyed).toBe(true);
  });
});

describe('a connection on which no request could be read', () => {
  test.each([
    ['HPE_HEADER_OVERFLOW', 431],
    ['ERR_HTTP_REQUEST_TIMEOUT', 408],
    ['HPE_INVALID_METHOD', 400],
    [undefined, 400],
  ])('%s: %i', (code, status) => {
    const { socket, written } = connection();
    answerBrokenConnection(Object.assign(new Error('x'), code && { code }), socket);
    expect(written.join('')).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });

  test.each([
    ['was reset', true, 'ECONNRESET'],
    ['takes nothing more', false, 'HPE_INVALID_METHOD'],
  ])('that %s is closed without an answer', (_, isWritable, code) => {
    const { socket, written } = connection(isWritable);
    answerBrokenConnection(Object.assign(new Error('x'), { code }), socket);
    expect([written, socket.destroyed]).toEqual([[], true]);
  });
});
