import type vm from 'node:vm';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { botSource } from '../../../core/config/bots.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { type ChangeCase, cases, config, patient, stored } from '../../core/booking/change.cases.ts';
import { compile, type FakeServer, issuesOf, run } from '../server.ts';

let patch: vm.Script;
let guard: vm.Script;

beforeAll(async () => {
  [patch, guard] = (
    await Promise.all((['patch', 'validate-appointment'] as const).map((name) => bundleBot(botSource(name), config)))
  ).map(compile) as [vm.Script, vm.Script];
});

const serverFor = (one: ChangeCase): FakeServer => ({
  appointment: stored,
  patients: 'patient' in one ? (one.patient ? [one.patient] : []) : [patient],
  written: [],
});

/** The JSON Patch that makes the result of a case out of the stored appointment. */
function patchTo(result: Readonly<Record<string, unknown>>): object[] {
  return Object.keys(result)
    .filter(
      (name) =>
        JSON.stringify(result[name]) !== JSON.stringify(Object.entries(stored).find(([key]) => key === name)?.[1]),
    )
    .map((name) =>
      result[name] === undefined
        ? { op: 'remove', path: `/${name}` }
        : { op: 'add', path: `/${name}`, value: result[name] },
    );
}

const parameters = (operations: readonly object[]) => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'id', valueId: stored.id },
    {
      name: 'patch',
      valueString: JSON.stringify(
        operations.length > 0 ? operations : [{ op: 'test', path: '/status', value: 'booked' }],
      ),
    },
  ],
});

const table = cases.map((one) => [one.name, one] as const);

describe('the Bots patch and guard decide alike, but for elements that are empty', () => {
  it.each(table)('patch: %s', async (_, one) => {
    const server = serverFor(one);
    const event = { input: parameters(patchTo(one.result)), requester: { reference: 'Practitioner/1' }, headers: {} };
    const issues = issuesOf(await run(patch, event, server));
    expect(issues).toEqual(one.issues.map((issue) => issue.replace('malformed-request', 'patch-invalid')));
    expect(server.written.length > 0 && issues.length > 0).toBe(false);
  });

  it.each(table)('guard: %s', async (_, one) => {
    const answer = await run(guard, { input: JSON.parse(JSON.stringify(one.result)), headers: {} }, serverFor(one));
    const issues = one.guarded ?? one.issues;
    expect(issuesOf(answer)).toEqual(issues);
    expect(answer === true).toBe(issues.length === 0);
  });

  it('guard: an open appointment is not deleted, one that is over is', async () => {
    const server = serverFor({ name: '', result: {}, issues: [] });
    const headers = { 'X-Medplum-Deleted-Resource': `Appointment/${stored.id}` };
    expect(issuesOf(await run(guard, { input: stored, headers }, server))).toEqual([
      'transition-not-allowed Appointment.status',
    ]);
    expect(await run(guard, { input: { ...stored, status: 'cancelled' }, headers }, server)).toBe(true);
  });
});
