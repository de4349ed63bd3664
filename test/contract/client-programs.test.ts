import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scaled } from '../lib/time-scale.ts';
import { aClient, type Client, removeClient } from './clients.ts';
import { aSchedule, aSlot, slotsOf } from './fixtures.ts';
import { base } from './installation.ts';

let client: Client;
beforeAll(async () => {
  client = await aClient('Appointment booking: requestor');
});
afterAll(() => removeClient(client));

it.each<[program: string, command: string, said: readonly string[]]>([
  ['curl.sh', 'bash', []],
  ['fhir-kit-client.ts', 'node', []],
  ['fhirclient.ts', 'node', []],
  ['medplum-client.ts', 'node', ['notified']],
])('%s logs in, finds a time, books, reads and cancels', async (program, command, more) => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  const environment = { BASE: base, CLIENT_ID: client.id, CLIENT_SECRET: client.secret, SCHEDULE: `${schedule.id}` };
  const { stdout } = await promisify(execFile)(command, [`test/clients/${program}`], {
    env: { ...process.env, ...environment, NODE_OPTIONS: '' },
    timeout: scaled(25_000),
  });
  expect(stdout.trim().split('\n')).toEqual(['booked', 'booked', 'cancelled', ...more]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
