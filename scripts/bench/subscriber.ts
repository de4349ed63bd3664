import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The receivers of notifications: `/hang/…`, which can stop answering, and `/quick`, which answers at once. */
export interface Receivers {
  readonly url: string;
  /** Restarts the counting; from then on `/hang/…` stops answering, or answers. */
  readonly expect: (isHanging: boolean) => void;
  /** Answers at `/hang/…` again, beginning with the requests that wait. */
  readonly release: () => void;
  /** The most requests that have waited at the same time since the counting began. */
  readonly most: () => number;
  /** How many paths below `/hang/` have had a notification answered since then. */
  readonly answered: () => number;
  /** How many notifications have arrived at `/quick`, and when the last one did, by `performance.now()`. */
  readonly quick: () => { readonly count: number; readonly at: number };
  readonly close: () => void;
}

/** Starts the receivers on a free port of loopback. */
export async function startReceivers(): Promise<Receivers> {
  let isHanging = false;
  let most = 0;
  let quick = { count: 0, at: 0 };
  const waiting = new Map<ServerResponse, string>();
  const answered = new Set<string>();
  const answer = (path: string, response: ServerResponse): void => {
    answered.add(path);
    response.writeHead(200).end();
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    request.resume().once('end', () => {
      if (path === '/quick') {
        quick = { count: quick.count + 1, at: performance.now() };
        response.writeHead(200).end();
      } else if (isHanging) {
        waiting.set(response, path);
        most = Math.max(most, waiting.size);
        response.once('close', () => waiting.delete(response));
      } else {
        answer(path, response);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    expect: (wish) => {
      isHanging = wish;
      answered.clear();
      most = 0;
    },
    release: () => {
      isHanging = false;
      for (const [response, path] of waiting) {
        answer(path, response);
      }
    },
    most: () => most,
    answered: () => answered.size,
    quick: () => quick,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
