import type { GatewayLimits } from '../limits.ts';

/** A permit to wait for a binding; another websocket may have lost its permit for it. */
interface EnteredWebsocket<Socket> {
  readonly displaced: Socket | undefined;
}

/**
 * Counts websockets: bound ones by the client that they belong to, others by their address. Anyone can open a websocket,
 * so unbound ones take no permits from bound ones.
 */
interface WebsocketPermits<Socket> {
  /**
   * Lets a websocket wait to be bound. If too many are waiting in total, the one that has waited longest at the address
   * with the most of them makes room.
   *
   * @returns `undefined` if too many are waiting at its address
   */
  readonly enter: (socket: Socket, address: string) => EnteredWebsocket<Socket> | undefined;
  /** Counts a websocket as bound, once; `false` if the limit, or the limit of this client, is reached. */
  readonly bind: (socket: Socket, client: string) => boolean;
  readonly leave: (socket: Socket) => void;
  /** The bound websockets of the same client, this one included. */
  readonly ofClient: (socket: Socket) => ReadonlySet<Socket>;
  readonly bound: () => number;
  readonly unbound: () => number;
}

/** Makes groups of sockets, each in the order in which the sockets were added. */
function createGroups<Socket>() {
  const groups = new Map<string, Set<Socket>>();
  const groupOf = new Map<Socket, string>();
  return {
    add: (socket: Socket, name: string): void => {
      groupOf.set(socket, name);
      groups.set(name, (groups.get(name) ?? new Set()).add(socket));
    },
    remove: (socket: Socket): void => {
      const name = groupOf.get(socket) ?? '';
      const group = groups.get(name);
      group?.delete(socket);
      groupOf.delete(socket);
      if (group?.size === 0) {
        groups.delete(name);
      }
    },
    has: (socket: Socket): boolean => groupOf.has(socket),
    sizeOf: (name: string): number => groups.get(name)?.size ?? 0,
    groupOf: (socket: Socket): ReadonlySet<Socket> => groups.get(groupOf.get(socket) ?? '') ?? new Set(),
    size: (): number => groupOf.size,
    oldestOfLargest: (): Socket | undefined => {
      const [largest] = [...groups.values()].sort((a, b) => b.size - a.size);
      return largest?.values().next().value;
    },
  };
}

/** Makes the permits of a gateway. */
export function createWebsocketPermits<Socket>({
  websockets,
}: Pick<GatewayLimits, 'websockets'>): WebsocketPermits<Socket> {
  const tenth = (of: number): number => Math.max(1, Math.floor(of / 10));
  const waiting = Math.max(1, Math.floor(websockets / 5));
  const bound = createGroups<Socket>();
  const unbound = createGroups<Socket>();
  return {
    enter: (socket, address) => {
      if (unbound.sizeOf(address) >= tenth(waiting)) {
        return undefined;
      }
      const displaced = unbound.size() >= waiting ? unbound.oldestOfLargest() : undefined;
      if (displaced !== undefined) {
        unbound.remove(displaced);
      }
      unbound.add(socket, address);
      return { displaced };
    },
    bind: (socket, client) => {
      if (bound.has(socket)) {
        return true;
      }
      if (bound.size() >= websockets || bound.sizeOf(client) >= tenth(websockets)) {
        return false;
      }
      unbound.remove(socket);
      bound.add(socket, client);
      return true;
    },
    leave: (socket) => {
      bound.remove(socket);
      unbound.remove(socket);
    },
    ofClient: bound.groupOf,
    bound: bound.size,
    unbound: unbound.size,
  };
}
