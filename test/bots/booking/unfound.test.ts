import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { botSource } from '../../../core/config/bots.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { config, patient, stored } from '../../core/booking/change.cases.ts';
import { compile, type FakeServer, run } from '../server.ts';

const cancellation = {
  resourceType: 'Parameters',
  parameter: [
    { name: 'id', valueId: stored.id },
    { name: 'patch', valueString: JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]) },
  ],
};

async function patched(unfound: FakeServer['unfound']) {
  const server = { appointment: stored, patients: [patient], written: [] as Appointment[], unfound };
  const call = { input: cancellation, requester: { reference: 'Practitioner/1' }, headers: {} };
  return {
    answer: await run(compile(await bundleBot(botSource('patch'), config)), call, server),
    written: server.written,
  };
}

it('what only a cache still has was deleted: gone, and nothing is written', async () => {
  const { answer, written } = await patched('deleted');
  expect(answer).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ code: 'deleted' }] });
  expect(written).toEqual([]);
});

it('what a search does not find yet is changed all the same', async () => {
  const { answer, written } = await patched('behind');
  expect(answer).toMatchObject({ resourceType: 'Appointment', status: 'cancelled' });
  expect(written[0]).toMatchObject({ status: 'cancelled' });
});
