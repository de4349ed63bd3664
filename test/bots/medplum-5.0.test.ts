import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { bots } from '../../core/config/bots.ts';
import { bundleBot } from '../../scripts/build.ts';
import { config, patient, stored } from '../core/booking/change.cases.ts';
import { compile, type FakeServer, issuesOf, run } from './server.ts';

const theServer = (): FakeServer & { readonly written: Appointment[] } => ({
  appointment: stored,
  patients: [patient],
  written: [],
});

const bot = async (name: string) => compile(await bundleBot('bots', name, config));

const cancellation = {
  resourceType: 'Parameters',
  parameter: [
    { name: 'id', valueId: stored.id },
    { name: 'patch', valueString: JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]) },
  ],
};

describe('in a VM context of Medplum 5.0', () => {
  it.each(Object.keys(bots))('%s finds the modules of Node.js that it needs', async (name) => {
    const loaded = await run(await bot(name), { input: {} }, theServer(), '5.0').catch((error: unknown) => error);
    expect(String(loaded)).not.toMatch(/require|is not defined|No such built-in/);
  });

  it('a Bot knows who calls it although the handler is not told', async () => {
    const server = theServer();
    const [patch, requester] = [await bot('patch'), { reference: 'ClientApplication/the-requestor' }];
    const answer = await run(patch, { input: cancellation, requester, headers: {} }, server, '5.0');
    expect(answer).toMatchObject({ resourceType: 'Appointment', status: 'cancelled' });
    expect(JSON.stringify(server.written[0]?.meta)).toContain('the-requestor');
  });

  it('a Bot that is not told at all who calls writes nothing', async () => {
    const server = theServer();
    const call = run(await bot('patch'), { input: cancellation, headers: {} }, server, '5.0');
    await expect(call).rejects.toThrow(/does not tell Bots who calls them/);
    expect(server.written).toEqual([]);
  });

  it('the Bot guard refuses by throwing, as what it returns is taken for consent', async () => {
    const guard = await bot('validate-appointment');
    const moved = { ...stored, start: '2031-01-06T10:00:00Z' };
    expect(issuesOf(await run(guard, { input: moved, headers: {} }, theServer(), '5.0'))).toEqual([
      'immutable-element Appointment.start',
    ]);
  });
});
