/**
 * Imported by a file of tests, lets requestors of its own stand for portals A and B there: whoever is told of their
 * appointments would be told of those of all other tests, too.
 */
import { afterAll, beforeAll } from '@jest/globals';
import { type Client, removeClient, standIn } from '../clients.ts';
import { unsubscribeAll } from './fixtures.ts';

let standIns: readonly Client[] = [];

beforeAll(async () => {
  standIns = await Promise.all([standIn('portal-a'), standIn('portal-b')]);
});

afterAll(async () => {
  await unsubscribeAll();
  await Promise.all(standIns.map(removeClient));
});
