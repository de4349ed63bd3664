/**
 * Imported by a file of tests, lets requestors of its own stand for portals A and B there: whoever is told of their
 * appointments would be told of those of all other tests, too.
 */
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { type Client, removeClient, standIn } from '../clients.ts';
import { unsubscribeAll } from './fixtures.ts';
import { type Listener, listen } from './listener.ts';

let standIns: readonly Client[] = [];

beforeAll(async () => {
  standIns = await Promise.all([standIn('portal-a'), standIn('portal-b')]);
});

afterAll(async () => {
  await unsubscribeAll();
  await Promise.all(standIns.map(removeClient));
});

const open: Listener[] = [];

/** A subscriber's endpoint, until the end of the test. */
export async function aListener(): Promise<Listener> {
  const listener = await listen();
  open.push(listener);
  return listener;
}
afterEach(() => Promise.all(open.splice(0).map((listener) => listener.close())));
