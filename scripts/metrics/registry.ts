import { Gauge, Registry } from 'prom-client';
import { type Kind, kinds, type Snapshot } from './read.ts';

/** Milliseconds for which a result is reused, so that several scrapers cost Medplum no more than one. */
const KEPT = 5_000;

/** Reads at most once in this time, and once for all concurrent callers. */
function remembered(read: () => Promise<Snapshot>, now: () => number): () => Promise<Snapshot> {
  let last: { readonly at: number; readonly snapshot: Promise<Snapshot> } | undefined;
  return () => {
    if (!last || now() - last.at > KEPT) {
      const snapshot = read();
      last = { at: now(), snapshot };
      snapshot.catch(() => {
        last = undefined;
      });
    }
    return last.snapshot;
  };
}

/**
 * The metrics of the queues. If they cannot be read, the request for metrics fails.
 *
 * @param now - the clock, in milliseconds
 */
export function waitingMetrics(read: () => Promise<Snapshot>, now: () => number = Date.now): Registry {
  const registry = new Registry();
  const registers = [registry];
  const snapshot = remembered(read, now);
  const what = (Object.keys(kinds) as Kind[]).map((kind) => `${kind}: ${kinds[kind]}`).join('; ');
  new Gauge({
    name: 'booking_waiting',
    help: `Number waiting. ${what}`,
    labelNames: ['kind'],
    registers,
    async collect() {
      for (const [kind, { count }] of Object.entries((await snapshot()).waiting)) {
        this.set({ kind }, count);
      }
    },
  });
  new Gauge({
    name: 'booking_waiting_oldest_seconds',
    help: 'How long the oldest of them has waited; 0 if nothing is waiting',
    labelNames: ['kind'],
    registers,
    async collect() {
      for (const [kind, { oldest }] of Object.entries((await snapshot()).waiting)) {
        this.set({ kind }, oldest);
      }
    },
  });
  new Gauge({
    name: 'booking_subscriptions',
    help: 'Subscriptions by the status of their deliveries: on-hold waits for the next attempt, failed has been given up',
    labelNames: ['status'],
    registers,
    async collect() {
      this.reset();
      for (const [status, count] of (await snapshot()).subscriptions) {
        this.set({ status }, count);
      }
    },
  });
  new Gauge({
    name: 'booking_clock_age_seconds',
    help: "Time since Medplum's clock last started the Bot retry-deliveries, which it should do every minute",
    registers,
    async collect() {
      this.reset();
      const { clock } = await snapshot();
      if (clock === undefined) {
        this.remove();
      } else {
        this.set(clock);
      }
    },
  });
  return registry;
}
