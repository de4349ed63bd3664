import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Below the ports that systems give to outgoing connections, which begin at 32768 on Linux and at 49152 elsewhere. */
const ports = { first: 20_000, last: 32_000 } as const;

/** How many ports are tried before the machine is held to have none. */
const TRIES = 100;

/** Listens on a port of this machine, unless somebody else does. */
function listening(port: number): Promise<Server | undefined> {
  const { promise, resolve } = Promise.withResolvers<Server | undefined>();
  const server = createServer();
  server.once('error', () => resolve(undefined)).listen(port, '127.0.0.1', () => resolve(server));
  return promise;
}

const closed = (server: Server) => new Promise((resolve) => server.close(resolve));

/**
 * A port that nobody listens on, and that is given to nobody else: who wants it may take its time, and come back to it.
 *
 * It is an even one. The odd one after it is listened on as long as this process lives, which tells other processes
 * that both are given away.
 *
 * @throws Error when there is none
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = 2 * randomInt(ports.first / 2, ports.last / 2);
    const claim = await listening(port + 1);
    const free = claim && (await listening(port));
    if (free) {
      await closed(free);
      claim.unref();
      return port;
    }
    if (claim) {
      await closed(claim);
    }
  }
  throw new Error(`No port from ${ports.first} to ${ports.last} is free.`);
}
